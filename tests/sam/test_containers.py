"""The built functions in Lambda's containers, against a real database, the simulated Jimeng and an S3 server."""

import base64
import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
import requests

from jimeng_tasks.poller.handler import PollerHandler
from local.fixtures import load, names
from local.processes import ROOT
from local.replay import Stage
from tests.sam.commands import SERVICES
from tests.sam.host import Functions, Host, Invoker

EVENTS = ROOT / "events"
SCHEDULE = EVENTS / "schedule.json"
PICTURE = (ROOT / "tests" / "sam" / "picture.png").read_bytes()
POLLERS = {service: f"Poller{service.replace('-', '')}" for service in SERVICES}
TOKEN = "Bearer sam-test-token"
SECONDS = 60
INVOCATIONS = 5


@dataclass(frozen=True)
class Api:
    """The API behind `sam local start-api`."""

    address: str

    def post(self, path: str, body: dict[str, Any]) -> requests.Response:
        return requests.post(f"{self.address}{path}", json=body, headers={"Authorization": TOKEN}, timeout=SECONDS)

    def get(self, path: str, **query: str) -> requests.Response:
        return requests.get(f"{self.address}{path}", params=query, headers={"Authorization": TOKEN}, timeout=SECONDS)

    def submit(self, kind: str, server_id: str) -> str:
        """Post a generation for one service; returns its task id."""
        body = {"prompt": "a lighthouse", "server_id": server_id, "task_id": uuid.uuid4().hex}
        reply = self.post(f"/v1/{kind}/generations", body)
        assert reply.status_code == 200, reply.text
        assert reply.json()["data"]["state"] == "pending"
        return str(reply.json()["data"]["task_id"])

    def query(self, kind: str, task_id: str) -> dict[str, Any]:
        data: dict[str, Any] = self.get(f"/v1/{kind}/query", task_id=task_id).json()["data"]
        return data


@pytest.fixture(scope="module")
def api(functions: Functions) -> Iterator[Api]:
    with functions.api() as address:
        yield Api(address)


@pytest.fixture(scope="module")
def invoker(functions: Functions) -> Iterator[Invoker]:
    with functions.invoker() as invoke:
        yield invoke


@pytest.mark.parametrize(("kind", "service"), [("images", SERVICES[0]), ("video", SERVICES[1])])
def test_a_posted_generation_becomes_stored_media_by_its_poller_alone(
    kind: str, service: str, api: Api, functions: Functions
) -> None:
    # Given a task for one of the two services
    task_id = api.submit(kind, service)
    other = next(name for name in SERVICES if name != service)

    # When the other service's poller runs, nothing happens to it
    assert functions.invoke_once(POLLERS[other], SCHEDULE)["server_id"] == other
    assert api.query(kind, task_id)["state"] == "pending"

    # And when its own runs on its schedule
    for _ in range(INVOCATIONS):
        summary = functions.invoke_once(POLLERS[service], SCHEDULE)
        assert summary["server_id"] == service
        data = api.query(kind, task_id)
        if data["status"] != 0:
            break
        time.sleep(1)

    # Then the query hands out the stored files
    assert data["status"] == -1, data
    assert data["urls"]
    for url in data["urls"]:
        stored = requests.get(url, timeout=SECONDS)
        assert "/media/" in url
        assert stored.status_code == 200
        assert stored.headers["Content-Type"].startswith("image/" if kind == "images" else "video/")
        assert stored.content


def test_every_group_of_routes_answers_through_the_gateway(api: Api) -> None:
    assert api.get("/ping").text == "pong"
    assert api.get("/health").status_code == 200
    assert api.get("/v1/models").json()["data"]
    assert api.get("/v1/images/query", task_id="unknown").json()["data"]["state"] == "not_found"
    assert api.get("/v1/tasks/stats").status_code == 200


def test_wrong_paths_and_methods_get_the_error_of_the_service(api: Api) -> None:
    for reply, status in ((api.get("/nowhere"), 404), (api.get("/v1/images/generations"), 405)):
        assert reply.status_code == status
        assert set(reply.json()) >= {"code", "error", "message", "data", "request_id"}


def test_a_picture_is_uploaded_through_the_gateway(api: Api) -> None:
    reply = api.post("/v1/upload/images", {"images": [f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"]})
    assert reply.status_code == 200, reply.text
    (stored,) = reply.json()["data"]
    assert requests.get(stored["url"], timeout=SECONDS).content == PICTURE


def test_a_file_is_uploaded_as_the_gateway_hands_it_over(invoker: Invoker) -> None:
    event = json.loads((EVENTS / "http" / "upload-images-multipart.json").read_text(encoding="utf-8"))
    reply = invoker("UploadFunction", event)
    assert reply["statusCode"] == 200, reply
    for stored in json.loads(reply["body"])["data"]:
        assert requests.get(stored["url"], timeout=SECONDS).content in base64.b64decode(event["body"])


class ContainerStage(Stage):
    """A stage whose poller runs in a container."""

    def __init__(self, host: Host, invoke: Invoker) -> None:
        super().__init__(host.settings)
        self._poll = cast(PollerHandler, lambda event, _: invoke(POLLERS[SERVICES[0]], event))


@pytest.fixture(scope="module")
def stage(host: Host, invoker: Invoker) -> Iterator[Stage]:
    made = ContainerStage(host, invoker)
    yield made
    made.close()


@pytest.mark.parametrize("state", names())
def test_a_stored_task_of_any_state_is_advanced_as_its_fixture_says(state: str, stage: Stage) -> None:
    assert stage.play(load(state)).faults == []


@pytest.mark.parametrize("event", [{}, {"warmer": True}, {"Records": [{"EventSource": "aws:sns"}]}, {"kick": "a"}])
def test_a_poller_survives_any_event(event: dict[str, Any], invoker: Invoker) -> None:
    assert isinstance(invoker(POLLERS[SERVICES[1]], event), dict)
