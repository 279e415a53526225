"""``python -m bench``: run the benchmarks, print one table, write ``bench/results.json``, the charts and the documents.

``ROWS`` names some benchmarks instead of all, ``BENCH_SCALE`` (1) shrinks the numbers of tasks for a quick try: such a
run is printed, but not kept.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator

from local.mongodb import running_mongod

from . import (
    agenda_queue,
    charts,
    claim_rate,
    growth,
    idle_cost,
    imports,
    insert_floor,
    latency,
    overhead,
    plans,
    report,
    start_to_processing,
    tick,
    transfer,
)
from .figures import BenchError, Figure, save
from .stage import Stage
from .stored import fill_finished

type Row = Callable[[Stage], Iterator[Figure]]

ROWS: dict[str, Row] = {
    "import": imports.run,
    "idle_cost": idle_cost.run,
    "insert_floor": insert_floor.run,
    "claim_rate": claim_rate.run,
    "tick_1000": tick.run,
    "submit_latency": latency.submit_latency,
    "start_to_processing": start_to_processing.run,
    "overhead": overhead.run,
    "transfer": transfer.run,
    "query_latency": latency.query_latency,
    "claim_plan": plans.run,
    "growth": growth.run,
}
FULL_STORES = {"query_latency", "claim_plan", "growth"}
"""Benchmarks that need the stores with finished tasks; they come last, since filling takes a while."""


def main() -> int:
    """Run; returns 1 when a benchmark broke, whose old figures then stay, or a name is unknown."""
    names = os.environ.get("ROWS", "").replace(",", " ").split() or list(ROWS)
    if unknown := set(names) - ROWS.keys():
        return _complain(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    scale = float(os.environ.get("BENCH_SCALE") or 1)
    agenda_queue.install()
    if reason := agenda_queue.missing():
        print(reason)
    wanted = [name for name in ROWS if name in names]
    with running_mongod() as uri:
        measured = _measure(Stage(uri, scale), wanted)
    _publish(measured, is_kept=scale == 1)
    broken = [name for name in wanted if name not in measured]
    return _complain(f"without figures: {', '.join(broken)}; the reasons are above") if broken else 0


def _complain(message: str) -> int:
    sys.stderr.write(f"error: {message}\n")
    return 1


def _measure(stage: Stage, names: list[str]) -> dict[str, list[Figure]]:
    measured: dict[str, list[Figure]] = {}
    is_filled = False
    for name in names:
        if name in FULL_STORES and not is_filled:
            _fill(stage)
            is_filled = True
        started = time.monotonic()
        print(f"{name} ...", flush=True)
        try:
            measured[name] = list(ROWS[name](stage))
        except BenchError as error:
            print(f"{name} broke: {error}")
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    return measured


def _fill(stage: Stage) -> None:
    started = time.monotonic()
    for number, database in stage.stores.items():
        fill_finished(stage, database, number)
    print(f"stores of {', '.join(f'{number:,}' for number in stage.stores)} tasks: {time.monotonic() - started:.0f} s")


def _publish(measured: dict[str, list[Figure]], *, is_kept: bool) -> None:
    if not is_kept:
        report.show({figure.name: figure.record(row) for row, figures in measured.items() for figure in figures})
        return
    results = save(measured)
    report.show(results)
    report.write(results)
    charts.draw(results)
    print("written: bench/results.json, docs/performance.md, docs/performance.zh-CN.md, docs/performance/*.svg")


if __name__ == "__main__":
    sys.exit(main())
