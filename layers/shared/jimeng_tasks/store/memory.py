"""The store inside one process (``USE_DATABASE_MODE=false``): the seed's two caches behind the same protocol."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from threading import RLock
from typing import ClassVar
from uuid import uuid4

from jimeng_tasks.domain.ports import IdSource, TaskStore
from jimeng_tasks.domain.statistics import TaskStats
from jimeng_tasks.domain.task import RUNNING, Result, SubmitPhase, Task, TaskStatus, TaskType, reference_urls
from jimeng_tasks.domain.workload import Server, TaskRef, Workload
from jimeng_tasks.exceptions import ClaimLost

RECENT_SECONDS = 3600


class TaskCache:
    """The tasks of one kind and their results, by task id, oldest first."""

    task_type: ClassVar[TaskType]

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.results: dict[str, Result] = {}


class ImagesTaskCache(TaskCache):
    """Image tasks."""

    task_type = TaskType.IMAGE


class VideoTaskCache(TaskCache):
    """Video tasks."""

    task_type = TaskType.VIDEO


@dataclass(frozen=True, slots=True)
class Lease:
    """Who runs the poller loop of a service, and until when."""

    owner: str
    until: int


class MemoryTaskStore(TaskStore):
    """Keeps everything in this process, for its threads; a restart loses it."""

    def __init__(self, new_id: IdSource = lambda: str(uuid4())) -> None:
        self._new_id = new_id
        self._caches = {cache.task_type: cache for cache in (ImagesTaskCache(), VideoTaskCache())}
        self._numbers = count()
        self._arrivals: dict[str, int] = {}
        self._servers: dict[str, Server] = {}
        self._leases: dict[str, Lease] = {}
        self._cleaned_at: int | None = None
        self._lock = RLock()

    def prepare(self) -> None:
        """Nothing is needed."""

    def ping(self) -> None:
        """Memory always serves."""

    # -- the API's side

    def submit(self, task: Task) -> Task:
        """Keep a new task; if its id is taken already, return the kept task instead."""
        with self._lock:
            known = self.get(task.task_id)
            if known is None:
                self._arrivals[task.task_id] = next(self._numbers)
                self._keep(task)
            return known or task

    def get(self, task_id: str) -> Task | None:
        """The task with this id."""
        with self._lock:
            found = (cache.tasks.get(task_id) for cache in self._caches.values())
            return next((task for task in found if task), None)

    def within(self, _seconds: float) -> AbstractContextManager[object]:
        """Nothing here takes time."""
        return nullcontext()

    def references(self, task_id: str) -> list[str]:
        """Addresses of a task's input pictures, in order."""
        task = self.get(task_id)
        return reference_urls(task.original_params) if task else []

    def hand_out(self, task_id: str, now: int, grace: int) -> Result | None:
        """Give a result away; of several readers without ``grace`` only one gets it."""
        with self._lock:
            cache = next((cache for cache in self._caches.values() if task_id in cache.results), None)
            if cache is None or cache.results[task_id].expires_at < now:
                return None
            result = cache.results.pop(task_id)
            if grace > 0:
                cache.results[task_id] = replace(result, expires_at=min(result.expires_at, now + grace))
            task = self.get(task_id)
            if task and task.consumed_at is None:
                self._keep(replace(task, consumed_at=now))
            return result

    # -- the pollers' side

    def survey(self, server_id: str, pending_limit: int, task_ids: Collection[str] | None = None) -> Workload:
        """Running tasks of a service and its oldest pending ones."""
        with self._lock:
            mine = [task for task in self._chosen(None) if task.server_id == server_id]
            pending = [task for task in mine if task.status is TaskStatus.PENDING and _is_among(task, task_ids)]
            pending.sort(key=lambda task: (task.next_poll_at or 0, self._arrivals[task.task_id]))
            return Workload(
                running=tuple(_ref(task) for task in mine if task.status in RUNNING),
                pending=tuple(_ref(task) for task in pending[:pending_limit]),
            )

    def claim_pending(
        self, server_id: str, refs: Sequence[TaskRef], slots: Sequence[int], now: int, lease: int
    ) -> list[Task]:
        """Move due pending tasks to ``processing``, each on a slot that no other task of the service has."""
        with self._lock:
            claim_id = self._new_id()
            claimed = []
            for ref, slot in zip(refs, slots, strict=False):
                task = self.get(ref.task_id)
                if task is None or not _is_startable(task, server_id, now):
                    continue
                if slot in self._slots(server_id):
                    break
                claimed.append(self._keep(self._started(task, claim_id, slot, now, lease)))
            return claimed

    def _started(self, task: Task, claim_id: str, slot: int, now: int, lease: int) -> Task:
        internal = task.internal_params
        return replace(
            task,
            status=TaskStatus.PROCESSING,
            claim_id=claim_id,
            slot=slot,
            submit_phase=SubmitPhase.PREPARING,
            internal_params=replace(internal, submit_id=internal.submit_id or self._new_id()),
            started_at=now,
            deadline_at=now + task.task_timeout,
            next_poll_at=now + lease,
            updated_at=now,
        )

    def claim_due(self, refs: Sequence[TaskRef], now: int, lease: int) -> list[Task]:
        """Take a fresh claim on running tasks that are still due."""
        with self._lock:
            tasks = [self.get(ref.task_id) for ref in refs]
            due = [task for task in tasks if task and task.status in RUNNING and _is_due(task, now)]
            return self._claim(due, now, lease)

    def claim_overdue(self, now: int, limit: int, lease: int, task_ids: Collection[str] | None = None) -> list[Task]:
        """Claim active tasks of any service past their deadline that nobody holds."""
        with self._lock:
            overdue = [
                task
                for task in self._chosen(task_ids)
                if not task.is_terminal and task.deadline_at <= now and (task.claim_id is None or _is_due(task, now))
            ]
            return self._claim(overdue[:limit], now, lease)

    def _claim(self, tasks: Iterable[Task], now: int, lease: int) -> list[Task]:
        claim_id = self._new_id()
        until = now + lease
        return [self._keep(replace(task, claim_id=claim_id, next_poll_at=until, updated_at=now)) for task in tasks]

    def save(self, before: Task, after: Task) -> None:
        """Keep the progress of a claimed task.

        Raises:
            ClaimLost: another poller owns the task now, or it has ended; nothing was written.
        """
        with self._lock:
            kept = self.get(before.task_id)
            if kept is None or before.claim_id is None or not _same_claim(kept, before):
                raise ClaimLost(f"the claim on task {before.task_id} was lost")
            self._keep(after)

    def save_many(self, changes: Sequence[tuple[Task, Task]]) -> int:
        """`save` for many tasks; returns how many claims were lost."""
        lost = 0
        for before, after in changes:
            try:
                self.save(before, after)
            except ClaimLost:
                lost += 1
        return lost

    def finish(self, before: Task, after: Task, result: Result) -> None:
        """End a claimed task and keep its one result.

        Raises:
            ClaimLost: another poller owns the task now, or it has ended; nothing was written.
        """
        with self._lock:
            self.save(before, replace(after, claim_id=None, slot=None, next_poll_at=None))
            self._caches[result.task_type].results[result.task_id] = result

    # -- servers and upkeep

    def heartbeat(self, server: Server, owner: str, lease_until: int) -> bool:
        """Record a sign of life and take or renew the service lease; False while another owner's lease runs."""
        with self._lock:
            lease = self._leases.get(server.server_id)
            if lease and lease.owner != owner and lease.until > server.last_heartbeat_at:
                return False
            self._servers[server.server_id] = server
            self._leases[server.server_id] = Lease(owner, lease_until)
            return True

    def release_service(self, server_id: str, owner: str) -> None:
        """Give the service lease back if ``owner`` holds it."""
        with self._lock:
            lease = self._leases.get(server_id)
            if lease and lease.owner == owner:
                del self._leases[server_id]

    def servers(self) -> list[Server]:
        """Every service that ever sent a heartbeat, by name."""
        with self._lock:
            return [server for _, server in sorted(self._servers.items())]

    def claim_housekeeping(self, now: int, every: int) -> bool:
        """True for one caller in ``every`` seconds."""
        with self._lock:
            due = self._cleaned_at is None or self._cleaned_at <= now - every
            self._cleaned_at = now if due else self._cleaned_at
            return due

    def clean(self, now: int, task_retention: int) -> int:
        """Delete expired results and old terminal tasks; returns how many."""
        with self._lock:
            deleted = 0
            for cache in self._caches.values():
                expired = [result.task_id for result in cache.results.values() if result.expires_at < now]
                tasks = cache.tasks.values()
                old = [task.task_id for task in tasks if task.is_terminal and task.updated_at < now - task_retention]
                for task_id in expired:
                    del cache.results[task_id]
                for task_id in old:
                    del cache.tasks[task_id], self._arrivals[task_id]
                deleted += len(expired) + len(old)
            return deleted

    def stats(self, server_id: str | None, now: int) -> TaskStats:
        """Counts of one service or of all. The mean time of a task is from its creation to its end."""
        with self._lock:
            tasks = [task for task in self._chosen(None) if server_id in (None, task.server_id)]
        waiting = [now - task.created_at for task in tasks if task.status is TaskStatus.PENDING]
        recent = [task for task in tasks if task.is_terminal and task.updated_at > now - RECENT_SECONDS]
        seconds = sum((task.completed_at or task.updated_at) - task.created_at for task in recent)
        failed = sum(task.status is TaskStatus.FAILED for task in recent)
        return TaskStats(
            per_status=dict.fromkeys(TaskStatus, 0) | Counter(task.status for task in tasks),
            load_per_server=Counter(task.server_id for task in tasks if task.status in RUNNING),
            oldest_pending_age=max(0, *waiting) if waiting else None,
            mean_task_seconds=seconds / len(recent) if recent else None,
            error_rate=failed / len(recent) if recent else None,
        )

    # -- the caches

    def _chosen(self, task_ids: Collection[str] | None) -> list[Task]:
        tasks = (task for cache in self._caches.values() for task in cache.tasks.values())
        return [task for task in tasks if _is_among(task, task_ids)]

    def _slots(self, server_id: str) -> set[int | None]:
        return {task.slot for task in self._chosen(None) if task.server_id == server_id}

    def _keep(self, task: Task) -> Task:
        self._caches[task.task_type].tasks[task.task_id] = task
        return task


def _ref(task: Task) -> TaskRef:
    return TaskRef(task_id=task.task_id, status=task.status, next_poll_at=task.next_poll_at or 0, slot=task.slot)


def _is_among(task: Task, task_ids: Collection[str] | None) -> bool:
    return task_ids is None or task.task_id in task_ids


def _is_startable(task: Task, server_id: str, now: int) -> bool:
    is_queued = task.server_id == server_id and task.status is TaskStatus.PENDING
    return is_queued and _is_due(task, now) and task.deadline_at > now


def _is_due(task: Task, now: int) -> bool:
    return task.next_poll_at is not None and task.next_poll_at <= now


def _same_claim(kept: Task, before: Task) -> bool:
    return (kept.claim_id, kept.status) == (before.claim_id, before.status)
