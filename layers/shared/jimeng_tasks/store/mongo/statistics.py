"""Numbers for operators, read from indexes."""

from collections import Counter
from typing import Any

from jimeng_tasks.domain.statistics import TaskStats
from jimeng_tasks.domain.task import RUNNING, TERMINAL, TaskStatus
from jimeng_tasks.store.documents import stored_number

from .connection import Collections, store_call

RECENT_SECONDS = 3600


class Statistics(Collections):
    """Counting."""

    @store_call
    def stats(self, server_id: str | None, now: int) -> TaskStats:
        """Counts of one service or of all. The mean time of a task is from its creation to its end."""
        # A bound that every name meets keeps the count of all services inside the index.
        chosen = {"server_id": server_id or {"$gt": ""}}
        per_status = dict.fromkeys(TaskStatus, 0)
        load: Counter[str] = Counter()
        for (server, status), count in self._counts(chosen).items():
            per_status[status] += count
            if status in RUNNING:
                load[server] += count
        # Here that bound would lead the planner past the index by time, so all services have no condition at all.
        ended, failed, seconds = self._recent({"server_id": server_id} if server_id else {}, now)
        oldest = self._oldest_pending(chosen)
        return TaskStats(
            per_status=per_status,
            load_per_server=load,
            oldest_pending_age=None if oldest is None else max(0, now - oldest),
            mean_task_seconds=seconds / ended if ended else None,
            error_rate=failed / ended if ended else None,
        )

    def _counts(self, chosen: dict[str, Any]) -> dict[tuple[str, TaskStatus], int]:
        key = {"server": "$server_id", "status": "$status"}
        known = {**chosen, "status": {"$in": [status.value for status in TaskStatus]}}
        groups = self._tasks.aggregate([{"$match": known}, {"$group": {"_id": key, "count": {"$sum": 1}}}])
        return {(group["_id"]["server"], TaskStatus(group["_id"]["status"])): group["count"] for group in groups}

    def _oldest_pending(self, chosen: dict[str, Any]) -> int | None:
        pending = {**chosen, "status": TaskStatus.PENDING.value}
        oldest = {"_id": None, "created_at": {"$min": stored_number("created_at", None)}}
        group = next(iter(self._tasks.aggregate([{"$match": pending}, {"$group": oldest}])), None)
        return None if group is None else group["created_at"]

    def _recent(self, chosen: dict[str, Any], now: int) -> tuple[int, int, float]:
        """How many tasks ended in the last hour, how many of them failed, and the sum of their times."""
        names = [status.value for status in TERMINAL]
        recent = {**chosen, "status": {"$in": names}, "updated_at": {"$gt": now - RECENT_SECONDS}}
        ended_at = stored_number("completed_at", "$updated_at")
        took = {"$subtract": [ended_at, stored_number("created_at", ended_at)]}
        totals = {"_id": "$status", "count": {"$sum": 1}, "seconds": {"$sum": took}}
        groups = {group["_id"]: group for group in self._tasks.aggregate([{"$match": recent}, {"$group": totals}])}
        failed = groups.get(TaskStatus.FAILED.value, {"count": 0})["count"]
        return sum(group["count"] for group in groups.values()), failed, sum(g["seconds"] for g in groups.values())
