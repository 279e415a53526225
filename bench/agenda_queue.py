"""agenda 6, the job queue on MongoDB that most Node programs take, run from the packages of ``bench/agenda``."""

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from .figures import BenchError

HOME = Path(__file__).with_name("agenda")
PATIENCE = 60.0
README = "agenda 6 as its README sets it up"


@dataclass(frozen=True, slots=True)
class Run:
    """A job that was run: its number, and the milliseconds from its storing to its start."""

    number: int
    waited_ms: int


def missing() -> str | None:
    """Why agenda cannot run here; None when it can."""
    if not shutil.which("node"):
        return "agenda was not run: there is no node here"
    if not (HOME / "node_modules" / "agenda").is_dir():
        return "agenda was not run: npm could not install it"
    return None


def install() -> None:
    """Install the locked packages unless they are there; `missing` tells when that failed."""
    installed = HOME / "node_modules" / ".package-lock.json"
    lock = HOME / "package-lock.json"
    if not shutil.which("npm") or (installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime):
        return
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=HOME, check=False)


def address(uri: str, database: str) -> str:
    """The mongod's address with the database in its path, where agenda looks for it."""
    return uri.replace("/?", f"/{database}?")


def node(*arguments: str) -> subprocess.Popen[str]:
    """Start ``work.mjs``."""
    return subprocess.Popen(
        ["node", "work.mjs", *arguments], cwd=HOME, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> None:
    """Wait for a process that ends by itself."""
    with process:
        if process.wait(PATIENCE):
            raise BenchError("agenda's process failed")


@contextmanager
def workers(uri: str, number: int, *options: str) -> Iterator["Workers"]:
    """Agenda processes that are ready to begin, killed at the end."""
    processes = [node("work", uri, *options) for _ in range(number)]
    try:
        yield Workers(processes)
    finally:
        for process in processes:
            process.kill()
            with process:
                process.wait()


class Workers:
    """Running agenda processes and what they have done."""

    def __init__(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        self._processes = processes
        self.runs: list[Run] = []
        for process in processes:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise BenchError("agenda did not start")

    def begin(self) -> None:
        """Let all of them start together."""
        for process in self._processes:
            Thread(target=self._read, args=(process,), daemon=True).start()
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()

    def wait_for(self, number: int, patience: float = PATIENCE) -> float:
        """Return the seconds until this many jobs were run.

        Raises:
            BenchError: agenda did not run them in time, or ran one twice.
        """
        started = time.monotonic()
        while len(self.runs) < number:
            if time.monotonic() - started > patience:
                raise BenchError(f"agenda ran {len(self.runs)} of {number} jobs in {patience:.0f} s")
            time.sleep(0.002)
        if len({run.number for run in self.runs}) != number:
            raise BenchError("agenda ran a job twice")
        return time.monotonic() - started

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            number, waited = line.split()
            self.runs.append(Run(int(number), int(waited)))
