"""The built functions in their containers."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import requests
from botocore.config import Config

from local.mongodb import DIE_WITH_PARENT
from local.processes import ROOT
from tests.sam.commands import SAM_BIN, SERVICES, environ, sam
from tests.sam.host import free_port

START_SECONDS = 60
STOP_SECONDS = 30
INVOKE_SECONDS = 120
POLLERS = {service: f"Poller{service.replace('-', '')}" for service in SERVICES}
CONTAINER = re.compile(r"SAM_CONTAINER_ID: (\w+)")
REPORT = re.compile(r"^REPORT .*?\tBilled Duration: (\d+) ms", re.MULTILINE)


class Functions:
    """The built functions in containers, with the environment ``inside``; ``directory`` keeps what they log."""

    def __init__(self, inside: Mapping[str, str], directory: Path) -> None:
        self._directory = directory
        self._variables = directory / "variables.json"
        self._variables.write_text(json.dumps({"Parameters": dict(inside)}), encoding="utf-8")

    @property
    def _options(self) -> list[str]:
        return ["--config-env", "local", "--env-vars", str(self._variables)]

    def invoke_once(self, function: str, event: Any) -> dict[str, Any]:
        """`sam local invoke` a function in a container of its own; returns its answer."""
        path = self._directory / "event.json"
        path.write_text(json.dumps(event), encoding="utf-8")
        done = sam("local", "invoke", function, "--event", str(path), *self._options, timeout=INVOKE_SECONDS)
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return answer

    @contextmanager
    def api(self) -> Iterator[str]:
        """`sam local start-api` inside the block; yields its address."""
        with self._serving("start-api") as (address, _):
            yield address

    @contextmanager
    def invoker(self) -> Iterator["Invoker"]:
        """`sam local start-lambda` inside the block: containers stay warm between invocations."""
        with self._serving("start-lambda") as (address, log):
            yield Invoker(address, log)

    @contextmanager
    def _serving(self, command: str) -> Iterator[tuple[str, Path]]:
        port = free_port()
        wrapper = [sys.executable, "-I", "-S", str(DIE_WITH_PARENT), str(os.getpid())]
        arguments = [str(SAM_BIN / "sam"), "local", command, "--port", str(port), "--no-watch", *self._options]
        log = self._directory / f"{command}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [*wrapper, *arguments], cwd=ROOT, env=environ(), stdout=output, stderr=output, start_new_session=True
            )
            try:
                _wait_for(process, port, log)
                yield f"http://127.0.0.1:{port}", log
            finally:
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


class Invoker:
    """Lambda's own protocol, spoken to `sam local start-lambda`."""

    def __init__(self, address: str, log: Path) -> None:
        config = Config(read_timeout=INVOKE_SECONDS, retries={"total_max_attempts": 1})
        session = boto3.session.Session("none", "none", region_name="us-east-1")
        self._client = session.client("lambda", endpoint_url=address, config=config)
        self._log = log

    def __call__(self, function: str, event: Any) -> Any:
        """Invoke a function and return its answer.

        Raises:
            AssertionError: the function raised; the message holds its error.
        """
        reply = self._client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
        answer = json.loads(reply["Payload"].read())
        assert "FunctionError" not in reply, answer
        return answer

    def log(self) -> str:
        """What the containers have written since the start."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def billed(self) -> list[int]:
        """The milliseconds that Lambda would bill for each invocation so far."""
        return [int(duration) for duration in REPORT.findall(self.log())]

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Inside the block no container runs, as between two invocations on Lambda."""
        containers = CONTAINER.findall(self.log())
        _docker("pause", *containers)
        try:
            yield
        finally:
            _docker("unpause", *containers)


def _docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=True, capture_output=True, timeout=60)


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            requests.get(f"http://127.0.0.1:{port}/", timeout=START_SECONDS)
        except requests.ConnectionError:
            assert process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
            assert time.monotonic() < deadline, log.read_text(encoding="utf-8")[-3000:]
            time.sleep(0.2)
        else:
            return
