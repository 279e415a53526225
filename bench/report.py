"""Tables: on the terminal, and between the markers of ``docs/performance.md`` and its translation."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from local.processes import ROOT

from .cost import Durations, Load, busy_share, functions, prices, servers
from .simulation import RATES, SETTINGS, Outcome, Plant, Steps, pollers_needed, simulate

DOCUMENTS = (ROOT / "docs" / "performance.md", ROOT / "docs" / "performance.zh-CN.md")
MET = {True: "yes", False: "**no**", None: ""}
MARKED = re.compile(r"(<!-- bench:(\w+) -->\n).*?(<!-- /bench -->)", re.DOTALL)
LOADS = ((100, 2, 60), (1_000, 2, 60), (10_000, 2, 60), (1_000, 2, 600))

type Results = Mapping[str, Mapping[str, Any]]


def number(value: float | None) -> str:
    """A number for a table, with three significant digits."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def show(results: Results, names: list[str] | None = None) -> None:
    """Print the figures, or only those named."""
    table = Table(title="Measured beside what a user would take instead")
    for title in ("figure", "value", "unit", "baseline", "ratio", "beside", "goal", "met"):
        table.add_column(title, justify="right" if title in ("value", "baseline", "ratio") else "left")
    for name in names or sorted(results):
        it = results[name]
        cells = (number(it["value"]), it["unit"], number(it["baseline"]), number(it["ratio"]), it["against"])
        met = {True: "yes", False: "[bold red]no[/]", None: ""}[it["met"]]
        table.add_row(name, *cells, it["goal"] or "", met)
    Console(width=160).print(table)


def _markdown(titles: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join(["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|", *lines])


def figures(results: Results) -> str:
    """All figures: how many times the baseline, and the goal."""

    def rows() -> Iterator[tuple[str, ...]]:
        for name, it in sorted(results.items()):
            measured = f"{number(it['value'])} {it['unit']}"
            command = f"`{it['command']}`"
            yield name, measured, number(it["ratio"]), it["against"], it["goal"] or "", MET[it["met"]], command

    return _markdown(("figure", "measured", "ratio", "beside", "goal", "met", "command"), rows())


def simulated(results: Results) -> str:
    """The default deployment at each rate, then what is enough."""
    steps = Steps.from_results(results)
    titles = ("tasks an hour", "deployment", "queue p50, s", "queue p95, s", "MongoDB commands/s", "provider calls/s")
    return _markdown((*titles, "first wall", "share of it", "what moves it"), _simulations(steps))


def _simulations(steps: Steps) -> Iterator[tuple[str, ...]]:
    for rate in RATES:
        yield _simulation(rate, "2 services, 3 at once (default)", simulate(rate, Plant(), steps))
        for slots in (3, 50):
            enough = pollers_needed(rate, Plant(slots=slots, choice="better of two"), steps)
            if enough:
                services, outcome = enough
                yield _simulation(rate, f"{services:,} services, {slots} at once", outcome)


def _simulation(rate: float, deployment: str, it: Outcome) -> tuple[str, ...]:
    times = (number(it.queue_p50), number(it.queue_p95))
    rates = (number(it.commands_per_second), number(it.provider_calls_per_second))
    return f"{rate:,}", deployment, *times, *rates, it.wall, f"{it.shares[it.wall]:.0%}", SETTINGS[it.wall]


def choices(results: Results) -> str:
    """How many services are enough with each way to choose a task's service."""
    steps = Steps.from_results(results)

    def rows() -> Iterator[tuple[str, ...]]:
        for choice in ("least", "any", "better of two"):
            enough = pollers_needed(1_000, Plant(choice=choice), steps)
            yield choice, f"{enough[0]}" if enough else "no number is enough"

    return _markdown(("choice", "services of 3 for 1,000 tasks an hour"), rows())


def costs(results: Results) -> str:
    """The month's bill of some loads."""
    took, table = Durations.from_results(results), prices()

    def rows() -> Iterator[tuple[str, ...]]:
        for tasks, services, median in LOADS:
            load = Load(tasks_per_day=tasks, services=services, median_seconds=median)
            bill = functions(load, took, table)
            total, rest = sum(bill.values()), servers(load, table)
            command = f"`make cost TASKS_PER_DAY={tasks} SERVICES={services} MEDIAN_SECONDS={median}`"
            share = f"{busy_share(load):.0%}"
            yield (
                f"{tasks:,}",
                f"{services}",
                f"{median}",
                share,
                f"{bill['pollers'] / total:.0%}",
                f"{total / rest:.2f}",
                command,
            )

    titles = (
        "tasks a day",
        "services",
        "seconds of a task",
        "day with work",
        "pollers' part",
        "times the servers",
        "command",
    )
    return _markdown(titles, rows())


TABLES = {"figures": figures, "simulation": simulated, "choices": choices, "cost": costs}


def write(results: Results, documents: tuple[Path, ...] = DOCUMENTS) -> None:
    """Put every table whose figures have been measured between its markers."""
    tables: dict[str, str] = {}
    for name, table in TABLES.items() if results else ():
        try:
            tables[name] = table(results)
        except KeyError:
            continue
    for document in documents:
        document.write_text(_filled(document.read_text(), tables))


def _filled(text: str, tables: Mapping[str, str]) -> str:
    def put(marked: re.Match[str]) -> str:
        begin, name, end = marked.groups()
        return f"{begin}{tables[name]}\n{end}" if name in tables else marked[0]

    return MARKED.sub(put, text)
