"""What is needed of the distribution: installed with apt-get where it is missing."""

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from local.errors import LocalError

logger = logging.getLogger(__name__)

INSTALL_SECONDS = 900
SERVICE_POLICY = Path("/usr/sbin/policy-rc.d")
START_NOTHING = "#!/bin/sh\nexit 101\n"


class MachineError(LocalError):
    """This machine lacks something that cannot be had here; the message says what."""


def on_path(*programs: str) -> Callable[[], bool]:
    """A check whether all these programs are there."""
    return lambda: all(map(shutil.which, programs))


def install(is_there: Callable[[], bool], *packages: str) -> None:
    """Install packages, with what they recommend, unless ``is_there``; no service is started.

    Raises:
        MachineError: this is no system with apt-get, this is not root, or the installation failed or did not help.
    """
    if is_there():
        return
    wanted = ", ".join(packages)
    if not shutil.which("apt-get") or os.geteuid() != 0:
        raise MachineError(f"install {wanted}: only root on Debian or Ubuntu has it done here")
    logger.warning("installing %s with apt-get", wanted)  # shown by commands that set no logging up, too
    with _services_left_alone():
        for command in (["update"], ["install", "-y", *packages]):
            _apt_get(*command)
    if not is_there():
        raise MachineError(f"the packages {wanted} did not bring what was missing")


def _apt_get(*arguments: str) -> None:
    done = subprocess.run(
        ["apt-get", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise MachineError(f"apt-get {arguments[0]} failed:\n{done.stderr[-2000:]}")


@contextmanager
def _services_left_alone() -> Iterator[None]:
    """Inside the block packages start no services: an engine that the installation started nobody would stop."""
    if SERVICE_POLICY.exists():
        yield
        return
    SERVICE_POLICY.write_text(START_NOTHING, encoding="utf-8")
    SERVICE_POLICY.chmod(0o755)
    try:
        yield
    finally:
        SERVICE_POLICY.unlink()
