"""The SAM CLI as this machine has it: its own virtual environment, the project's Python first on PATH, no account."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from local.processes import ROOT

SAM_BIN = ROOT / ".venv-sam" / "bin"
BUILD = ROOT / ".aws-sam" / "build"
SERVICES = ("jimeng-api-3302", "jimeng-api-3303")  # the template's default


def environ() -> dict[str, str]:
    """The environment of every SAM command; `sam build` takes the `python3.13` that comes first on PATH."""
    return {
        **os.environ,
        "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "SAM_CLI_TELEMETRY": "0",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def sam(*arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run a SAM command to its end in the project's root; ``timeout`` in seconds.

    Raises:
        AssertionError: it failed; the message holds what it said.
    """
    return run([str(SAM_BIN / "sam"), *arguments], timeout=timeout)


def run(
    command: list[str], *, timeout: float = 300, also: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in the project's root, with ``also`` added to the environment; ``timeout`` in seconds.

    Raises:
        AssertionError: it failed; the message holds what it said.
    """
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**environ(), **(also or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    said = f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    assert done.returncode == 0, f"{' '.join(Path(part).name for part in command[:4])} failed:\n{said}"
    return done
