"""The built functions in Lambda's containers, against a real database, the simulated Jimeng and an S3 server."""

import base64
import json
import logging
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from local.fixtures import load, names
from local.processes import ROOT
from tests.sam.commands import SERVICES
from tests.sam.functions import POLLERS, Functions, Invoker
from tests.sam.host import Host
from tests.sam.stage import ContainerStage

logger = logging.getLogger(__name__)

EVENTS = ROOT / "events"
SCHEDULE = json.loads((EVENTS / "schedule.json").read_text(encoding="utf-8"))
PICTURE = (ROOT / "tests" / "sam" / "picture.png").read_bytes()
TOKEN = "Bearer sam-test-token"
SECONDS = 60
INVOCATIONS = 5
IDLE_INVOCATIONS = 6
AT_ONCE = 5  # seconds, most of them for `sam` itself
COLD_STATES = ("pending-new", "processing-outcome-unknown", "polling-done", "transferring-half-done", "completed")


@dataclass(frozen=True)
class Api:
    """The API behind `sam local start-api`."""

    address: str

    def post(self, path: str, **request: Any) -> requests.Response:
        return requests.post(f"{self.address}{path}", headers={"Authorization": TOKEN}, timeout=SECONDS, **request)

    def get(self, path: str, **query: str) -> requests.Response:
        return requests.get(f"{self.address}{path}", params=query, headers={"Authorization": TOKEN}, timeout=SECONDS)

    def submit(self, kind: str, server_id: str) -> str:
        """Post a generation for one service; returns its task id."""
        body = {"prompt": "a lighthouse", "server_id": server_id, "task_id": uuid.uuid4().hex}
        reply = self.post(f"/v1/{kind}/generations", json=body)
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
    wrong = {"/nowhere": 404, "/v1/images": 404, "/v1/images/nowhere": 404, "/v1/images/generations": 405}
    for path, status in wrong.items():
        reply = api.get(path)
        assert reply.status_code == status, path
        assert set(reply.json()) >= {"code", "error", "message", "data", "request_id"}


def test_pictures_are_uploaded_through_the_gateway(api: Api) -> None:
    as_json = {"json": {"images": [f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"]}}
    as_form = {"files": {"images": ("boat.png", PICTURE, "image/png")}}
    for request in (as_json, as_form):
        reply = api.post("/v1/upload/images", **request)
        assert reply.status_code == 200, reply.text
        (stored,) = reply.json()["data"]
        assert requests.get(stored["url"], timeout=SECONDS).content == PICTURE


def test_a_file_is_uploaded_as_api_gateway_hands_it_over(invoker: Invoker) -> None:
    event = http_event("upload-images-multipart")
    reply = invoker("UploadFunction", event)
    assert reply["statusCode"] == 200, reply
    for stored in json.loads(reply["body"])["data"]:
        assert requests.get(stored["url"], timeout=SECONDS).content in base64.b64decode(event["body"])


@pytest.mark.parametrize("state", COLD_STATES)
def test_a_stored_task_is_advanced_by_a_fresh_container_as_its_fixture_says(
    state: str, host: Host, functions: Functions
) -> None:
    stage = ContainerStage(host, lambda event: functions.invoke_once(POLLERS[SERVICES[0]], event), near=SECONDS)
    try:
        assert stage.play(load(state)).faults == []
    finally:
        stage.close()


@pytest.mark.parametrize("state", names())
def test_a_stored_task_of_any_state_is_advanced_by_a_warm_container(state: str, replays: dict[str, list[str]]) -> None:
    assert replays[state] == []


@pytest.mark.parametrize("event", [{}, {"warmer": True}, {"Records": [{"EventSource": "aws:sns"}]}, {"kick": "a"}])
def test_a_poller_survives_any_event(event: dict[str, Any], invoker: Invoker) -> None:
    assert isinstance(invoker(POLLERS[SERVICES[1]], event), dict)


def test_an_invocation_with_nothing_to_do_bills_less_than_a_second(invoker: Invoker) -> None:
    invoker(POLLERS[SERVICES[1]], SCHEDULE)
    before = len(invoker.billed())
    stopped = {invoker(POLLERS[SERVICES[1]], SCHEDULE)["stop_reason"] for _ in range(IDLE_INVOCATIONS)}
    billed = invoker.billed()[before:]
    logger.info("billed ms of an invocation with nothing to do: %s", billed)
    assert stopped == {"idle"}
    assert len(billed) >= IDLE_INVOCATIONS - 1, "the last report may still be on its way"
    assert max(billed) < 1000


def test_frozen_containers_whose_connections_died_work_on_at_once(host: Host, invoker: Invoker) -> None:
    # Given containers that hold connections to MongoDB and to Jimeng, and a job that is done at its second poll
    task_id, poller = uuid.uuid4().hex, POLLERS[SERVICES[1]]
    prompt = "a lighthouse [[sim statuses=20,50 per_poll=true]]"
    generation = {"prompt": prompt, "task_id": task_id, "server_id": SERVICES[1]}
    assert invoker("ImagesFunction", http_event("images-generations", body=json.dumps(generation)))["statusCode"] == 200
    assert invoker(poller, {"task_ids": [task_id], "ticks": 1})["submitted"] == 1
    host.make_due(task_id)
    assert invoker(poller, {"task_ids": [task_id], "ticks": 1})["polled"] == 1

    # When they are frozen and every connection is cut meanwhile
    with invoker.frozen():
        to_mongodb, to_jimeng, _ = host.cut()
    assert to_mongodb
    assert to_jimeng

    # Then both work on at once after the thaw
    thawed = time.monotonic()
    reply = invoker("ImagesFunction", http_event("images-query", rawQueryString=f"task_id={task_id}"))
    host.make_due(task_id)
    summary = invoker(poller, {"task_ids": [task_id], "ticks": 1})
    assert time.monotonic() - thawed < AT_ONCE
    assert (reply["statusCode"], json.loads(reply["body"])["data"]["state"]) == (200, "polling")
    assert (summary["polled"], summary["completed"]) == (1, 1)


def http_event(name: str, **changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / "http" / f"{name}.json").read_text(encoding="utf-8"))
    return {**event, **changes}
