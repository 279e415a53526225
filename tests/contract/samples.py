"""Tasks and results for the store's tests, and short ways to bring them into a state."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bson import ObjectId

from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.domain.task import (
    InternalParams,
    Result,
    ResultMetadata,
    ResultStatus,
    Task,
    TaskStatus,
    TaskType,
)

NOW = 1_700_000_000
LEASE = 60
HOUR = 3600


def new_task(task_id: str = "t1", *, created_at: int = NOW, **changes: Any) -> Task:
    """A task as the submit endpoint makes it, waiting for service ``s1``."""
    task = Task(
        task_id=task_id,
        task_type=TaskType.IMAGE,
        server_id="s1",
        original_params={"model": "jimeng-3.0", "prompt": "a cat"},
        internal_params=InternalParams(refresh_token="us-secret"),
        status=TaskStatus.PENDING,
        next_poll_at=created_at,
        poll_interval=10,
        task_timeout=HOUR,
        created_at=created_at,
        updated_at=created_at,
        deadline_at=created_at + HOUR,
        request_hash="hash",
    )
    return replace(task, **changes)


def node_task(status: str, **changes: Any) -> dict[str, Any]:
    """A task as the Node service's mongoose model writes it."""
    document: dict[str, Any] = {
        "_id": ObjectId(),
        "__v": 0,
        "task_id": status,
        "task_type": "video",
        "server_id": "s1",
        "original_params": {"prompt": "a cat", "is_pro": False, "duration": 5000.0},
        "internal_params": {"refresh_token": "secret"},
        "status": status,
        "retry_count": 0,
        "max_retries": 3,
        "poll_interval": 15.0,
        "task_timeout": float(HOUR),
        "created_at": NOW - 100.0,
        "updated_at": NOW - 100.0,
    }
    return {**document, **changes}


def result_of(task: Task, *, now: int = NOW, **changes: Any) -> Result:
    """A successful result of a task with one stored file, kept for a day."""
    result = Result(
        task_id=task.task_id,
        task_type=task.task_type,
        server_id=task.server_id,
        status=ResultStatus.SUCCESS,
        original_urls=("https://jimeng.example/1",),
        tos_urls=("https://tos.example/1.png",),
        metadata=ResultMetadata(generation_time=1500, total_files=1, successful_uploads=1),
        created_at=now,
        expires_at=now + 24 * HOUR,
    )
    return replace(result, **changes)


def claim(store: TaskStore, *tasks: Task, now: int = NOW, slots: Sequence[int] = ()) -> list[Task]:
    """Submit tasks of one service and claim them, on free slots if none are given."""
    for task in tasks:
        store.submit(task)
    server_id = tasks[0].server_id
    slots = slots or store.survey(server_id, 0).free_slots(100)
    refs = store.survey(server_id, len(tasks), [task.task_id for task in tasks]).pending
    return store.claim_pending(server_id, refs, slots, now, LEASE)


def start_polling(store: TaskStore, task: Task, *, now: int = NOW, next_poll_at: int = NOW) -> Task:
    """Bring a new task to ``polling``, with nobody holding it."""
    [claimed] = claim(store, task, now=now)
    internal = replace(claimed.internal_params, history_id="4711")
    polling = replace(
        claimed, status=TaskStatus.POLLING, internal_params=internal, claim_id=None, next_poll_at=next_poll_at
    )
    store.save(claimed, polling)
    return polling


def complete(store: TaskStore, task: Task, *, now: int = NOW, result: Result | None = None) -> Result:
    """Take a new task all the way to ``completed``; returns its result."""
    [claimed] = claim(store, task, now=now)
    result = result or result_of(task, now=now)
    store.finish(claimed, ended(claimed, now=now), result)
    return result


def ended(task: Task, status: TaskStatus = TaskStatus.COMPLETED, *, now: int = NOW) -> Task:
    """The task as it is after its end."""
    return replace(task, status=status, completed_at=now, updated_at=now)
