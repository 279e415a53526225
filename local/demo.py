"""`make demo`: an image and a video task on their way from an HTTP request to files in the storage.

The last line on standard output is one JSON object that sums up what happened.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import filetype
import requests
from pymongo import MongoClient
from rich.console import Console
from rich.live import Live
from rich.table import Table

from jimeng_tasks.storage.tos import TosStorage
from local.errors import LocalError
from local.processes import ROOT
from local.stack import Stack, listen, running_stack

DEMO_SECONDS = 120  # for both tasks together, once the stack is up
LOOK_SECONDS = 0.5
HTTP_SECONDS = 10
FETCH_SECONDS = 30
FINAL = ("completed", "failed", "not_found")
REQUESTS = {
    "image": ("images", {"prompt": "a lighthouse in a storm, oil painting"}),
    "video": ("video", {"prompt": "a paper boat drifts down a river"}),
}


@dataclass
class Job:
    """One task of the demonstration, and what became of it."""

    task_type: str
    task_id: str
    posted_at: float
    state: str = "pending"
    seconds: float = 0.0
    urls: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    content_types: list[str] = field(default_factory=list)
    fault: str = ""

    @property
    def is_well(self) -> bool:
        """Whether it completed and everything that it promised was there."""
        return self.state == "completed" and not self.fault and bool(self.sizes)

    def summary(self) -> dict[str, Any]:
        """Its part of the last line."""
        return {
            "task_id": self.task_id,
            "type": self.task_type,
            "state": self.state,
            "seconds": round(self.seconds, 1),
            "urls": self.urls,
            "bytes": self.sizes,
            "content_types": self.content_types,
        }


class Client:
    """A client of the API, as any other."""

    def __init__(self, stack: Stack) -> None:
        self._url = stack.url
        self._session = requests.Session()
        self._session.headers["Authorization"] = "Bearer demo-session-token"
        if stack.settings.api_keys:
            self._session.headers["X-API-Key"] = stack.settings.api_keys[0]

    def post(self, task_type: str) -> Job:
        """Order one generation."""
        group, body = REQUESTS[task_type]
        task = self._ask("POST", f"/v1/{group}/generations", json=body)
        return Job(task_type, task["task_id"], time.monotonic(), task["state"])

    def look(self, job: Job) -> None:
        """Ask what became of a task; its result is handed out only once."""
        group, _ = REQUESTS[job.task_type]
        answer = self._ask("GET", f"/v1/{group}/query", params={"task_id": job.task_id})
        job.state, job.urls = answer["state"], answer.get("urls") or []
        job.seconds = time.monotonic() - job.posted_at
        if job.state in FINAL and job.state != "completed":
            job.fault = answer.get("error_message") or job.state

    def _ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            answer = self._session.request(method, self._url + path, timeout=HTTP_SECONDS, **request)
            if not answer.ok:
                raise LocalError(f"{method} {path} answered {answer.status_code}: {answer.text[:500]}")
            data: dict[str, Any] = answer.json()["data"]
        except requests.RequestException as error:
            raise LocalError(f"{method} {path} was not answered: {type(error).__name__}") from None
        return data


def main() -> int:
    """Run the demonstration; returns 0 if everything completed."""
    jobs: list[Job] = []
    version, trouble = None, ""
    try:
        with _stack() as stack:
            version = _mongodb_version(stack)
            _follow(stack, Client(stack), jobs)
            for job in jobs:
                fetch(job, _storage_base(stack))
    except LocalError as error:
        trouble = str(error)
    for text in [trouble, *(f"{job.task_type} task: {job.fault}" for job in jobs if job.fault)]:
        if text:
            print(f"error: {text}", file=sys.stderr, flush=True)
    ok = not trouble and len(jobs) == len(REQUESTS) and all(job.is_well for job in jobs)
    print(json.dumps({"ok": ok, "mongodb": version, "tasks": [job.summary() for job in jobs]}), flush=True)
    return 0 if ok else 1


@contextmanager
def _stack() -> Iterator[Stack]:
    print("Starting MongoDB, the simulated Jimeng, the storage, the API and the pollers ...", flush=True)
    with tempfile.TemporaryDirectory(prefix="jimeng-demo-") as output:
        environ = {**os.environ, "PORT": ""}
        with running_stack(environ, listen(0), logs=ROOT / "logs", output=Path(output)) as stack:
            yield stack


def _mongodb_version(stack: Stack) -> str | None:
    """What the server itself says; None in memory mode, where there is none."""
    if not stack.settings.use_database_mode:
        return None
    with MongoClient[dict[str, Any]](stack.settings.mongodb_uri, serverSelectionTimeoutMS=5000) as client:
        return str(client.server_info()["version"])


def _follow(stack: Stack, client: Client, jobs: list[Job]) -> None:
    """Post both tasks and show their progress until they have ended."""
    jobs += [client.post(task_type) for task_type in REQUESTS]
    deadline = time.monotonic() + DEMO_SECONDS
    with _display() as show:
        show(jobs)
        while waiting := [job for job in jobs if job.state not in FINAL]:
            if time.monotonic() > deadline:
                raise LocalError(f"not everything ended within {DEMO_SECONDS} s")
            stack.watch()
            for job in waiting:
                client.look(job)
            show(jobs)
            time.sleep(LOOK_SECONDS)


@contextmanager
def _display() -> Iterator[Any]:
    """How progress is shown: a live table on a terminal, else a line for each new state."""
    console = Console()
    if console.is_terminal:
        with Live(console=console) as live:
            yield lambda jobs: live.update(_table(jobs))
        return
    seen: set[tuple[str, str]] = set()

    def show(jobs: list[Job]) -> None:
        for job in jobs:
            if (job.task_id, job.state) not in seen:
                print(f"{job.seconds:6.1f} s  {job.task_type} task {job.task_id}: {job.state}", flush=True)
                seen.add((job.task_id, job.state))

    yield show


def _table(jobs: list[Job]) -> Table:
    styles = {"completed": "green", "failed": "red", "polling": "cyan"}
    table = Table("type", "task", "state", "seconds", "files")
    for job in jobs:
        state = f"[{styles.get(job.state, 'yellow')}]{job.state}"
        table.add_row(job.task_type, job.task_id, state, f"{job.seconds:.1f}", str(len(job.urls)))
    return table


def _storage_base(stack: Stack) -> str:
    storage = TosStorage.from_settings(stack.settings)
    return storage.public_url("") if storage else ""


def fetch(job: Job, storage_base: str) -> None:
    """Get every file of a task back over HTTP: from the storage, with bytes of the kind that the answer claims."""
    for url in job.urls:
        try:
            answer = requests.get(url, timeout=FETCH_SECONDS)
        except requests.RequestException as error:
            job.fault = f"{url} cannot be fetched: {type(error).__name__}"
            continue
        claimed = answer.headers.get("Content-Type", "")
        actual = filetype.guess_mime(answer.content)
        job.sizes.append(len(answer.content))
        job.content_types.append(claimed)
        if not answer.ok or actual != claimed or not claimed.startswith(f"{job.task_type}/"):
            job.fault = f"{url} answered {answer.status_code}, {claimed or 'no type'}, with bytes of type {actual}"
        elif not url.startswith(storage_base):
            job.fault = f"{url} is not in the storage"
        print(f"  {job.task_type}  {claimed}  {len(answer.content):>9,} bytes  {url}", flush=True)
