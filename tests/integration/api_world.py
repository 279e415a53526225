"""The API as its tests call it: real routes and use cases over one store, reached through the Lambda handler."""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jimeng_tasks.bootstrap import Container, create_api
from jimeng_tasks.domain.lifecycle import Policy, completed, delivered, failed, with_file
from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.domain.task import FileProgress, Task
from jimeng_tasks.http.handler import make_handler
from jimeng_tasks.settings import Settings
from jimeng_tasks.store.clock import SystemClock
from jimeng_tasks.store.memory import MemoryTaskStore

TOKEN = "0123456789abcdef0123456789abcdef"
BEARER = {"authorization": f"Bearer {TOKEN}"}
EVENTS = Path(__file__).parents[2] / "events" / "http"
IMAGES, VIDEO, UPLOAD = "/v1/images/generations", "/v1/video/generations", "/v1/upload/images"
LEASE = 60
POLICY = Policy()


@dataclass(frozen=True)
class Reply:
    """An answer, with header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def data(self) -> Any:
        """The member ``data`` of the body."""
        return self.json["data"]

    @property
    def message(self) -> str:
        """The message of an error."""
        return str(self.json["message"])


class Api:
    """One process of the product. ``environ`` is its environment; ``store`` replaces the one it would make."""

    def __init__(self, *groups: str, store: TaskStore | None = None, **environ: str) -> None:
        self.settings = Settings.from_environ(environ)
        self.container = Container(self.settings)
        self.store = store or MemoryTaskStore()
        self.container.store = self.store
        self.container.clock = SystemClock()
        self.app = create_api(self.container, *groups)
        self.handler = make_handler(self.app, self.settings)

    def event(self, event: dict[str, Any], context: Any = None) -> Reply:
        """Answer a Lambda event."""
        answer = self.handler(event, context)
        body = answer.get("body") or ""
        headers = {**answer.get("headers", {}), **{k: v[0] for k, v in answer.get("multiValueHeaders", {}).items()}}
        return Reply(
            status=answer["statusCode"],
            headers={name.lower(): value for name, value in headers.items()},
            body=b64decode(body) if answer.get("isBase64Encoded") else body.encode(),
        )

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None, query: str = ""
    ) -> Reply:
        """Answer a request that comes as an event of an HTTP API."""
        http = {"method": method, "path": path, "sourceIp": "203.0.113.7"}
        return self.event(
            {
                "version": "2.0",
                "rawPath": path,
                "rawQueryString": query,
                "headers": headers or {},
                "requestContext": {"http": http, "stage": "$default", "requestId": "request-1"},
                "body": None if body is None else b64encode(body).decode(),
                "isBase64Encoded": body is not None,
            }
        )

    def get(self, path: str, headers: dict[str, str] | None = None, **query: str) -> Reply:
        """GET with query parameters."""
        return self.call("GET", path, headers=headers, query=urlencode(query))

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Reply:
        """POST a JSON document as the holder of TOKEN."""
        sent = {"content-type": "application/json", **BEARER, **(headers or {})}
        return self.call("POST", path, json.dumps(body).encode(), sent)

    @property
    def stored(self) -> int:
        """How many tasks the store holds."""
        return sum(self.store.stats(None, self.container.clock.now()).per_status.values())

    def claim(self, task_id: str) -> Task:
        """The task as a poller takes it."""
        task = self.store.get(task_id)
        assert task is not None
        workload = self.store.survey(task.server_id, 10, [task_id])
        slots = workload.free_slots(10)
        [claimed] = self.store.claim_pending(task.server_id, workload.pending, slots, self.container.clock.now(), LEASE)
        return claimed

    def complete(self, task_id: str, *urls: str) -> None:
        """End a pending task with these stored files, as a poller does."""
        now = self.container.clock.now()
        claimed = self.claim(task_id)
        progress = Progress(history_id="4711", state=ProgressState.SUCCEEDED, urls=urls)
        done = delivered(claimed, progress, None, now, POLICY)
        for index, url in enumerate(urls):
            done = with_file(done, index, FileProgress(url=url, attempts=1), now, POLICY)
        self.store.finish(claimed, *completed(done, now, POLICY))

    def fail(self, task_id: str, message: str, fail_code: str) -> None:
        """End a pending task as failed, as a poller does."""
        claimed = self.claim(task_id)
        self.store.finish(claimed, *failed(claimed, message, fail_code, self.container.clock.now(), POLICY))


def fixture_event(name: str) -> dict[str, Any]:
    """An event of the folder ``events/http``."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return event


def form(*parts: tuple[str, str | None, bytes]) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a multipart form of ``(name, file name, bytes)``; a part without file name is a text."""
    body = b""
    for name, filename, data in parts:
        disposition = f'form-data; name="{name}"' + (f'; filename="{filename}"' if filename is not None else "")
        body += f"--b\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + data + b"\r\n"
    return body + b"--b--\r\n", {"content-type": "multipart/form-data; boundary=b"}
