"""Structured logs and EMF metrics, by Powertools; every line passes the redaction."""

import json
import logging
from collections import defaultdict
from threading import Lock
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from .redaction import redact

LOGGER = "jimeng_tasks"
NAMESPACE = "JimengTasks"
VALUES_PER_METRIC = 99  # the embedded metric format takes 100, Powertools warns before that
MAX_FIELD = 4000  # characters of one field of a log line

type Dimensions = tuple[tuple[str, str], ...]


def _serialize(record: dict[str, Any]) -> str:
    return redact(json.dumps(_cut(record), default=str, ensure_ascii=False))


def _cut(value: Any) -> Any:
    """The value with every text in it cut to `MAX_FIELD`: a picture or a page of HTML has no place in a log."""
    if isinstance(value, dict):
        return {key: _cut(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(member) for member in value]
    text = value if isinstance(value, str | int | float | None) else str(value)
    if isinstance(text, str) and len(text) > MAX_FIELD:
        return f"{text[:MAX_FIELD]}... ({len(text)} characters)"
    return text


def configure_logging(level: str) -> None:
    """Make every logger below ``jimeng_tasks`` write redacted JSON lines. Repeatable."""
    Logger(service=LOGGER, level=level, json_serializer=_serialize, utc=True)
    logging.getLogger(LOGGER).propagate = False


class EmfMetrics:
    """Collects metrics of an invocation and writes them as embedded metric format, one blob per set of dimensions.

    ``service`` is a dimension of every metric.
    """

    def __init__(self, service: str) -> None:
        self._service = service
        self._counts: defaultdict[Dimensions, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._times: defaultdict[Dimensions, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._lock = Lock()

    def count(self, name: str, value: float = 1, **dimensions: str) -> None:
        """Add ``value`` to the counter ``name``."""
        with self._lock:
            self._counts[tuple(sorted(dimensions.items()))][name] += value

    def seconds(self, name: str, value: float, **dimensions: str) -> None:
        """Record a duration in seconds; beyond 99 of one kind in an invocation the rest is left out."""
        with self._lock:
            times = self._times[tuple(sorted(dimensions.items()))][name]
            if len(times) < VALUES_PER_METRIC:
                times.append(value)

    def flush(self) -> None:
        """Write everything collected to standard output and start anew."""
        with self._lock:
            counts, times = dict(self._counts), dict(self._times)
            self._counts.clear()
            self._times.clear()
        for dimensions in counts.keys() | times.keys():
            self._write(dimensions, counts.get(dimensions, {}), times.get(dimensions, {}))

    def _write(self, dimensions: Dimensions, counts: Any, times: Any) -> None:
        blob = EphemeralMetrics(namespace=NAMESPACE, service=self._service)
        for name, value in dimensions:
            blob.add_dimension(name, value)
        for name, value in counts.items():
            blob.add_metric(name, MetricUnit.Count, value)
        for name, values in times.items():
            for value in values:
                blob.add_metric(name, MetricUnit.Seconds, value)
        blob.flush_metrics()
