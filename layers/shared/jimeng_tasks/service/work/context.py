"""What every step of the work needs, and how a step ends a task."""

import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.lifecycle import Policy
from jimeng_tasks.domain.ports import Clock, MediaSource, MediaStorage, Metrics, TaskStore
from jimeng_tasks.domain.provider import Provider
from jimeng_tasks.domain.task import Result, ResultStatus, Task
from jimeng_tasks.exceptions import ClaimLost, ProviderError, RequestError, StoreUnavailable, TaskFailure

from .counters import Counters

logger = logging.getLogger(__name__)

TRANSACTION_SECONDS = 60
"""How long a database may keep the open transaction of a killed process: the lease must outlast it, or whoever claims
the task next runs into its lock."""


def task_log(task: Task) -> logging.LoggerAdapter[logging.Logger]:
    """A logger that puts the task's ids on every line."""
    ids = {"task_id": task.task_id, "server_id": task.server_id, "claim_id": task.claim_id}
    return logging.LoggerAdapter(logger, ids, merge_extra=True)


@dataclass(frozen=True, kw_only=True)
class JobContext:
    """The collaborators of the work, shared by all steps and threads of one invocation.

    ``storage`` is None when no bucket is configured; ``key_prefix`` starts every object key.
    """

    store: TaskStore
    provider: Provider
    source: MediaSource
    storage: MediaStorage | None
    clock: Clock
    metrics: Metrics
    policy: Policy
    key_prefix: str
    counters: Counters = field(default_factory=Counters)
    jitter: Callable[[], float] = random.random

    def holds(self, task: Task) -> bool:
        """Whether the task's lease still runs, so that work on it is worth beginning."""
        return task.next_poll_at is not None and self.clock.now() < task.next_poll_at

    def save(self, before: Task, after: Task) -> Task:
        """Write progress; raises `ClaimLost`."""
        self.store.save(before, after)
        return after

    def backoff(self, failures: int, base: int) -> int:
        """Seconds to wait after ``failures`` failures in a row."""
        return self.policy.backoff(failures, base, self.jitter())

    def complete(self, task: Task) -> None:
        """End a task with its media; raises `ClaimLost`."""
        self._end(task, *lifecycle.completed(task, self.clock.now(), self.policy))

    def fail(self, task: Task, error: ProviderError | RequestError | TaskFailure) -> None:
        """End a task for an error, keeping the provider's code; raises `ClaimLost`."""
        fail_code = error.name if isinstance(error, RequestError) else error.fail_code
        label = error.fail_code if isinstance(error, TaskFailure) else error.name
        message = f"{label}: {error}"
        self._end(task, *lifecycle.failed(task, message, fail_code, self.clock.now(), self.policy))
        self.metrics.count("tasks_failed_by_class", error=label)

    def time_out(self, task: Task) -> None:
        """End a task that ran past its deadline; raises `ClaimLost`."""
        self._end(task, *lifecycle.timed_out(task, self.clock.now(), self.policy))
        self.counters.add("timed_out")

    def _end(self, before: Task, after: Task, result: Result) -> None:
        now = self.clock.now()
        if (before.next_poll_at or 0) - now < TRANSACTION_SECONDS:
            before = self.save(before, lifecycle.renewed(before, now, self.policy.lease))
        self.store.finish(before, after, result)
        outcome = "completed" if result.status is ResultStatus.SUCCESS else "failed"
        self.counters.add(outcome)
        self.metrics.count(f"tasks_{outcome}", task_type=after.task_type)
        self.metrics.seconds("task_time", result.created_at - after.created_at, task_type=after.task_type)
        task_log(before).info("task %s", outcome, extra={"fail_code": after.fail_code, "reason": after.error_message})

    @contextmanager
    def guarding(self, task: Task) -> Iterator[None]:
        """Keep the trouble of one task away from all others.

        A lost claim is dropped; after an unexpected error the task is looked at again when its lease ends.
        """
        try:
            yield
        except ClaimLost:
            self.lost()
            task_log(task).warning("claim lost, work dropped")
        except StoreUnavailable as error:
            task_log(task).error("step broken off by the store: %s", error)
        except Exception:
            self.metrics.count("poller_errors")
            task_log(task).exception("step failed")

    def lost(self, claims: int = 1) -> None:
        """Count claims that another poller owns now."""
        if claims:
            self.counters.add("claims_lost", claims)
            self.metrics.count("claims_lost", claims)
