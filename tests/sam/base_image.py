"""The image of the Lambda runtime: present, else pulled, else a stand-in that is made here."""

import logging
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from local.packages import MachineError, install, on_path

logger = logging.getLogger(__name__)

IMAGE = "public.ecr.aws/lambda/python:3.13-x86_64"
PULL_SECONDS = 180
BOOTSTRAP_SECONDS = 600
SOURCES = Path(__file__).with_name("image")
SUITE = "trixie"  # Debian 13, which has Python 3.13
SETTINGS = (
    "ENV LAMBDA_TASK_ROOT=/var/task",
    "ENV LAMBDA_RUNTIME_DIR=/var/runtime",
    "ENV LANG=C.UTF-8",
    "WORKDIR /var/task",
    'ENTRYPOINT ["/var/runtime/bootstrap"]',
    "LABEL stand-in=true",
)


def provide() -> str:
    """Have the base image in the running Docker engine; returns how it came: ``present``, ``pulled`` or ``built``.

    Raises:
        MachineError: it is not there, cannot be pulled and cannot be built.
    """
    if _docker("image", "inspect", IMAGE).returncode == 0:
        return "present"
    if _pulled():
        return "pulled"
    _build()
    return "built"


def _pulled() -> bool:
    try:
        return _docker("pull", "--quiet", IMAGE, timeout=PULL_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _build() -> None:
    """Debian's Python 3.13 with Lambda's runtime client, which is what the public image is at its core."""
    if os.geteuid() != 0 or platform.machine() != "x86_64":
        raise MachineError(f"{IMAGE} cannot be pulled; a stand-in can only be built by root on x86_64")
    install(on_path("debootstrap"), "debootstrap")
    logger.info("building a stand-in for %s", IMAGE)
    with tempfile.TemporaryDirectory(prefix="jimeng-image-") as directory:
        root = Path(directory)
        _checked(["debootstrap", "--variant=minbase", "--include=python3,ca-certificates", SUITE, str(root)])
        _install_runtime(root / "var" / "runtime")
        for name in ("var/task", "opt"):
            (root / name).mkdir(parents=True, exist_ok=True)
        _import(root)


def _install_runtime(target: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--require-hashes", "--no-deps"]
    _checked([*pip, "--target", str(target), "-r", str(SOURCES / "requirements.txt")])
    program = target / "bootstrap"
    program.write_text((SOURCES / "bootstrap").read_text(encoding="utf-8"), encoding="utf-8")
    program.chmod(0o755)


def _import(root: Path) -> None:
    changes = [part for setting in SETTINGS for part in ("--change", setting)]
    skipped = [f"--exclude=./{name}" for name in ("dev", "proc", "sys", "var/cache", "var/lib/apt/lists")]
    with subprocess.Popen(["tar", "-C", str(root), *skipped, "-c", "."], stdout=subprocess.PIPE) as tar:
        done = subprocess.run(
            ["docker", "import", *changes, "-", IMAGE],
            stdin=tar.stdout,
            capture_output=True,
            text=True,
            timeout=BOOTSTRAP_SECONDS,
            check=False,
        )
    if done.returncode != 0 or tar.returncode != 0:
        raise MachineError(f"docker import failed:\n{done.stderr[-2000:]}")


def _checked(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOOTSTRAP_SECONDS, check=False)
    if done.returncode != 0:
        raise MachineError(f"{command[0]} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def _docker(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["docker", *arguments], capture_output=True, timeout=timeout, check=False)
