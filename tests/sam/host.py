"""The real servers on this machine that the containers work with, and the functions in their containers."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import requests
from botocore.config import Config

from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import s3_client
from local.mongodb import running_mongod
from local.objectstore import create_public_bucket, running_objectstore
from local.processes import ROOT
from tests.sam.commands import SAM_BIN, SERVICES, environ, sam
from tests.sam.doorway import doorway, gateway

START_SECONDS = 60
STOP_SECONDS = 30
INVOKE_SECONDS = 120
DATABASE = "sam"


@dataclass(frozen=True, kw_only=True)
class Host:
    """The environment of the same product on this machine and in a container."""

    here: Mapping[str, str]
    inside: Mapping[str, str]

    @property
    def settings(self) -> Settings:
        """The settings for this machine."""
        return Settings.from_environ(self.here)


@contextmanager
def running_host() -> Iterator[Host]:
    """A mongod, a simulated Jimeng and an S3 server inside the block, within reach of containers."""
    with ExitStack() as stack:
        address = gateway()
        mongodb = urlsplit(stack.enter_context(running_mongod())).port
        storage = urlsplit(stack.enter_context(running_objectstore())).port
        assert mongodb
        assert storage
        for port in (mongodb, storage):
            stack.enter_context(doorway(address, port))
        simulator = stack.enter_context(_simulator(address))
        shared = {
            "USE_DATABASE_MODE": "true",
            "SERVICE_IDS": ",".join(SERVICES),
            "MONGODB_DATABASE": DATABASE,
            "JIMENG_BASE_URL": simulator,
            "JIMENG_IMAGEX_URL": simulator,
            "TOS_ENDPOINT_URL": f"http://{address}:{storage}",
            "TOS_BUCKET": "media",
            "TOS_ACCESS_KEY": "local",
            "TOS_SECRET_KEY": "local",
            "ALLOW_PRIVATE_URLS": "true",
            "TASK_POLL_INTERVAL": "1",
            "POLLER_FUNCTION_PREFIX": "",
        }
        # A container cannot reach the member that the replica set names, so the driver must not look for it.
        host = Host(
            here={
                **shared,
                "MONGODB_URI": f"mongodb://127.0.0.1:{mongodb}/?directConnection=true",
                "SERVICE_ID": SERVICES[0],
            },
            inside={**shared, "MONGODB_URI": f"mongodb://{address}:{mongodb}/?directConnection=true"},
        )
        create_public_bucket(s3_client(host.settings), "media")
        yield host


@contextmanager
def _simulator(address: str) -> Iterator[str]:
    command = [sys.executable, "-m", "local.simulator", "--host", address, "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["simulator"]
        finally:
            process.terminate()


class Functions:
    """The built functions in containers, with the environment ``inside``."""

    def __init__(self, inside: Mapping[str, str], directory: Path) -> None:
        self._directory = directory
        self._variables = directory / "variables.json"
        self._variables.write_text(json.dumps({"Parameters": dict(inside)}), encoding="utf-8")

    @property
    def _options(self) -> list[str]:
        return ["--config-env", "local", "--env-vars", str(self._variables)]

    def invoke_once(self, function: str, event: Path) -> dict[str, Any]:
        """`sam local invoke` a function in a container of its own; returns its answer."""
        done = sam("local", "invoke", function, "--event", str(event), *self._options, timeout=INVOKE_SECONDS)
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return answer

    @contextmanager
    def api(self) -> Iterator[str]:
        """`sam local start-api` inside the block; yields its address."""
        with self._serving("start-api") as address:
            yield address

    @contextmanager
    def invoker(self) -> Iterator["Invoker"]:
        """`sam local start-lambda` inside the block: containers stay warm between invocations."""
        with self._serving("start-lambda") as address:
            yield Invoker(address)

    @contextmanager
    def _serving(self, command: str) -> Iterator[str]:
        port = _free_port()
        arguments = [str(SAM_BIN / "sam"), "local", command, "--port", str(port), "--no-watch", *self._options]
        log = self._directory / f"{command}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                arguments, cwd=ROOT, env=environ(), stdout=output, stderr=output, start_new_session=True
            )
            try:
                _wait_for(process, port, log)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


class Invoker:
    """Lambda's own protocol, spoken to `sam local start-lambda`."""

    def __init__(self, address: str) -> None:
        config = Config(read_timeout=INVOKE_SECONDS, retries={"total_max_attempts": 1})
        session = boto3.session.Session("none", "none", region_name="us-east-1")
        self._client = session.client("lambda", endpoint_url=address, config=config)

    def __call__(self, function: str, event: Any) -> Any:
        """Invoke a function and return its answer.

        Raises:
            AssertionError: the function raised; the message holds its error.
        """
        reply = self._client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
        answer = json.loads(reply["Payload"].read())
        assert "FunctionError" not in reply, answer
        return answer


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
