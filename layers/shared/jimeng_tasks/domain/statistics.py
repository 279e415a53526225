"""Numbers for operators."""

from collections.abc import Mapping
from dataclasses import dataclass

from .task import TaskStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStats:
    """Counts over the stored tasks of one service or of all.

    Ages and times in seconds. ``mean_task_seconds`` and ``error_rate`` are taken over tasks that ended in the last
    hour; None when none did.
    """

    per_status: Mapping[TaskStatus, int]
    load_per_server: Mapping[str, int]
    oldest_pending_age: int | None
    mean_task_seconds: float | None
    error_rate: float | None
