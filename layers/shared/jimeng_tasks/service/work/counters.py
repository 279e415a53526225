"""What one invocation did, counted from several threads."""

from collections import Counter
from threading import Lock

COUNTERS = (
    "ticks",
    "claimed",
    "submitted",
    "polled",
    "completed",
    "failed",
    "retried",
    "timed_out",
    "claims_lost",
    "cleaned",
)


class Counters:
    """Counters of the poller's summary."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, name: str, value: int = 1) -> None:
        """Add to one counter."""
        with self._lock:
            self._counts[name] += value

    def snapshot(self) -> dict[str, int]:
        """Every counter of `COUNTERS`, zeros included."""
        with self._lock:
            return {name: self._counts[name] for name in COUNTERS}
