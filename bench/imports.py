"""Seconds of a fresh interpreter that imports a handler, beside one that imports the bare libraries."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from local.processes import PYTHONPATH, ROOT

from .figures import Figure, percentile, ratio_at_most
from .stage import Stage, environ_for

ROUNDS = 11
GOAL = ratio_at_most(1.15)
PAIRS = {
    "import_api": ("import functions.images.app", "import fastapi, mangum, pymongo"),
    "import_poller": ("import functions.poller.app", "import pymongo, requests"),
}


def run(_stage: Stage) -> Iterator[Figure]:
    """Both in turns; the medians are compared."""
    for name, pair in PAIRS.items():
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for statement, seen in zip(pair, times, strict=True):
                seen.append(_seconds(statement))
        ours, floor = (percentile(seen[1:], 0.5) * 1000 for seen in times)
        yield Figure(name=name, value=ours, unit="ms", baseline=floor, against=f"`{pair[1]}`", goal=GOAL)


def _seconds(statement: str) -> float:
    environ = {"PATH": os.defpath, "PYTHONPATH": PYTHONPATH, **environ_for("mongodb://127.0.0.1:1/", "bench")}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], cwd=ROOT, env=environ, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started
