"""What one service has to do at a moment, as the store sees it."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from .task import ACTIVE, TaskStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRef:
    """The few fields of a task that planning needs."""

    task_id: str
    status: TaskStatus
    next_poll_at: int
    slot: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Running tasks of a service, and its oldest pending ones in the order they are to be served."""

    running: tuple[TaskRef, ...] = ()
    pending: tuple[TaskRef, ...] = ()

    def due(self, now: int) -> list[TaskRef]:
        """Running tasks that may be touched now, longest due first."""
        ready = (ref for ref in self.running if ref.next_poll_at <= now)
        return sorted(ready, key=lambda ref: ref.next_poll_at)

    def startable(self, now: int) -> list[TaskRef]:
        """Pending tasks that may be touched now, first in first out."""
        return [ref for ref in self.pending if ref.next_poll_at <= now]

    def per_status(self) -> dict[TaskStatus, int]:
        """How many of these tasks are in each active status."""
        counts = Counter(ref.status for ref in (*self.running, *self.pending))
        return {status: counts[status] for status in ACTIVE}

    def oldest_wait(self, now: int) -> int:
        """How many seconds the first pending task in the queue has been ready to start; 0 when none is."""
        return max((now - ref.next_poll_at for ref in self.startable(now)), default=0)

    def free_slots(self, capacity: int) -> list[int]:
        """Numbers below ``capacity`` that no running task holds; empty once ``capacity`` tasks run."""
        used = {ref.slot for ref in self.running}
        free = [slot for slot in range(capacity) if slot not in used]
        return free[: max(0, capacity - len(self.running))]

    def next_due_at(self, capacity: int) -> int | None:
        """The time at which the next task may be touched; None when there is nothing to wait for."""
        times = [ref.next_poll_at for ref in self.running]
        if self.free_slots(capacity):
            times += [ref.next_poll_at for ref in self.pending]
        return min(times, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A document of ``jimeng_free_servers``: one service and its last sign of life."""

    server_id: str
    status: str
    last_heartbeat_at: int
    load: int
    version: str

    ONLINE_SECONDS: ClassVar[int] = 150

    def is_online(self, now: int) -> bool:
        """Whether the last heartbeat is younger than 150 s."""
        return now - self.last_heartbeat_at < self.ONLINE_SECONDS
