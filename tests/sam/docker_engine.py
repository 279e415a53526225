"""A Docker engine for `sam local`: the one that runs, else one that is started here and stopped again."""

import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

logger = logging.getLogger(__name__)

START_SECONDS = 60
STOP_SECONDS = 30
INSTALL_SECONDS = 600
PACKAGES = ("docker.io", "debootstrap")


class EngineError(Exception):
    """No Docker engine can be had on this machine; the message says what is missing."""


def answers() -> bool:
    """Whether a Docker engine answers."""
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False, timeout=30).returncode == 0


@contextmanager
def running_docker() -> Iterator[None]:
    """Have a Docker engine inside the block; one that was running before is left running.

    Raises:
        EngineError: none runs and none can be started.
    """
    if answers():
        yield
        return
    if os.geteuid() != 0:
        raise EngineError("no Docker engine answers: start one, or run this as root to have one started")
    install("dockerd")
    with tempfile.NamedTemporaryFile(prefix="jimeng-dockerd-", suffix=".log") as log:
        process = subprocess.Popen(["dockerd"], stdout=log, stderr=log, start_new_session=True)
        try:
            _wait_for(process, Path(log.name))
            yield
        finally:
            _stop(process)


def install(program: str) -> None:
    """Install Docker and debootstrap from the distribution if ``program`` is missing.

    Raises:
        EngineError: this is no system with apt-get, or the installation failed.
    """
    if shutil.which(program):
        return
    if not shutil.which("apt-get"):
        raise EngineError(f"{program} is missing and there is no apt-get: install {', '.join(PACKAGES)}")
    logger.info("installing %s", ", ".join(PACKAGES))
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            command,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise EngineError(f"{' '.join(command[:2])} failed:\n{done.stderr[-2000:]}")


def _wait_for(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline:
            raise EngineError(f"dockerd did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.5)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
