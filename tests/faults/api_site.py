"""The API over real sockets, and what every route that needs the store says while the store is away."""

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import requests
import uvicorn

from jimeng_tasks.bootstrap import create_api
from tests.faults.deployment import TOKEN, Deployment

BEARER = {"Authorization": f"Bearer {TOKEN}"}
ROUTES: Mapping[str, tuple[str, str]] = {
    "post image": ("POST", "/v1/images/generations"),
    "post video": ("POST", "/v1/video/generations"),
    "query image": ("GET", "/v1/images/query"),
    "query image by post": ("POST", "/v1/images/query"),
    "query video": ("GET", "/v1/video/query"),
    "query video by post": ("POST", "/v1/video/query"),
    "stats": ("GET", "/v1/tasks/stats"),
    "health": ("GET", "/health"),
}
SECONDS = 5.0


@dataclass(frozen=True)
class Said:
    """An answer, and how long it took in seconds."""

    status: int
    retry_after: str | None
    body: Any
    seconds: float


@dataclass(frozen=True)
class ApiSite:
    """A running API."""

    address: str

    def call(self, name: str, task_id: str = "") -> Said:
        """Call a route by its name in `ROUTES`."""
        method, path = ROUTES[name]
        task_id = task_id or uuid4().hex
        body = {"prompt": "a boat", "task_id": task_id} if method == "POST" else None
        query = {"task_id": task_id} if method == "GET" and "query" in name else {}
        began = time.monotonic()
        answer = requests.request(method, self.address + path, json=body, params=query, headers=BEARER, timeout=60)
        took = time.monotonic() - began
        return Said(answer.status_code, answer.headers.get("Retry-After"), answer.json(), took)

    def call_all(self, names: list[str] | None = None) -> dict[str, Said]:
        """Call routes (all of them) side by side."""
        names = names or list(ROUTES)
        with ThreadPoolExecutor(len(names)) as threads:
            return dict(zip(names, threads.map(self.call, names), strict=True))


@contextmanager
def serving_api(deployment: Deployment) -> Iterator[ApiSite]:
    """The API of a deployment on a free port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    config = uvicorn.Config(create_api(deployment.container), log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield ApiSite(f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def faults_of(said: Mapping[str, Said], within: float = SECONDS) -> dict[str, Any]:
    """The answers that are not a 503 in our shape, in time, that says when to come again; empty when all are."""
    return {name: answer for name, answer in said.items() if not _is_polite_refusal(answer, within)}


def _is_polite_refusal(answer: Said, within: float) -> bool:
    named = answer.body.get("error") == "store_unavailable" and "127.0.0.1" not in str(answer.body)
    return answer.status == 503 and (answer.retry_after or "").isdecimal() and named and answer.seconds < within
