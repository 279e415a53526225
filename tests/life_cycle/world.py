"""A small world in which one service's tasks live: everything real but the outside, and time by hand."""

from collections.abc import Callable, Collection
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.lifecycle import Policy
from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.domain.task import InternalParams, Result, Task, TaskStatus, TaskType
from jimeng_tasks.domain.workload import Server
from jimeng_tasks.poller.handler import PollerHandler
from jimeng_tasks.poller.loop import PollerConfig
from jimeng_tasks.service.work.context import JobContext
from jimeng_tasks.service.work.upkeep import Housekeeping
from jimeng_tasks.service.work.worker import Worker

from .scripted_provider import ScriptedProvider
from .stand_ins import BytesSource, CountingMetrics, DictStorage, ManualClock

SERVICE = "svc-a"
ACCOUNT = "token-a"
TIMEOUT = 3600
INTERVAL = 10
JOB_SECONDS = 20  # a step that hangs longer has failed its test


@dataclass
class Context:
    """A Lambda context; ``seconds`` are left, for as long as nobody changes it."""

    seconds: float = 60.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


@dataclass
class World:
    """The collaborators of the work, and short ways to let it happen and to see what came of it."""

    store: TaskStore
    clock: ManualClock = field(default_factory=ManualClock)
    provider: ScriptedProvider = field(default_factory=ScriptedProvider)
    source: BytesSource = field(default_factory=BytesSource)
    storage: DictStorage | None = field(default_factory=DictStorage)
    metrics: CountingMetrics = field(default_factory=CountingMetrics)
    policy: Policy = field(default_factory=Policy)
    jitter: float = 0.0
    _owners: Any = field(default_factory=lambda: count(1))

    # -- given

    def task_now(self, task_id: str = "t1", *, account: str = ACCOUNT, images: Any = None, **changes: Any) -> Task:
        """A task as the submit endpoint makes it, its prompt being its id; not stored yet."""
        now = self.clock.now()
        task = Task(
            task_id=task_id,
            task_type=TaskType.IMAGE,
            server_id=SERVICE,
            original_params={"prompt": task_id} | ({"images": images} if images else {}),
            internal_params=InternalParams(refresh_token=account),
            status=TaskStatus.PENDING,
            next_poll_at=now,
            poll_interval=INTERVAL,
            task_timeout=TIMEOUT,
            created_at=now,
            updated_at=now,
            deadline_at=now + changes.get("task_timeout", TIMEOUT),
        )
        return replace(task, **changes)

    def post(self, task_id: str = "t1", **changes: Any) -> Task:
        """Store a pending task."""
        return self.store.submit(self.task_now(task_id, **changes))

    def post_accepted(self, task_id: str = "t1", **changes: Any) -> Task:
        """A task whose job runs at the provider, due to be polled now."""
        self.post(task_id, **changes)
        self.tick(capacity=100, only=[task_id])
        self.clock.advance(INTERVAL)
        task = self.task(task_id)
        assert task.status is TaskStatus.POLLING
        return task

    def claim_pending(self, task_id: str = "t1", slot: int = 0) -> Task:
        """Take a pending task as a poller does that is killed right after."""
        refs = self.store.survey(SERVICE, 1, [task_id]).pending
        [task] = self.store.claim_pending(SERVICE, refs, [slot], self.clock.now(), self.policy.lease)
        return task

    def claim_running(self, task_id: str = "t1") -> Task:
        """Take a due running task as another poller would."""
        refs = self.store.survey(SERVICE, 1, [task_id]).running
        [task] = self.store.claim_due(refs, self.clock.now(), self.policy.lease)
        return task

    def leave_sent(self, task_id: str = "t1", **changes: Any) -> Task:
        """A task whose poller was killed after it wrote that the paid call may be made; its lease has ended."""
        self.post(task_id, **changes)
        claimed = self.claim_pending(task_id)
        now = self.clock.now()
        sent = lifecycle.sending(claimed, mapped_model="m", component_id="c", now=now, policy=self.policy)
        self.store.save(claimed, sent)
        self.clock.advance(self.policy.submit_lease)
        return sent

    def hold_service(self, seconds: int = 30) -> None:
        """Another loop runs the service and was alive just now."""
        now = self.clock.now()
        server = Server(server_id=SERVICE, status="online", last_heartbeat_at=now, load=0, version="1")
        assert self.store.heartbeat(server, "another loop", now + seconds)

    # -- when

    def ctx(self) -> JobContext:
        return JobContext(
            store=self.store,
            provider=self.provider,
            source=self.source,
            storage=self.storage,
            clock=self.clock,
            metrics=self.metrics,
            policy=self.policy,
            key_prefix="jimeng",
            jitter=lambda: self.jitter,
        )

    def tick(
        self,
        *,
        service: str = SERVICE,
        capacity: int = 3,
        may_begin: Callable[[], bool] = lambda: True,
        only: Collection[str] | None = None,
    ) -> dict[str, int]:
        """One tick of a service's poller, with everything that it began; returns its counters."""
        ctx = self.ctx()
        with Worker(ctx, service, capacity, may_begin, only) as worker:
            worker.survey()
            worker.tick()
            while jobs := worker.jobs():
                assert wait(jobs, timeout=JOB_SECONDS).done, "a step hangs"
        return ctx.counters.snapshot()

    def tick_after(self, seconds: int, **how: Any) -> dict[str, int]:
        """Let time pass, then tick."""
        self.clock.advance(seconds)
        return self.tick(**how)

    def handler(
        self, *, service: str = SERVICE, capacity: int = 3, margin: float = 5, retention: int = 7 * 86_400
    ) -> PollerHandler:
        """A poller as Lambda runs it, in a container of its own."""
        return PollerHandler(
            config=PollerConfig(server_id=service, capacity=capacity, interval=1, margin=margin),
            new_job_context=self.ctx,
            housekeeping=Housekeeping(self.store, self.clock, retention),
            new_id=lambda: f"owner-{next(self._owners)}",
            flush=lambda: None,
        )

    # -- then

    def task(self, task_id: str = "t1") -> Task:
        task = self.store.get(task_id)
        assert task is not None, f"no task {task_id}"
        return task

    def states(self, *task_ids: str) -> list[str]:
        return [self.task(task_id).status.value for task_id in task_ids]

    def take_result(self, task_id: str = "t1") -> Result:
        """The one result of a task; there is no second."""
        result = self.store.hand_out(task_id, self.clock.now(), 0)
        assert result is not None, f"no result of {task_id}"
        assert self.store.hand_out(task_id, self.clock.now(), 0) is None
        return result
