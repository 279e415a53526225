"""The loop of one poller invocation: tick, wait, leave early, stop in time."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass

from jimeng_tasks import __version__
from jimeng_tasks.domain.ports import IdSource
from jimeng_tasks.domain.workload import Server, Workload
from jimeng_tasks.exceptions import StoreUnavailable
from jimeng_tasks.service.work.context import JobContext
from jimeng_tasks.service.work.upkeep import Housekeeping
from jimeng_tasks.service.work.worker import Worker

from .events import Assignment

logger = logging.getLogger(__name__)

SERVICE_LEASE = 30  # seconds, or three intervals where those are longer; renewed at every tick
NAP = 0.5  # seconds between looks at the remaining time while waiting
LAST_SECONDS = 2.0  # kept for the summary and the metrics


@dataclass(frozen=True, kw_only=True)
class PollerConfig:
    """``capacity`` tasks may run at once; ``interval`` and ``margin`` in seconds."""

    server_id: str
    capacity: int
    interval: int
    margin: float


class PollerLoop:
    """One invocation for one service. ``remaining`` tells how many seconds are left."""

    def __init__(
        self,
        ctx: JobContext,
        config: PollerConfig,
        assignment: Assignment,
        housekeeping: Housekeeping,
        remaining: Callable[[], float],
        new_id: IdSource,
    ) -> None:
        self._ctx = ctx
        self._config = config
        self._assignment = assignment
        self._housekeeping = housekeeping
        self._remaining = remaining
        self._margin = min(config.margin, remaining() / 3)
        self._owner = new_id()
        self._worker = Worker(ctx, config.server_id, config.capacity, self._may_begin, assignment.only)
        self._ticks = 0
        self._has_lease = False

    def run(self) -> str:
        """Work until there is nothing left to do or no time; returns the reason for stopping."""
        with self._worker:
            try:
                reason = self._run()
            except StoreUnavailable as error:
                logger.error("the store is not available, the next invocation carries on: %s", error)
                reason = "store_unavailable"
                self._drain()
        self._record(reason)
        return reason

    def _record(self, reason: str) -> None:
        metrics, server_id = self._ctx.metrics, self._config.server_id
        is_up = reason != "store_unavailable"
        metrics.count("database_up", is_up)
        metrics.count("heartbeats", is_up, server_id=server_id)
        if is_up and not self._assignment.only:
            self._record_workload(self._worker.workload)

    def _record_workload(self, workload: Workload) -> None:
        """Gauges of the last survey; its pending tasks are counted up to the service's capacity only."""
        metrics, server_id = self._ctx.metrics, self._config.server_id
        metrics.count("server_load", len(workload.running), server_id=server_id)
        for status, number in workload.per_status().items():
            metrics.count("tasks", number, server_id=server_id, status=status)
        metrics.seconds("oldest_pending_age", workload.oldest_wait(self._ctx.clock.now()), server_id=server_id)

    def _run(self) -> str:
        if self._assignment.only:
            return self._loop()
        self._worker.survey()
        if not self._heartbeat():
            return self._help_out()
        try:
            return self._loop()
        finally:
            if self._has_lease:
                self._ctx.store.release_service(self._config.server_id, self._owner)

    def _help_out(self) -> str:
        """Another loop runs this service: a kick only starts what is pending, at once, and leaves the rest to it."""
        if self._assignment.is_kick:
            self._worker.start_pending()
            self._drain()
        return "service_held"

    def _loop(self) -> str:
        """Tick until there is a reason to stop; what has begun is then let come to its end."""
        reason = None
        while reason is None and self._may_begin():
            reason = self._turn()
        self._drain()
        return reason or "out_of_time"

    def _turn(self) -> str | None:
        """One tick and the wait after it; returns a reason to stop."""
        if self._assignment.only:
            self._worker.survey()
        else:
            self._housekeeping.run_if_due(self._ctx.counters)
        self._worker.tick()
        self._ticks += 1
        if self._ticks == self._assignment.ticks:
            return "ticks_done"
        if reason := self._wait():
            return reason
        if self._assignment.only:
            return None
        self._worker.survey()
        return None if self._heartbeat() else "service_taken"

    def _wait(self) -> str | None:
        """Wait for work or time; returns a reason to stop when there is nothing to wait for."""
        until = time.monotonic() + self._config.interval
        if self._worker.jobs():
            while self._worker.jobs() and time.monotonic() < until and self._may_begin():
                wait(self._worker.jobs(), timeout=NAP)
            if self._worker.jobs():
                return None
            self._worker.survey()
        due = self._worker.workload.next_due_at(self._config.capacity)
        if due is None:
            return "idle"
        delay = due - self._ctx.clock.now()
        if delay > self._remaining() - self._margin:
            return "nothing_due"
        until = min(until, time.monotonic() + max(NAP, delay))
        while time.monotonic() < until and self._may_begin():
            time.sleep(min(NAP, max(0.0, until - time.monotonic())))
        return None

    def _drain(self) -> None:
        """Let what has begun come to its end, as long as there is time."""
        while (jobs := self._worker.jobs()) and self._remaining() > LAST_SECONDS:
            wait(jobs, timeout=NAP)

    def _may_begin(self) -> bool:
        return self._remaining() > self._margin

    def _heartbeat(self) -> bool:
        """A sign of life, which takes the service lease if there is work; False while another loop has it."""
        now, workload = self._ctx.clock.now(), self._worker.workload
        server = Server(
            server_id=self._config.server_id,
            status="online",
            last_heartbeat_at=now,
            load=len(workload.running),
            version=__version__,
        )
        lease = max(SERVICE_LEASE, 3 * self._config.interval) if workload.running or workload.pending else 0
        is_ours = self._ctx.store.heartbeat(server, self._owner, now + lease)
        self._has_lease = is_ours and lease > 0
        return is_ours
