"""A container that Lambda freezes between two invocations, while all its connections die, works on at once."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from pymongo import MongoClient

from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import TASKS
from local.processes import ROOT
from tests.integration.lambda_runtime import LambdaContainer, running_function
from tests.wire import Wire

SERVICE = "jimeng-api-3302"
AT_ONCE = 2.0  # seconds, where a time-out would take more than 3
EVENTS = ROOT / "events" / "http"
DEATHS = {"reset": False, "forgotten": True}


@dataclass(frozen=True)
class Deployment:
    """Functions in containers of their own, and the wires by which they reach their servers."""

    database: MongoClient[Document]
    name: str
    mongodb: Wire
    jimeng: Wire
    start: Callable[[str], LambdaContainer]

    def make_due(self, task_id: str) -> None:
        found = self.database[self.name][TASKS].update_one({"task_id": task_id}, {"$set": {"next_poll_at": 0}})
        assert found.matched_count == 1


@pytest.fixture
def deployment(
    mongodb_uri: str, mongo_client: MongoClient[Document], address: str, tmp_path: Path
) -> Iterator[Deployment]:
    name = f"test_{uuid4().hex}"
    with ExitStack() as stack:
        mongodb, jimeng = (
            stack.enter_context(Wire(urlsplit(url).port or 0).running()) for url in (mongodb_uri, address)
        )
        environ = {
            "USE_DATABASE_MODE": "true",
            "MONGODB_URI": f"mongodb://{mongodb.address}/?directConnection=true",
            "MONGODB_DATABASE": name,
            "SERVICE_ID": SERVICE,
            "SERVICE_IDS": SERVICE,
            "JIMENG_BASE_URL": f"http://{jimeng.address}",
            "JIMENG_TIMEOUT": "10",
        }

        def start(function: str) -> LambdaContainer:
            return stack.enter_context(running_function(function, environ, tmp_path / function))

        MongoTaskStore(mongo_client, name).prepare()
        yield Deployment(mongo_client, name, mongodb, jimeng, start)
    mongo_client.drop_database(name)


def http_event(name: str, **changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return {**event, **changes}


@pytest.mark.parametrize("silently", DEATHS.values(), ids=DEATHS)
def test_the_api_answers_at_once_after_its_connections_to_mongodb_died(deployment: Deployment, silently: bool) -> None:
    # Given a container that has served a request
    api = deployment.start("images")
    assert api.invoke(http_event("images-generations"))["statusCode"] == 200

    # When it is frozen and its connections die
    with api.frozen():
        assert deployment.mongodb.cut(silently=silently) > 0

    # Then the next requests, reading and writing, are answered at once
    thawed = time.monotonic()
    body = json.dumps({"prompt": "another boat", "task_id": "boat-2"})
    answers = [api.invoke(http_event("images-query")), api.invoke(http_event("images-generations", body=body))]
    assert time.monotonic() - thawed < AT_ONCE
    assert [answer["statusCode"] for answer in answers] == [200, 200]
    assert json.loads(answers[0]["body"])["data"]["state"] == "pending"


def test_the_api_asks_jimeng_at_once_after_that_connection_died(deployment: Deployment) -> None:
    ops = deployment.start("ops")
    assert has_credits(ops.invoke(http_event("token-points")))

    with ops.frozen():
        assert deployment.jimeng.cut() > 0

    thawed = time.monotonic()
    assert has_credits(ops.invoke(http_event("token-points")))
    assert time.monotonic() - thawed < AT_ONCE


@pytest.mark.parametrize("silently", DEATHS.values(), ids=DEATHS)
def test_the_poller_works_on_at_once_after_all_its_connections_died(deployment: Deployment, silently: bool) -> None:
    # Given a poller that has submitted a task and polled it once
    api, poller = deployment.start("images"), deployment.start("poller")
    prompt = "a boat [[sim statuses=20,50 per_poll=true]]"
    api.invoke(http_event("images-generations", body=json.dumps({"prompt": prompt, "task_id": "boat-1"})))
    this_task = {"task_ids": ["boat-1"], "ticks": 1}
    assert poller.invoke(this_task)["submitted"] == 1
    deployment.make_due("boat-1")
    assert poller.invoke(this_task)["polled"] == 1

    # When it is frozen and its connections to MongoDB die, and those to Jimeng
    with poller.frozen():
        assert deployment.mongodb.cut(silently=silently) > 0
        assert deployment.jimeng.cut() > 0

    # Then its next invocation polls the same job and ends the task at once
    deployment.make_due("boat-1")
    thawed = time.monotonic()
    summary = poller.invoke(this_task)
    assert time.monotonic() - thawed < AT_ONCE
    assert (summary["polled"], summary["completed"], summary["claims_lost"]) == (1, 1, 0)


def has_credits(answer: dict[str, Any]) -> bool:
    """Whether every token has credits, by an answer of ``/token/points``."""
    assert answer["statusCode"] == 200
    return all(entry["points"]["totalCredit"] > 0 for entry in json.loads(answer["body"]))
