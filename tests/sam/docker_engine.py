"""A Docker engine for `sam local`: the one that runs, else one that is started here and stopped again."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.mongodb import DIE_WITH_PARENT
from local.packages import MachineError, install, on_path

LOCK = Path(tempfile.gettempdir()) / "jimeng-tasks-docker.lock"
START_SECONDS = 60
STOP_SECONDS = 30
PACKAGE = "docker.io"  # Debian 13 has the command `docker` in a package of its own, which this one recommends


def gateway() -> str:
    """The address of this machine on Docker's bridge network."""
    command = ["docker", "network", "inspect", "bridge", "--format", "{{json (index .IPAM.Config 0)}}"]
    config = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=30).stdout)
    given = config.get("Gateway")
    return str(given) if given else config["Subnet"].rsplit(".", 1)[0] + ".1"


def answers() -> bool:
    """Whether a Docker engine answers."""
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False, timeout=30).returncode == 0


@contextmanager
def running_docker() -> Iterator[None]:
    """Have a Docker engine inside the block; one that was running before is left running.

    A second run on this machine waits for the first one: it must not use an engine that the first one is to stop.

    Raises:
        MachineError: none runs and none can be started.
    """
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _engine():
            yield


@contextmanager
def _engine() -> Iterator[None]:
    if answers():
        yield
        return
    if os.geteuid() != 0:
        raise MachineError("no Docker engine answers: start one, or run this as root to have one started")
    install(on_path("dockerd", "docker"), PACKAGE)
    wrapper = [sys.executable, "-I", "-S", str(DIE_WITH_PARENT), str(os.getpid())]
    command = [*wrapper, str(shutil.which("dockerd"))]
    with tempfile.NamedTemporaryFile(prefix="jimeng-dockerd-", suffix=".log") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait_for(process, Path(log.name))
            yield
        finally:
            _remove_stale_images()
            _stop(process)


def _wait_for(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline:
            raise MachineError(f"dockerd did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.5)


def _remove_stale_images() -> None:
    """Each change of the layer makes SAM build an image of 230 MB; only the last one is of use."""
    prune = ["docker", "image", "prune", "--force", "--filter", "label=stand-in=true"]
    subprocess.run(prune, capture_output=True, check=False, timeout=60)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
