"""Use case: take an order and answer with a task at once."""

import hashlib
import hmac
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jimeng_tasks.domain.ports import Clock, IdSource, Kick, Metrics, TaskStore
from jimeng_tasks.domain.task import InternalParams, Task, TaskStatus, TaskType
from jimeng_tasks.exceptions import RequestError, TaskConflict

MAX_RETRIES = 3
POLL_INTERVALS = {TaskType.IMAGE: 10, TaskType.VIDEO: 15}  # seconds, seed 3.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A validated request for one generation.

    ``params`` are the effective values that will be stored; ``accounts`` the session tokens that may be used, one of
    which is picked and kept; the others may be None.
    """

    task_type: TaskType
    params: Mapping[str, Any]
    accounts: Sequence[str] = field(repr=False)
    task_id: str | None = None
    idempotency_key: str | None = None
    server_id: str | None = None

    def fingerprint(self) -> str:
        """Equal for equal orders, whatever the account."""
        content = [self.task_type, self.params, self.server_id]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def derived_id(self) -> str | None:
        """The id that an idempotency key stands for; only who knows the tokens can compute it."""
        if self.idempotency_key is None:
            return None
        secret = ",".join(sorted(self.accounts)).encode()
        return hmac.new(secret, self.idempotency_key.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, kw_only=True)
class SubmitTask:
    """Writes a pending task, once for any number of equal orders with one id, and wakes its poller.

    ``services`` are the configured service ids, ``timeouts`` the seconds a task of each kind may take.
    """

    store: TaskStore
    clock: Clock
    metrics: Metrics
    services: Sequence[str]
    timeouts: Mapping[TaskType, int]
    new_id: IdSource
    kick: Kick | None = None
    choose: Callable[[Sequence[str]], str] = random.choice

    def __call__(self, order: Order) -> Task:
        """Store the order as a task, or find the task it already is.

        Raises:
            RequestError: ``server_id`` is not a configured service.
            TaskConflict: the id belongs to another order or another account.
            StoreUnavailable: nothing can be stored now.
        """
        now = self.clock.now()
        fresh = self._task(order, now)
        task = self.store.submit(fresh)
        if task.request_hash != fresh.request_hash or not task.belongs_to(order.accounts):
            raise TaskConflict(
                f"task {fresh.task_id} already exists with another body or account: "
                "repeat the same request, or choose another task_id or Idempotency-Key"
            )
        if task.status is TaskStatus.PENDING and self.kick:
            self.kick(task.server_id, task.task_id)
        self.metrics.count("tasks_created", task_type=task.task_type)
        return task

    def _task(self, order: Order, now: int) -> Task:
        timeout = self.timeouts[order.task_type]
        return Task(
            task_id=order.task_id or order.derived_id() or self.new_id(),
            task_type=order.task_type,
            server_id=self._server(order.server_id, now),
            original_params=order.params,
            internal_params=InternalParams(refresh_token=self.choose(order.accounts)),
            status=TaskStatus.PENDING,
            max_retries=MAX_RETRIES,
            next_poll_at=now,
            poll_interval=POLL_INTERVALS[order.task_type],
            task_timeout=timeout,
            created_at=now,
            updated_at=now,
            deadline_at=now + timeout,
            request_hash=order.fingerprint(),
        )

    def _server(self, wanted: str | None, now: int) -> str:
        if wanted is not None:
            if wanted not in self.services:
                raise RequestError(f"server_id {wanted!r} is not configured; allowed: {', '.join(self.services)}")
            return wanted
        if len(self.services) == 1:
            return self.services[0]
        online = [s for s in self.store.servers() if s.is_online(now) and s.server_id in self.services]
        if not online:
            return self.services[0]
        least = min(server.load for server in online)
        return self.choose([server.server_id for server in online if server.load == least])
