"""Fills stores with tasks: finished ones in great numbers, and active ones that benchmarks work on."""

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import batched

from pymongo import MongoClient, WriteConcern

from jimeng_tasks.domain.task import (
    InternalParams,
    Result,
    ResultMetadata,
    ResultStatus,
    Task,
    TaskStatus,
    TaskType,
)
from jimeng_tasks.store.documents import to_document
from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import RESULTS, TASKS

from .stage import SERVICE, Document, Stage

RETENTION = 7 * 86_400
RESULT_EVERY = 7
"""Results live for a day, tasks for a week: one task in seven still has its result."""
BATCH = 5_000
ACCOUNTS = 10


def account(number: int) -> str:
    """A session token; there are ten of them."""
    return f"{number % ACCOUNTS:032x}"


def new_task(task_id: str, now: int, service: str = SERVICE, number: int = 0) -> Task:
    """A pending image task as the submit endpoint writes it."""
    return Task(
        task_id=task_id,
        task_type=TaskType.IMAGE,
        server_id=service,
        original_params={
            "model": "jimeng-4.5",
            "prompt": f"a paper boat, number {number}",
            "width": 2048,
            "height": 2048,
        },
        internal_params=InternalParams(refresh_token=account(number)),
        status=TaskStatus.PENDING,
        next_poll_at=now,
        poll_interval=10,
        task_timeout=3600,
        created_at=now,
        updated_at=now,
        deadline_at=now + 3600,
        request_hash=f"{number:064x}",
    )


def polling_task(task_id: str, now: int, service: str, slot: int, *, due: int = 0, poll_interval: int = 3600) -> Task:
    """A task whose job runs at the provider, due ``due`` seconds after ``now``."""
    task = new_task(task_id, now, service, slot)
    internal = replace(task.internal_params, history_id=f"4{slot:012d}", submit_id=f"submit-{task_id}")
    return replace(
        task,
        status=TaskStatus.POLLING,
        internal_params=internal,
        slot=slot,
        started_at=now,
        next_poll_at=now + due,
        poll_interval=poll_interval,
    )


def finished_id(number: int) -> str:
    """The id of a finished task."""
    return f"finished-{number:08d}"


def _finished(number: int, now: int) -> Task:
    ended_at = now - number % RETENTION
    task = new_task(finished_id(number), ended_at - 60, f"bench-{number % 4}", number)
    is_failed = number % 20 == 0
    url = f"https://media.example/jimeng/image/{task.task_id}/0.png"
    return replace(
        task,
        status=TaskStatus.FAILED if is_failed else TaskStatus.COMPLETED,
        next_poll_at=None,
        started_at=ended_at - 58,
        completed_at=ended_at,
        updated_at=ended_at,
        original_urls=(url,),
        poll_count=5,
        consumed_at=ended_at if number % RESULT_EVERY else None,
    )


def result_of(task: Task) -> Result:
    """The result of a finished task."""
    now = task.updated_at
    return Result(
        task_id=task.task_id,
        task_type=task.task_type,
        server_id=task.server_id,
        status=ResultStatus.SUCCESS if task.status is TaskStatus.COMPLETED else ResultStatus.FAILED,
        original_urls=task.original_urls,
        tos_urls=task.original_urls,
        metadata=ResultMetadata(generation_time=50_000, tos_upload_time=900, total_files=1, successful_uploads=1),
        created_at=now,
        expires_at=int(time.time()) + 86_400,
    )


def fill_finished(stage: Stage, database: str, count: int) -> None:
    """Store ``count`` finished tasks, and results of one in seven, then build the product's indexes."""
    now = int(time.time())
    with stage.client() as client:
        client.drop_database(database)
        _insert(client, database, TASKS, (to_document(_finished(number, now)) for number in range(count)))
        kept = (result_of(_finished(number, now)) for number in range(0, count, RESULT_EVERY))
        _insert(client, database, RESULTS, (to_document(result) for result in kept))
        MongoTaskStore(client, database).prepare()


def add_tasks(stage: Stage, database: str, tasks: Iterator[Task]) -> None:
    """Store tasks as they are."""
    with stage.client() as client:
        _insert(client, database, TASKS, (to_document(task) for task in tasks))


def _insert(client: MongoClient[Document], database: str, name: str, documents: Iterator[Document]) -> None:
    collection = client[database].get_collection(name, write_concern=WriteConcern(w=1))
    for batch in batched(documents, BATCH, strict=False):
        collection.insert_many(batch, ordered=False)
