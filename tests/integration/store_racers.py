"""Processes that race for the same tasks: pollers that dawdle, give up and come too late, and readers of results.

A race has its own time, a hundred units to the second, so that leases run out while it lasts.
"""

import random
import time
from collections.abc import Callable
from dataclasses import replace

from pymongo import MongoClient

from jimeng_tasks.domain.task import Result, ResultMetadata, ResultStatus, Task, TaskStatus
from jimeng_tasks.exceptions import ClaimLost
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore, connect

CAPACITY = 3
LEASE = 12
UNITS_PER_SECOND = 100
RACE_SECONDS = 40
HANDED_OUT = "handed_out"


def race_time() -> int:
    return int(time.time() * UNITS_PER_SECOND)


def poll(uri: str, database: str, server_id: str, seed: int) -> None:
    """Advance tasks of a service, more or less faithfully, until none is active."""
    chance = random.Random(seed)
    give_up_at = time.monotonic() + RACE_SECONDS
    with connect(uri) as client:
        store = MongoTaskStore(client, database)
        while time.monotonic() < give_up_at:
            now = race_time()
            work = store.survey(server_id, 20)
            if not work.running and not work.pending:
                return
            time.sleep(chance.uniform(0, 0.03))  # what was free a moment ago may be taken by now
            claimed = store.claim_pending(server_id, work.startable(now), work.free_slots(CAPACITY), now, LEASE)
            claimed += store.claim_due(work.due(now), now, LEASE)
            claimed += store.claim_overdue(now, 2, LEASE)
            for task in claimed:
                try:
                    chance.choice(BEHAVIOURS)(store, task)
                except ClaimLost:
                    continue


def read(uri: str, database: str, task_ids: list[str], reader: str) -> None:
    """Ask for every result until all are consumed, and note each one received."""
    give_up_at = time.monotonic() + RACE_SECONDS
    with connect(uri) as client:
        store = MongoTaskStore(client, database)
        received: set[str] = set()
        while time.monotonic() < give_up_at and len(received) < len(task_ids):
            for task_id in task_ids:
                if store.hand_out(task_id, race_time(), 0) is not None:
                    _note(client, database, task_id, reader)
            received |= _consumed(client, database)


def _note(client: MongoClient[Document], database: str, task_id: str, reader: str) -> None:
    client[database][HANDED_OUT].insert_one({"task_id": task_id, "reader": reader})


def _consumed(client: MongoClient[Document], database: str) -> set[str]:
    return set(client[database][HANDED_OUT].distinct("task_id"))


def _written_by(task: Task, now: int) -> Task:
    """The task with its writer's claim in it, which shows in the history who wrote what."""
    return replace(task, error_message=task.claim_id, updated_at=now)


def _poll_later(store: MongoTaskStore, task: Task) -> None:
    now = race_time()
    after = replace(_written_by(task, now), status=TaskStatus.POLLING, claim_id=None, next_poll_at=now + 1)
    # A pending task comes here from the sweep, without a slot: it may not become a running one.
    store.save(task, after if task.slot is not None else replace(after, status=TaskStatus.PENDING))


def _retry(store: MongoTaskStore, task: Task) -> None:
    now = race_time()
    waiting = replace(_written_by(task, now), status=TaskStatus.PENDING, slot=None, claim_id=None, next_poll_at=now)
    store.save_many([(task, waiting)])


def _finish(store: MongoTaskStore, task: Task) -> None:
    now = race_time()
    status = random.choice([TaskStatus.COMPLETED, TaskStatus.FAILED])
    result = Result(
        task_id=task.task_id,
        task_type=task.task_type,
        server_id=task.server_id,
        status=ResultStatus.SUCCESS if status is TaskStatus.COMPLETED else ResultStatus.FAILED,
        original_urls=(),
        tos_urls=(task.claim_id or "",),
        metadata=ResultMetadata(),
        created_at=now,
        expires_at=now + 10**6,
    )
    store.finish(task, replace(_written_by(task, now), status=status, completed_at=now), result)


def _finish_too_late(store: MongoTaskStore, task: Task) -> None:
    time.sleep(1.5 * LEASE / UNITS_PER_SECOND)
    _finish(store, task)


def _poll_too_late(store: MongoTaskStore, task: Task) -> None:
    time.sleep(1.5 * LEASE / UNITS_PER_SECOND)
    _poll_later(store, task)


def _die(_store: MongoTaskStore, _task: Task) -> None:
    """Hold the claim and do nothing."""


BEHAVIOURS: list[Callable[[MongoTaskStore, Task], None]] = [
    _poll_later,
    _poll_later,
    _retry,
    _finish,
    _finish,
    _finish,
    _finish_too_late,
    _poll_too_late,
    _die,
]
