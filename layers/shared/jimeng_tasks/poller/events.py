"""What an invocation of the poller asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jimeng_tasks.exceptions import RequestError

SCHEDULE_SOURCES = ("aws.scheduler", "aws.events", "schedule")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One invocation: ``only`` restricts it to those tasks, ``ticks`` bounds it; a kick says that a task was posted."""

    only: tuple[str, ...] | None = None
    ticks: int | None = None
    is_kick: bool = False


def is_warmer(event: Any) -> bool:
    """Whether the event only keeps the container warm."""
    return isinstance(event, Mapping) and event.get("warmer") is True


def parse(event: Any) -> Assignment:
    """Read a schedule event, a kick ``{"kick": task_id}``, a replay ``{"task_ids": [...], "ticks": 1}`` or ``{}``.

    Raises:
        RequestError: the event is of none of these kinds; only its top-level keys are named.
    """
    if not isinstance(event, Mapping):
        raise RequestError(f"the event must be an object, not {type(event).__name__}")
    known = {"task_ids", "ticks", "kick"} & event.keys()
    if event and not known and event.get("source") not in SCHEDULE_SOURCES:
        raise RequestError(
            f"unknown event with the keys {', '.join(sorted(map(str, event)))}: "
            'send a schedule event, {"kick": "TASK"}, {"task_ids": ["TASK"], "ticks": 1} or {}'
        )
    return Assignment(only=_task_ids(event), ticks=_ticks(event), is_kick="kick" in event)


def _task_ids(event: Mapping[str, Any]) -> tuple[str, ...] | None:
    if "task_ids" not in event:
        return None
    task_ids = event["task_ids"]
    if not isinstance(task_ids, list) or not task_ids or not all(isinstance(item, str) for item in task_ids):
        raise RequestError("task_ids must be a list of at least one task id")
    return tuple(task_ids)


def _ticks(event: Mapping[str, Any]) -> int | None:
    ticks = event.get("ticks")
    if ticks is not None and (type(ticks) is not int or ticks < 1):
        raise RequestError("ticks must be a whole number of at least 1")
    return ticks
