"""Processes that begin together, as several Lambda containers or servers would."""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any

from .figures import BenchError
from .stage import mute

READY_SECONDS = 120
PRELOADED = ["bench.floor_api", "jimeng_tasks.bootstrap", "jimeng_tasks.http.app", "jimeng_tasks.http.handler"]

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(PRELOADED)


@dataclass(frozen=True, slots=True)
class Race[R]:
    """What each process returned, and the seconds from the common start to the last end."""

    results: list[R]
    seconds: float


def race[R](work: Callable[..., R], lanes: Sequence[tuple[Any, ...]]) -> Race[R]:
    """Run ``work`` once for each tuple of arguments, each in a process; it waits at the barrier when it is ready."""
    gate = CONTEXT.Barrier(len(lanes) + 1)
    pipes = []
    for lane in lanes:
        ours, theirs = CONTEXT.Pipe(duplex=False)
        CONTEXT.Process(target=_run, args=(theirs, gate, work, lane), daemon=True).start()
        theirs.close()
        pipes.append(ours)
    gate.wait(READY_SECONDS)
    started = time.monotonic()
    answers = [_answer(pipe) for pipe in pipes]
    return Race([result for result, _ in answers], max(ended for _, ended in answers) - started)


def _answer(pipe: Connection) -> tuple[Any, float]:
    try:
        result, ended, trouble = pipe.recv()
    except EOFError:
        raise BenchError("a process ended without an answer") from None
    if trouble:
        raise BenchError(trouble)
    return result, ended


def _run(pipe: Connection, gate: Barrier, work: Callable[..., Any], lane: tuple[Any, ...]) -> None:
    mute()
    try:
        result = work(gate, *lane)
        pipe.send((result, time.monotonic(), None))
    except Exception as error:
        gate.abort()
        pipe.send((None, 0.0, f"{type(error).__name__}: {error}"))
