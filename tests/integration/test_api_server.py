"""The API over real sockets, as ``make run`` serves it."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import requests
import uvicorn

from jimeng_tasks.domain.task import Task
from jimeng_tasks.store.memory import MemoryTaskStore
from tests.integration.api_world import BEARER, IMAGES, Api


@pytest.fixture
def server() -> Iterator[tuple[str, Api]]:
    """The address of a running server, and the API behind it."""
    yield from serve(Api(store=BrokenStore()))


class BrokenStore(MemoryTaskStore):
    """A store with a fault of its own for one task id."""

    def get(self, task_id: str) -> Task | None:
        if task_id == "fault":
            raise ZeroDivisionError("secret-in-an-error")
        return super().get(task_id)


class MeetingStore(MemoryTaskStore):
    """A store whose readers wait until two of them have come; it notes their threads."""

    def __init__(self, readers: int) -> None:
        super().__init__()
        self.threads: list[int] = []
        self._all_here = threading.Barrier(readers, timeout=10)

    def get(self, task_id: str) -> Task | None:
        self.threads.append(threading.get_ident())
        self._all_here.wait()
        return super().get(task_id)


def serve(api: Api) -> Iterator[tuple[str, Api]]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(api.app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", api
    running.should_exit = True
    thread.join()
    listener.close()


def test_a_task_is_posted_and_asked_for(server: tuple[str, Api]) -> None:
    address, api = server
    posted = requests.post(f"{address}{IMAGES}", json={"prompt": "一只纸船"}, headers=BEARER, timeout=10)
    task_id = posted.json()["data"]["task_id"]
    api.complete(task_id, "https://media.example.com/0.png")
    asked = requests.get(f"{address}/v1/images/query", params={"task_id": task_id}, timeout=10)
    assert asked.json()["data"]["url"] == "https://media.example.com/0.png"
    assert requests.get(f"{address}/ping", timeout=10).text == "pong"
    assert "swagger" in requests.get(f"{address}/docs", timeout=10).text.lower()


def test_a_slow_request_does_not_hold_up_others() -> None:
    for address, _ in serve(Api(store=MeetingStore(readers=2))):
        with ThreadPoolExecutor(2) as clients:
            ask = partial(requests.get, params={"task_id": "none"}, timeout=20)
            replies = list(clients.map(ask, [f"{address}/v1/images/query"] * 2))
            states = [reply.json()["data"]["state"] for reply in replies]
    assert states == ["not_found", "not_found"]


def test_on_lambda_a_request_runs_in_the_thread_that_brought_it() -> None:
    store = MeetingStore(readers=1)
    assert Api(store=store).get("/v1/images/query", task_id="none").json["data"]["state"] == "not_found"
    assert store.threads == [threading.get_ident()]


def test_a_body_that_streams_past_the_limit_is_cut_off(server: tuple[str, Api]) -> None:
    address, api = server
    chunks = (b"x" * 65536 for _ in range(200))
    headers = BEARER | {"content-type": "application/json"}
    reply = requests.post(f"{address}{IMAGES}", data=chunks, headers=headers, timeout=10)
    assert (reply.status_code, reply.json()["error"]) == (413, "too_large")
    assert api.stored == 0


def test_an_unforeseen_error_is_a_500_without_a_trace(server: tuple[str, Api]) -> None:
    address, _ = server
    reply = requests.get(f"{address}/v1/images/query", params={"task_id": "fault"}, timeout=10)
    assert reply.status_code == 500
    assert reply.json() == {
        "code": -1000,
        "error": "internal_error",
        "message": reply.json()["message"],
        "data": None,
        "request_id": reply.headers["x-request-id"],
    }
    assert "secret-in-an-error" not in reply.text
    assert "Traceback" not in reply.text


@pytest.mark.parametrize(
    "raw",
    [
        b"POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"GET /v1/images/query?task_id=%ff%fe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"GET /v1/images/query?task_id=%ed%a0%80 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"POST /token/points HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \xff\xfe\r\nConnection: close\r\n\r\n",
    ],
)
def test_odd_bytes_on_the_wire_cause_no_500(server: tuple[str, Api], raw: bytes) -> None:
    port = int(server[0].rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(raw)
        status = connection.recv(65536).split(b" ")[1]
    assert status in (b"200", b"400", b"401", b"413")
