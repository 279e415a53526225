"""Schemathesis reads the running stack's own OpenAPI document and tries to make the API break its word."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from tests.integration.local_commands import Running, running
from tests.integration.test_local_run import free_port
from tests.reliability.soak import SOAK_SECONDS

SECONDS = 20
SOAK_REQUESTS = 10_000
MEBIBYTE = 1024 * 1024
MAY_GROW = 200 * MEBIBYTE
CHECKS = ",".join(
    (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "unsupported_method",
        "allow_header_conformance",
    )
)
KEY = "key-of-the-fuzz"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The whole product, with keys and the guard on, as strangers would meet it."""
    variables = {"API_KEYS": KEY, "ALLOW_PRIVATE_URLS": "false", "SERVICE_IDS": "fuzz"}
    with running(tmp_path_factory.mktemp("fuzz"), free_port(), **variables) as stack:
        yield stack


class Fuzzer:
    """Runs schemathesis against a stack; ``reports`` holds what each run found."""

    def __init__(self, stack: Running, directory: Path) -> None:
        self._stack = stack
        self._report = directory / "report.json"
        self._directory = directory

    def run(self, seconds: int, *options: str) -> dict[str, Any]:
        """One run of all phases; fails with its output when anything broke its word."""
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{self._stack.url}/openapi.json"]
        command += ["--max-time", str(seconds), "--workers", "2", "--checks", CHECKS, "--request-timeout", "20"]
        command += ["--no-shrink", "--header", f"X-API-Key: {KEY}", *options]
        command += ["--report", "json", "--report-json-path", str(self._report)]
        done = subprocess.run(command, cwd=self._directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        report: dict[str, Any] = json.loads(self._report.read_text())
        return report


@pytest.fixture
def fuzzer(stack: Running, tmp_path: Path) -> Fuzzer:
    return Fuzzer(stack, tmp_path)


def memory(stack: Running) -> int:
    """Bytes that the API's process has in memory."""
    [api] = stack.children("local.api")[-1:]
    return int(psutil.Process(api.pid).memory_info().rss)


@pytest.mark.timeout(SOAK_SECONDS + 1200)
def test_the_api_keeps_the_promises_of_its_document(stack: Running, fuzzer: Fuzzer) -> None:
    before, seconds, tried = memory(stack), 0, 0
    # When it is fuzzed with session tokens, in all phases, for as long as this run may take
    while not seconds or seconds < SOAK_SECONDS or (SOAK_SECONDS and tried < SOAK_REQUESTS):
        report = fuzzer.run(max(SECONDS, min(SOAK_SECONDS, 120)), "--header", "Authorization: Bearer any-token")
        # Then every operation was tried in every phase, and none broke its word
        assert report["operations"]["tested"] == report["operations"]["total"] == 13
        assert set(report["phases"]) == {"examples", "coverage", "fuzzing", "stateful"}
        seconds += round(report["running_time"])
        tried += report["test_cases"]["generated"]
    assert tried >= (SOAK_REQUESTS if SOAK_SECONDS else 100)
    # And the service is as well as before
    assert memory(stack) - before < MAY_GROW
    assert requests.get(f"{stack.url}/health", timeout=5).status_code == 200


def test_without_session_tokens_it_keeps_them_too(fuzzer: Fuzzer) -> None:
    report = fuzzer.run(10, "--phases", "examples,coverage")
    assert report["test_cases"]["generated"] > 50
