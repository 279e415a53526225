"""Runs the commands behind `make` as real processes."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import psutil
import requests

from local.processes import PYTHONPATH, ROOT

START_SECONDS = 40
STOP_SECONDS = 15
PART_VARIABLES = ("MONGODB_URI", "JIMENG_BASE_URL", "JIMENG_IMAGEX_URL", "TOS_ENDPOINT_URL")


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without what would name a part of the stack, and with ``variables``."""
    return {**os.environ, **dict.fromkeys(PART_VARIABLES, ""), "PYTHONPATH": PYTHONPATH, **variables}


def local(
    *arguments: str, variables: Mapping[str, str] = MappingProxyType({}), timeout: float = START_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Run `python -m local ...` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "local", *arguments],
        cwd=ROOT,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


class Running:
    """A `make run` that serves: its process, what it printed, and everything it started."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, output: Path) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self._output = output

    @property
    def printed(self) -> str:
        """Everything on its standard output and error so far."""
        return self._output.read_text()

    def address(self, part: str) -> str:
        """What the banner says about a part."""
        found = re.search(rf"^  {part} +(\S+)", self.printed, re.MULTILINE)
        assert found, self.printed
        return found[1]

    def family(self) -> list[psutil.Process]:
        """The command and all processes below it."""
        root = psutil.Process(self.process.pid)
        return [root, *root.children(recursive=True)]

    def children(self, word: str) -> list[psutil.Process]:
        """The processes below the command that have ``word`` in their command lines."""
        return [process for process in self.family()[1:] if any(word in part for part in _command_line(process))]

    def answers(self) -> bool:
        """Whether the API does."""
        return requests.get(f"{self.url}/ping", timeout=5).ok


def _command_line(process: psutil.Process) -> list[str]:
    """Empty for a process that is just ending."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@contextmanager
def running(directory: Path, port: int, *command: str, **variables: str) -> Iterator[Running]:
    """The stack inside the block, started by ``command``, ready to use."""
    output = directory / f"{port}.out"
    with output.open("wb") as sink:
        process = subprocess.Popen(
            command or (sys.executable, "-m", "local", "run"),
            cwd=ROOT,
            env=environment({"PORT": str(port), "TMPDIR": str(directory), **variables}),
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    stack = Running(process, port, output)
    try:
        wait_until(lambda: "Ctrl-C stops" in stack.printed or process.poll() is not None, START_SECONDS)
        assert process.poll() is None, stack.printed
        yield stack
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    """Return once ``is_so`` holds; fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)


def all_gone(processes: list[psutil.Process]) -> bool:
    """Whether none of the processes is left."""
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)
