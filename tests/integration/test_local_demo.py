"""`make demo`: from a request to files in the storage, and what it says when that does not come about."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from local.demo import Job, fetch

from .local_commands import local

DEMO_SECONDS = 60


def test_both_tasks_complete_and_the_last_line_sums_up() -> None:
    shown = local("demo", timeout=DEMO_SECONDS)

    assert shown.returncode == 0, shown.stdout + shown.stderr
    last = json.loads(shown.stdout.splitlines()[-1])
    assert last["ok"] is True
    assert int(last["mongodb"].split(".")[0]) >= 6
    assert [(task["type"], task["state"]) for task in last["tasks"]] == [("image", "completed"), ("video", "completed")]
    for task, kind in zip(last["tasks"], ("image/png", "video/mp4"), strict=True):
        assert set(task) == {"task_id", "type", "state", "seconds", "urls", "bytes", "content_types"}
        assert len(task["urls"]) == len(task["bytes"]) == len(task["content_types"]) >= 1
        assert set(task["content_types"]) == {kind}
        assert min(task["bytes"]) > 100
        assert 0 < task["seconds"] < DEMO_SECONDS


class Files(BaseHTTPRequestHandler):
    """A storage that serves one PNG, and one text under a picture's name and type."""

    files: ClassVar = {"/bucket/good.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 24, "/bucket/bad.png": b"<html></html>"}

    def do_GET(self) -> None:
        content = self.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", "image/png")
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture(scope="module")
def storage() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "base", "fault"),
    [
        ("/bucket/good.png", "/bucket/", ""),
        ("/bucket/bad.png", "/bucket/", "with bytes of type None"),
        ("/bucket/missing.png", "/bucket/", "answered 404"),
        ("/bucket/good.png", "/another-bucket/", "is not in the storage"),
    ],
)
def test_a_file_counts_only_if_it_is_in_the_storage_and_what_it_claims_to_be(
    storage: str, path: str, base: str, fault: str
) -> None:
    job = Job("image", "task", 0.0, "completed", urls=[storage + path])

    fetch(job, storage + base)

    assert fault in job.fault
    assert job.is_well is not bool(fault)


def test_a_stack_that_does_not_start_is_reported_in_the_last_line_too() -> None:
    shown = local("demo", variables={"MAX_CONCURRENT_TASKS": "none"})

    assert shown.returncode == 1
    assert json.loads(shown.stdout.splitlines()[-1]) == {"ok": False, "mongodb": None, "tasks": []}
    assert "error: MAX_CONCURRENT_TASKS must be a whole number" in shown.stderr
