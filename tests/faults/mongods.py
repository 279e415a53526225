"""MongoDB that can be told to fail: one node with fail points, and a replica set of three that steps down."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Self

from pymongo import MongoClient
from pymongo.errors import AutoReconnect, OperationFailure

from jimeng_tasks.store.documents import Document
from local.mongodb import DIE_WITH_PARENT, Mongod, find_mongod
from local.scratch import ScratchDirectory

COMMANDS = ["find", "insert", "update", "delete", "aggregate", "findAndModify", "commitTransaction", "getMore"]
WRITES = ["insert", "update", "delete", "findAndModify"]
READY_SECONDS = 40


class FailingMongod(Mongod):
    """A mongod with fail points that meet the product's connections alone."""

    def _command(self) -> list[str]:
        return [*super()._command(), "--setParameter", "enableTestCommands=1"]

    def fail(self, mode: str | Mapping[str, float], commands: list[str] | None = None, **how: Any) -> None:
        """From now on the product's commands fail; ``how`` is the fail point's data."""
        data = {"failCommands": commands or COMMANDS, "appName": "jimeng-tasks", **how}
        self._configure(mode, data)

    def restart_if_dead(self) -> None:
        """Start it again if it was killed."""
        if self._process is None:
            self.restart()

    def heal(self) -> None:
        """End every fail point."""
        self._configure("off", {})

    def _configure(self, mode: str | Mapping[str, float], data: Document) -> None:
        with MongoClient[Document]("127.0.0.1", self.port, directConnection=True) as client:
            client.admin.command({"configureFailPoint": "failCommand", "mode": mode, "data": data})


class ReplicaSet:
    """Three mongods; as a context manager they run inside the block. Start it from the main thread."""

    def __init__(self) -> None:
        self._ports = _free_ports(3)
        self._scratches = [ScratchDirectory() for _ in self._ports]
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def uri(self) -> str:
        """The address of the set."""
        return f"mongodb://{','.join(self._hosts)}/?replicaSet=rs3"

    def __enter__(self) -> Self:
        try:
            self._processes = [self._start(index) for index in range(3)]
            self._initiate()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        for scratch in self._scratches:
            scratch.remove()

    def step_down(self) -> None:
        """Make the primary give up; returns at once, while the others still elect."""
        with self._client() as client, suppress(AutoReconnect, OperationFailure):
            client.admin.command({"replSetStepDown": 3, "secondaryCatchUpPeriodSecs": 1, "force": True})

    def primary(self) -> tuple[str, int] | None:
        """The address of the primary, waiting for an election if need be."""
        with self._client() as client:
            client.admin.command("ping")
            return client.primary

    @property
    def _hosts(self) -> list[str]:
        return [f"127.0.0.1:{port}" for port in self._ports]

    def _client(self) -> MongoClient[Document]:
        return MongoClient(self.uri, serverSelectionTimeoutMS=READY_SECONDS * 1000)

    def _start(self, index: int) -> subprocess.Popen[bytes]:
        path = str(self._scratches[index].path)
        command = [str(find_mongod()), "--dbpath", path, "--logpath", f"{path}/mongod.log", "--bind_ip", "127.0.0.1"]
        command += ["--port", str(self._ports[index]), "--nounixsocket", "--replSet", "rs3", "--oplogSize", "64"]
        command += ["--wiredTigerCacheSizeGB", "0.25", "--setParameter", "diagnosticDataCollectionEnabled=false"]
        wrapper = [sys.executable, "-I", "-S", str(DIE_WITH_PARENT), str(os.getpid())]
        return subprocess.Popen([*wrapper, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def _initiate(self) -> None:
        members = [{"_id": number, "host": host} for number, host in enumerate(self._hosts)]
        settings = {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200}
        config = {"_id": "rs3", "members": members, "settings": settings}
        deadline = time.monotonic() + READY_SECONDS
        with MongoClient[Document]("127.0.0.1", self._ports[0], directConnection=True) as client:
            while True:
                try:
                    client.admin.command("replSetInitiate", config)
                    break
                except (AutoReconnect, OperationFailure):
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.1)
        self.primary()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as probes:
        found = [probes.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(probe.getsockname()[1]) for probe in found]


@contextmanager
def frozen(mongod: Mongod) -> Iterator[None]:
    """Stop the process inside the block, its connections staying open."""
    mongod.freeze()
    try:
        yield
    finally:
        mongod.thaw()
