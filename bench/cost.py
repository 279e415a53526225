"""``make cost``: US dollars a month, from measured durations and list prices, beside the servers that are replaced.

MongoDB, the object storage and the traffic to it are left out: both ways need the same.
"""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .figures import load

PRICES = Path(__file__).with_name("prices.json")
DAYS = 30.4
MINUTES_PER_DAY = 1440
SECONDS_PER_DAY = 86_400
HALF_A_POLL = 5.0
"""A task stays with its poller for half a poll interval after the provider is done."""
MEASURED = {
    "submit_ms": "submit_latency_1_p50",
    "query_ms": "query_latency_1_p50",
    "idle_ms": "idle_cost",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked of a deployment; ``median_seconds`` is how long the provider generates."""

    tasks_per_day: float
    services: int
    median_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Measured milliseconds, on a full core."""

    submit_ms: float
    query_ms: float
    idle_ms: float

    @classmethod
    def from_results(cls, results: Mapping[str, Mapping[str, Any]]) -> "Durations":
        """Those of ``results.json``; raises KeyError with the missing figure's name."""
        return cls(**{name: results[figure]["value"] for name, figure in MEASURED.items()})


def prices() -> dict[str, Any]:
    """The table of list prices and assumptions."""
    table: dict[str, Any] = json.loads(PRICES.read_text())
    return table


def busy_share(load: Load) -> float:
    """Share of the day in which a service has at least one task running, for tasks that come at random."""
    running = load.tasks_per_day / load.services / SECONDS_PER_DAY * (load.median_seconds + HALF_A_POLL)
    return 1 - math.exp(-running)


def functions(
    load: Load, took: Durations, table: Mapping[str, Any], *, architecture: str = "x86_64"
) -> dict[str, float]:
    """Dollars a month of the deployment, by what they are paid for."""
    usd, assumed = table["usd"], table["assumptions"]
    gb_second = usd[f"lambda_gb_second_{architecture}"]
    tasks = load.tasks_per_day * DAYS
    requests = tasks * (1 + assumed["queries_per_task"])
    schedules = load.services * MINUTES_PER_DAY * DAYS
    api_seconds = tasks * (took.submit_ms + assumed["queries_per_task"] * took.query_ms) / 1000
    invocations = requests + schedules + tasks
    return {
        "API functions": api_seconds * _stretched(assumed, "api") * gb_second + requests * usd["lambda_request"],
        "pollers": _poller_seconds(load, took, assumed) * assumed["poller_memory_mb"] / 1024 * gb_second
        + (schedules + tasks) * usd["lambda_request"],
        "HTTP API": requests * usd["http_api_request"],
        "schedules": schedules * usd["scheduler_invocation"],
        "logs": invocations * assumed["log_bytes_per_invocation"] / 1e9 * usd["log_gigabyte"],
        **_fixed(load.services, usd, assumed),
    }


def _fixed(services: int, usd: Mapping[str, float], assumed: Mapping[str, int]) -> dict[str, float]:
    """What is paid for by the month, however much is done."""
    metrics = services * assumed["metrics_per_service"] + assumed["other_metrics"]
    alarms = services * assumed["alarms_per_service"] + assumed["other_alarms"]
    return {
        "metrics": metrics * usd["metric_month"],
        "alarms, dashboard": alarms * usd["alarm_month"] + usd["dashboard_month"],
        "secret": usd["secret_month"],
    }


def _poller_seconds(load: Load, took: Durations, assumed: Mapping[str, Any]) -> float:
    """Billed seconds a month: a poller stays while a task is active; else it looks once a minute and leaves."""
    busy = busy_share(load)
    slower = _slower(assumed["poller_memory_mb"], assumed)
    idle = (1 - busy) * MINUTES_PER_DAY * took.idle_ms / 1000 * slower
    kick_seconds: float = assumed["kick_seconds"]
    return DAYS * (load.services * (busy * SECONDS_PER_DAY + idle) + load.tasks_per_day * kick_seconds)


def _stretched(assumed: Mapping[str, Any], kind: str) -> float:
    """Gigabytes times how much longer everything takes on the share of a core that comes with them."""
    memory: float = assumed[f"{kind}_memory_mb"]
    return memory / 1024 * _slower(memory, assumed)


def _slower(memory: float, assumed: Mapping[str, Any]) -> float:
    full_core: float = assumed["full_core_memory_mb"]
    return max(1.0, full_core / memory)


def servers(load: Load, table: Mapping[str, Any]) -> float:
    """Dollars a month of the servers that are replaced."""
    usd = table["usd"]
    each = usd["server_hour"] * 24 * DAYS + usd["disk_gigabyte_month"] * table["assumptions"]["disk_gigabytes"]
    return float(load.services * each)


def main(arguments: list[str]) -> int:
    """Print the month's bill for TASKS_PER_DAY SERVICES MEDIAN_SECONDS."""
    try:
        tasks, services, median = (float(argument) for argument in arguments)
        load_asked = Load(tasks_per_day=tasks, services=int(services), median_seconds=median)
        if min(tasks, median) <= 0 or services < 1:
            raise ValueError
    except ValueError:
        sys.stderr.write("error: give numbers above 0: make cost TASKS_PER_DAY=1000 SERVICES=2 MEDIAN_SECONDS=60\n")
        return 1
    try:
        took = Durations.from_results(load())
    except KeyError as missing:
        sys.stderr.write(f"error: {missing} has not been measured: run `make bench` first\n")
        return 1
    _show(load_asked, took)
    return 0


def _show(load_asked: Load, took: Durations) -> None:
    table = prices()
    bill = functions(load_asked, took, table)
    rest = servers(load_asked, table)
    total = sum(bill.values())
    shown = Table(title=f"US dollars a month ({table['region']}, list prices of {table['date']})")
    shown.add_column("what")
    shown.add_column("dollars", justify="right")
    for what, dollars in bill.items():
        shown.add_row(what, f"{dollars:.2f}")
    shown.add_section()
    shown.add_row("together", f"{total:.2f}")
    shown.add_row(f"{load_asked.services} servers instead ({table['assumptions']['server']})", f"{rest:.2f}")
    shown.add_row("times the servers", f"{total / rest:.2f}")
    Console(width=110).print(shown)
    print(f"Each poller has a task for {busy_share(load_asked):.0%} of the day, and is billed for that time.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
