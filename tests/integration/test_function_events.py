"""Every event of `events/` through every function as it is deployed, each twice in one process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import s3_client
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from local.objectstore import create_public_bucket, running_objectstore
from local.processes import ROOT
from tests.integration.api_world import TOKEN
from tests.integration.lambda_runtime import LambdaContainer, running_function

EVENTS = ROOT / "events"
HTTP = sorted((EVENTS / "http").glob("*.json"))
OTHER = sorted([*EVENTS.glob("*.json"), *(EVENTS / "other").glob("*.json")])
GROUPS = ("images", "video", "upload", "ops")
POLLER = "poller"
SERVICE = "jimeng-api-3302"
REFUSED = {"upload-images-mangled": 400}
WORKED_ON = {"schedule", "rule", "kick", "empty"}


@pytest.fixture(scope="module")
def environ(mongodb_uri: str, mongo_client: MongoClient[Document], address: str) -> Iterator[dict[str, str]]:
    """What the template would give the functions, with the servers of this machine."""
    database = f"test_{uuid4().hex}"
    with running_objectstore() as storage:
        variables = {
            "USE_DATABASE_MODE": "true",
            "MONGODB_URI": mongodb_uri,
            "MONGODB_DATABASE": database,
            "SERVICE_ID": SERVICE,
            "SERVICE_IDS": SERVICE,
            "JIMENG_BASE_URL": address,
            "TOS_ENDPOINT_URL": storage,
            "TOS_BUCKET": "media",
            "TOS_ACCESS_KEY": "none",
            "TOS_SECRET_KEY": "none",
            "API_BASE_PATH": "/gateway",
            "ALLOW_PRIVATE_URLS": "true",
        }
        MongoTaskStore(mongo_client, database).prepare()
        create_public_bucket(s3_client(Settings.from_environ(variables)), "media")
        yield variables
    mongo_client.drop_database(database)


@pytest.fixture(scope="module", params=[*GROUPS, POLLER])
def function(
    request: pytest.FixtureRequest, environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, LambdaContainer]]:
    """A function by its name, and the one container that all tests of it share."""
    name: str = request.param
    with running_function(name, environ, tmp_path_factory.mktemp(name) / "log") as container:
        yield name, container


def group_of(event: dict[str, Any]) -> str:
    """The function that API Gateway gives an event to, by its path."""
    path = event.get("rawPath") or event["path"]
    return next((group for group in GROUPS if f"/v1/{group}/" in path), "ops")


@pytest.mark.parametrize("path", HTTP, ids=lambda path: path.stem)
def test_an_http_event_is_answered_by_its_function_and_is_not_found_elsewhere(
    path: Path, function: tuple[str, LambdaContainer]
) -> None:
    name, container = function
    event = json.loads(path.read_text(encoding="utf-8"))
    answers = [container.invoke(event) for _ in range(2)]
    if name == POLLER:
        assert [answer["error"] for answer in answers] == ["invalid_request"] * 2
    else:
        expected = REFUSED.get(path.stem, 200) if group_of(event) == name else 404
        assert [answer["statusCode"] for answer in answers] == [expected] * 2, answers
    assert TOKEN not in json.dumps(answers)


@pytest.mark.parametrize("path", OTHER, ids=lambda path: path.stem)
def test_any_other_event_is_worked_on_or_refused_and_never_an_error(
    path: Path, function: tuple[str, LambdaContainer]
) -> None:
    name, container = function
    event = json.loads(path.read_text(encoding="utf-8"))
    answers = [container.invoke(event) for _ in range(2)]
    if path.stem == "warmer":
        assert answers == [{"ok": True, "kind": "warmer"}] * 2
    elif name == POLLER and path.stem in WORKED_ON:
        assert [answer["server_id"] for answer in answers] == [SERVICE] * 2
    else:
        assert [answer["ok"] for answer in answers] == [False, False]
    assert TOKEN not in json.dumps(answers)


@pytest.mark.parametrize("event", [None, [], "text", 7, {"Records": None}, {"requestContext": None}, {"rawPath": 7}])
def test_what_is_no_event_at_all_is_refused(event: Any, function: tuple[str, LambdaContainer]) -> None:
    _, container = function
    answer = container.invoke(event)
    assert answer.get("ok") is False or answer.get("statusCode") == 404


def test_no_log_holds_a_session_token(function: tuple[str, LambdaContainer]) -> None:
    _, container = function
    for path in (*HTTP, *OTHER):
        container.invoke(json.loads(path.read_text(encoding="utf-8")))
    assert TOKEN not in container.log()
    assert "Traceback" not in container.log()
