"""Metrics as CloudWatch would take them from a log, and as alarms and dashboards ask for them."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

NAMESPACE = "JimengTasks"
SEARCH = re.compile(r"SEARCH\('\{(\w+),([\w,]+)\} service=\"([^\"]+)\" MetricName=\"(\w+)\"'")


@dataclass(frozen=True)
class Metric:
    """A metric by its name and the names of its dimensions."""

    name: str
    dimensions: frozenset[str]


def written(log: str) -> Iterator[tuple[Metric, dict[str, Any]]]:
    """Every metric of the product in a log, each with its line."""
    for line in log.splitlines():
        if '"_aws"' not in line:
            continue
        blob = json.loads(line[line.index("{") :])
        for directive in blob["_aws"]["CloudWatchMetrics"]:
            assert directive["Namespace"] == NAMESPACE
            for dimensions in directive["Dimensions"]:
                for metric in directive["Metrics"]:
                    yield Metric(metric["Name"], frozenset(dimensions)), blob


def watched(alarms: Iterable[dict[str, Any]]) -> Iterator[tuple[Metric, dict[str, str]]]:
    """The metrics of the product that alarms look at, each with the values of its dimensions."""
    for alarm in alarms:
        if alarm["Namespace"] == NAMESPACE:
            values = {dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]}
            yield Metric(alarm["MetricName"], frozenset(values)), values


def shown(widgets: Iterable[dict[str, Any]]) -> Iterator[tuple[Metric, str]]:
    """The metrics of the product that a dashboard shows, each with the service it asks for."""
    for widget in widgets:
        for row in widget["properties"]["metrics"]:
            if isinstance(row[0], dict):
                for namespace, dimensions, service, name in SEARCH.findall(row[0]["expression"]):
                    assert namespace == NAMESPACE
                    yield Metric(name, frozenset(dimensions.split(","))), service
            elif row[0] == NAMESPACE:
                values = dict(zip(row[2:-1:2], row[3:-1:2], strict=True))
                yield Metric(row[1], frozenset(values)), values["service"]
