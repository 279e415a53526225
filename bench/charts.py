"""Draws ``docs/performance/*.svg`` from ``results.json`` and the simulation."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pygal
from pygal.style import Style

from local.processes import ROOT

from .cost import Durations, Load, functions, prices, servers
from .simulation import Plant, Steps, simulate

FOLDER = ROOT / "docs" / "performance"
STYLE = Style(
    background="#ffffff",
    plot_background="#ffffff",
    foreground="#333333",
    foreground_strong="#111111",
    guide_stroke_color="#dddddd",
    major_guide_stroke_color="#bbbbbb",
    font_family="sans-serif",
    colors=("#2a6fbb", "#c8553d", "#8a8d91", "#e0a030"),
)
DOTS = {"logarithmic": True, "stroke": False, "dots_size": 7}
"""Bars would begin nowhere on a logarithmic scale."""
SIZE = {"width": 720, "height": 360}
TASKS_PER_DAY = (100, 300, 1_000, 3_000, 10_000, 30_000)
HOURLY = (10, 30, 100, 300, 1_000, 3_000)

type Results = Mapping[str, Mapping[str, Any]]
type Chart = Any


def _options(title: str, y_title: str, **more: Any) -> dict[str, Any]:
    # No scripts, fixed ids: the same numbers must make the same file, and nothing is loaded from elsewhere.
    return {
        "title": title,
        "y_title": y_title,
        "style": STYLE,
        "js": [],
        "no_prefix": True,
        "disable_xml_declaration": True,
        "legend_at_bottom": True,
        **SIZE,
        **more,
    }


def claim_rate(results: Results) -> Chart:
    """Tasks per second by 1, 4 and 8 processes."""
    processes = (1, 4, 8)
    title = "Tasks claimed and moved on per second (log)"
    chart = pygal.Line(**_options(title, "tasks/s", **DOTS, range=(0.1, 10_000)))
    chart.x_labels = [f"{number} processes" for number in processes]
    chart.add("this product", [results[f"claim_rate_{number}"]["value"] for number in processes])
    chart.add("agenda 6", [results[f"claim_rate_{number}"]["baseline"] for number in processes])
    chart.add("the seed without its timer", [results[f"claim_rate_seed_{number}"]["baseline"] for number in processes])
    chart.add("the seed", [results["claim_rate_seed_timer"]["baseline"]] * len(processes))
    return chart


def latency(results: Results) -> Chart:
    """95th percentiles of both requests."""
    names = [f"{name}_{clients}_p95" for name in ("submit_latency", "query_latency") for clients in (1, 8, 32)]
    chart = pygal.Bar(**_options("95th percentile through the handlers", "ms"))
    chart.x_labels = [f"{name.split('_')[0]}, {name.split('_')[2]} clients" for name in names]
    chart.add("this product", [results[name]["value"] for name in names])
    chart.add("bare FastAPI, Mangum, pymongo", [results[name]["baseline"] for name in names])
    return chart


def growth(results: Results) -> Chart:
    """Times by the number of stored tasks, each beside its own time with the fewest."""
    chart = pygal.Line(**_options("Time beside that with the fewest stored tasks", "times", range=(0, 2)))
    sizes = sorted({int(name.split("_")[2]) for name in results if name.startswith("growth_")})
    chart.x_labels = ["fewest", *(f"{size:,}" for size in sizes)]
    for action in ("claim", "tick", "submit", "query"):
        chart.add(action, [1.0, *(results[f"growth_{action}_{size}"]["ratio"] for size in sizes)])
    return chart


def start(results: Results) -> Chart:
    """Seconds from POST to processing."""
    chart = pygal.Line(**_options("From POST to processing at 20 submits a second (log)", "s", **DOTS))
    chart.x_labels = ["p50", "p99"]
    chart.add("this product", [results[f"start_to_processing_{label}"]["value"] for label in ("p50", "p99")])
    chart.add("agenda 6", [results[f"start_to_processing_{label}"]["baseline"] for label in ("p50", "p99")])
    return chart


def queue(results: Results) -> Chart:
    """Simulated queue times of one deployment at several rates."""
    steps = Steps.from_results(results)
    chart = pygal.Line(**_options("Simulated 95th percentile of queue time, 2 services (log)", "s", logarithmic=True))
    chart.x_title = "tasks an hour"
    chart.x_labels = [f"{rate:,}" for rate in HOURLY]
    for slots in (3, 10, 50):
        plant = Plant(slots=slots)
        chart.add(f"{slots} at once", [max(0.01, simulate(rate, plant, steps).queue_p95) for rate in HOURLY])
    return chart


def cost(results: Results) -> Chart:
    """Dollars a month by tasks a day, for two services and tasks of 60 s."""
    took, table = Durations.from_results(results), prices()
    loads = [Load(tasks_per_day=tasks, services=2, median_seconds=60) for tasks in TASKS_PER_DAY]
    chart = pygal.Line(**_options("US dollars a month, 2 services, tasks of 60 s", "$"))
    chart.x_title = "tasks a day"
    chart.x_labels = [f"{tasks:,}" for tasks in TASKS_PER_DAY]
    chart.add("functions", [round(sum(functions(load, took, table).values()), 2) for load in loads])
    chart.add("servers", [round(servers(load, table), 2) for load in loads])
    return chart


SCRIPT = re.compile(r"<script.*?</script>", re.DOTALL)

CHARTS: Mapping[str, Callable[[Results], Chart]] = {
    "claim-rate": claim_rate,
    "latency": latency,
    "growth": growth,
    "start": start,
    "queue": queue,
    "cost": cost,
}


def draw(results: Results, folder: Path = FOLDER) -> list[str]:
    """Write every chart whose figures have been measured; returns the names of the others."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for name, chart in CHARTS.items():
        try:
            svg = chart(results).render(is_unicode=True)
        except KeyError:
            missing.append(name)
            continue
        # The script holds nothing but options for tooltips, and an id that is another one each time.
        (folder / f"{name}.svg").write_text(SCRIPT.sub("", svg) + "\n")
    return missing
