"""The real servers on this machine that the containers work with."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import s3_client
from jimeng_tasks.store.mongo import MongoTaskStore, connect
from jimeng_tasks.store.mongo.connection import TASKS
from local.mongodb import running_mongod
from local.objectstore import create_public_bucket, running_objectstore
from local.processes import ROOT
from tests.sam.commands import SERVICES
from tests.sam.docker_engine import gateway
from tests.wire import Wire

DATABASE = "sam"


@dataclass(frozen=True, kw_only=True)
class Host:
    """The environment of the same product on this machine and in a container, and the wires between the two."""

    here: Mapping[str, str]
    inside: Mapping[str, str]
    wires: tuple[Wire, ...]

    @property
    def settings(self) -> Settings:
        """The settings for this machine."""
        return Settings.from_environ(self.here)

    def make_due(self, task_id: str) -> None:
        """Let the next tick look at a task at once."""
        with connect(self.settings.mongodb_uri) as client:
            tasks = client[DATABASE][TASKS]
            assert tasks.update_one({"task_id": task_id}, {"$set": {"next_poll_at": 0}}).matched_count

    def cut(self) -> list[int]:
        """Cut the connections of all containers; returns how many each server had."""
        return [wire.cut() for wire in self.wires]


@contextmanager
def running_host() -> Iterator[Host]:
    """A mongod, a simulated Jimeng and an S3 server inside the block, within reach of containers."""
    with ExitStack() as stack:
        address = gateway()
        mongodb = urlsplit(stack.enter_context(running_mongod())).port
        storage = urlsplit(stack.enter_context(running_objectstore())).port
        jimeng = stack.enter_context(_simulator(address))
        assert mongodb
        assert storage
        ports = (mongodb, jimeng, storage)
        wires = [stack.enter_context(Wire(port, host=address, port=port).running()) for port in ports]
        shared = {
            "USE_DATABASE_MODE": "true",
            "SERVICE_IDS": ",".join(SERVICES),
            "MONGODB_DATABASE": DATABASE,
            "JIMENG_BASE_URL": f"http://{address}:{jimeng}",
            "JIMENG_IMAGEX_URL": f"http://{address}:{jimeng}",
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
            wires=tuple(wires),
        )
        create_public_bucket(s3_client(host.settings), "media")
        with connect(host.settings.mongodb_uri) as client:
            MongoTaskStore(client, DATABASE).prepare()
        yield host


@contextmanager
def _simulator(address: str) -> Iterator[int]:
    """A simulated Jimeng on 127.0.0.1, whose links name ``address``; yields its port."""
    port = free_port()
    options = ["--port", str(port), "--base-url", f"http://{address}:{port}"]
    command = [sys.executable, "-m", "local.simulator", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            assert "simulator" in json.loads(process.stdout.readline())
            yield port
        finally:
            process.terminate()


def free_port() -> int:
    """A TCP port on 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
