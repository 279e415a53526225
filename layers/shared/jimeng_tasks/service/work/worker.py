"""One tick of a poller: claim what is due and hand it to the steps, side by side, without waiting for them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import batched
from threading import Lock
from typing import Self

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.task import Task, TaskStatus
from jimeng_tasks.domain.workload import Workload
from jimeng_tasks.exceptions import ClaimLost, StoreUnavailable

from .context import JobContext
from .polling import poll
from .submitting import is_unsent, look_up, submit
from .sweeping import look_last
from .transferring import transfer, transfer_last

REQUEST_THREADS = 16
TRANSFER_THREADS = 4  # each holds some parts of a file in memory
POLL_BATCH = 100  # ids in one request
CLAIM_BATCH = 1000
SWEEP_BATCH = 200

type Step = Callable[[JobContext, Task], None]
type BatchStep = Callable[[JobContext, list[Task]], None]


class Worker:
    """The work of one invocation for one service.

    ``may_begin`` turns false when too little time is left: claimed tasks whose work has not begun are then given back.
    ``only`` restricts everything to those task ids. Call `survey` before each `tick`.
    """

    def __init__(
        self,
        ctx: JobContext,
        server_id: str,
        capacity: int,
        may_begin: Callable[[], bool],
        only: Collection[str] | None = None,
    ) -> None:
        self.ctx = ctx
        self.workload = Workload()
        self._server_id = server_id
        self._capacity = capacity
        self._may_begin = may_begin
        self._only = only
        self._requests = ThreadPoolExecutor(REQUEST_THREADS, thread_name_prefix="request")
        self._transfers = ThreadPoolExecutor(TRANSFER_THREADS, thread_name_prefix="transfer")
        self._jobs: dict[Future[None], list[Task]] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Give back what still waits for a thread; what has begun goes on as long as the process lives."""
        waiting = [task for job, tasks in self._jobs.items() if job.cancel() for task in tasks]
        if waiting:
            with self.ctx.guarding(waiting[0]):
                self._release(waiting)
        for pool in (self._requests, self._transfers):
            pool.shutdown(wait=False, cancel_futures=True)

    def tick(self) -> None:
        """Sweep, then claim and begin everything that is due by the last survey.

        Raises:
            StoreUnavailable: the store does not answer; what was claimed is taken up again when its lease ends.
        """
        self.ctx.counters.add("ticks")
        self._sweep()
        self.start_pending()
        self._advance_running()

    def survey(self) -> None:
        """Read what the service has to do."""
        self.workload = self.ctx.store.survey(self._server_id, self._capacity, self._only)

    def start_pending(self) -> None:
        """Claim pending tasks, first in first out, onto free slots, and begin to submit them."""
        now = self.ctx.clock.now()
        slots = self.workload.free_slots(self._capacity)
        refs = self.workload.startable(now)[: len(slots)]
        if refs:
            claimed = self.ctx.store.claim_pending(self._server_id, refs, slots, now, self.ctx.policy.lease)
            self._note(claimed)
            self._each(self._requests, submit, claimed)

    def jobs(self) -> set[Future[None]]:
        """Work that has begun or waits for a thread."""
        with self._lock:
            self._jobs = {job: tasks for job, tasks in self._jobs.items() if not job.done()}
            return set(self._jobs)

    def _sweep(self) -> None:
        overdue = self.ctx.store.claim_overdue(self.ctx.clock.now(), SWEEP_BATCH, self.ctx.policy.lease, self._only)
        self._note(overdue)
        self._each(self._requests, self._look_last, overdue)

    def _advance_running(self) -> None:
        now = self.ctx.clock.now()
        due = [ref for ref in self.workload.due(now) if self._only is None or ref.task_id in self._only]
        if not due:
            return
        claimed = self.ctx.store.claim_due(due[:CLAIM_BATCH], now, self.ctx.policy.lease)
        self._note(claimed)
        self._each(self._requests, submit, (task for task in claimed if _needs_submit(task)))
        self._per_account(look_up, (task for task in claimed if _needs_look_up(task)))
        self._per_account(self._poll, (task for task in claimed if _needs_poll(task)))
        self._each(self._transfers, transfer, (task for task in claimed if task.original_urls))

    def _note(self, claimed: list[Task]) -> None:
        self.ctx.counters.add("claimed", len(claimed))

    def _poll(self, ctx: JobContext, tasks: list[Task]) -> None:
        self._each(self._transfers, transfer, poll(ctx, tasks))

    def _look_last(self, ctx: JobContext, task: Task) -> None:
        self._each(self._transfers, transfer_last, look_last(ctx, task))

    def _each(self, pool: ThreadPoolExecutor, step: Step, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self._dispatch(pool, _singly(step), [task])

    def _per_account(self, step: BatchStep, tasks: Iterable[Task]) -> None:
        by_account: defaultdict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            by_account[task.internal_params.refresh_token].append(task)
        for group in by_account.values():
            for batch in batched(group, POLL_BATCH, strict=False):
                self._dispatch(self._requests, step, list(batch))

    def _dispatch(self, pool: ThreadPoolExecutor, step: BatchStep, tasks: list[Task]) -> None:
        with self._lock:
            self._jobs[pool.submit(self._begin, step, tasks)] = tasks

    def _begin(self, step: BatchStep, tasks: list[Task]) -> None:
        """Run a step unless time is short or the lease ran out while the tasks waited for a thread."""
        with self.ctx.guarding(tasks[0]):
            if not self._may_begin():
                self._release(tasks)
                return
            held = [task for task in tasks if self.ctx.holds(task)]
            self.ctx.lost(len(tasks) - len(held))
            self._run(step, held)

    def _run(self, step: BatchStep, tasks: list[Task]) -> None:
        """A batch that breaks is taken apart, so that only the task that breaks it suffers."""
        try:
            if tasks:
                step(self.ctx, tasks)
        except (ClaimLost, StoreUnavailable):
            raise
        except Exception:
            if len(tasks) == 1:
                raise
            for task in tasks:
                with self.ctx.guarding(task):
                    step(self.ctx, [task])

    def _release(self, tasks: list[Task]) -> None:
        now = self.ctx.clock.now()
        self.ctx.lost(self.ctx.store.save_many([(task, lifecycle.released(task, now)) for task in tasks]))


def _singly(step: Step) -> BatchStep:
    def run(ctx: JobContext, tasks: list[Task]) -> None:
        for task in tasks:
            step(ctx, task)

    return run


def _needs_submit(task: Task) -> bool:
    return task.status is TaskStatus.PROCESSING and is_unsent(task)


def _needs_look_up(task: Task) -> bool:
    return task.status is TaskStatus.PROCESSING and not is_unsent(task)


def _needs_poll(task: Task) -> bool:
    return task.status is TaskStatus.POLLING and not task.original_urls
