"""What a benchmark reports, whether it reached its goal, and where results are kept."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")
AT_MOST = "at most"
AT_LEAST = "at least"


class BenchError(Exception):
    """A benchmark found the product, or what it is compared with, doing something wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The limit of a figure's ``value`` or ``ratio``."""

    of: str
    bound: str
    limit: float

    def is_met(self, figure: "Figure") -> bool:
        """Whether the figure keeps the limit; a figure that could not be compared does not."""
        measured = getattr(figure, self.of)
        if measured is None:
            return False
        return bool(measured <= self.limit if self.bound == AT_MOST else measured >= self.limit)

    def __str__(self) -> str:
        return f"{self.of} {self.bound} {self.limit:g}"


def ratio_at_most(limit: float) -> Goal:
    """The value may be at most ``limit`` times the baseline."""
    return Goal(of="ratio", bound=AT_MOST, limit=limit)


def ratio_at_least(limit: float) -> Goal:
    """The value must be at least ``limit`` times the baseline."""
    return Goal(of="ratio", bound=AT_LEAST, limit=limit)


def value_at_most(limit: float) -> Goal:
    """The value itself may be at most ``limit`` of its unit."""
    return Goal(of="value", bound=AT_MOST, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number. ``ratio`` is value by baseline; ``against`` says what the baseline is."""

    name: str
    value: float
    unit: str
    baseline: float | None
    against: str
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the baseline the value is; None without a baseline."""
        return self.value / self.baseline if self.baseline else None

    def record(self, row: str) -> dict[str, Any]:
        """The figure as ``results.json`` keeps it, with the command that measures it again."""
        return {
            "value": rounded(self.value),
            "unit": self.unit,
            "baseline": rounded(self.baseline),
            "ratio": rounded(self.ratio),
            "command": f"make bench ROWS={row}",
            "against": self.against,
            "goal": str(self.goal) if self.goal else None,
            "met": self.goal.is_met(self) if self.goal else None,
        }


def rounded(number: float | None) -> float | None:
    """A number with four significant digits: more of them would only be noise."""
    return None if number is None else float(f"{number:.4g}")


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that ``share`` (0 to 1) of all values do not exceed."""
    ordered = sorted(values)
    if not ordered:
        raise BenchError("nothing was measured")
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def load(path: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """The results that are kept; none before the first run."""
    results: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    return results


def save(measured: Mapping[str, Sequence[Figure]], path: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Put the figures of each row in the place of that row's old ones; returns all results."""
    renewed = {f"make bench ROWS={row}" for row in measured}
    results = {name: record for name, record in load(path).items() if record["command"] not in renewed}
    results |= {figure.name: figure.record(row) for row, figures in measured.items() for figure in figures}
    path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    return results
