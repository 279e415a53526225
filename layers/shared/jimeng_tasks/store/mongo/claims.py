"""Claims: the only way to a task for a poller.

A claim is a conditional update that sets a fresh ``claim_id`` and, as ``next_poll_at``, the end of its lease. Whoever
reads the task back by that ``claim_id`` owns it; everybody else's condition no longer matches.
"""

from collections.abc import Collection, Sequence
from typing import Any

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from jimeng_tasks.domain.task import ACTIVE, RUNNING, SubmitPhase, Task, TaskStatus
from jimeng_tasks.domain.workload import TaskRef, Workload
from jimeng_tasks.store.documents import (
    REF_FIELDS,
    STORED_TIMEOUT,
    WITHOUT_PICTURES,
    Document,
    ref_from,
    stored_number,
    tasks_from,
)

from .connection import Collections, store_call

DUPLICATE_KEY = 11000
ACTIVE_NAMES = [status.value for status in ACTIVE]
RUNNING_NAMES = [status.value for status in RUNNING]
UNREADABLE = "the stored task cannot be read"
PENDING_NAME = TaskStatus.PENDING.value


class Claims(Collections):
    """Surveying and claiming."""

    @store_call
    def survey(self, server_id: str, pending_limit: int, task_ids: Collection[str] | None = None) -> Workload:
        """Running tasks of a service and its oldest pending ones, in one command."""
        fields = dict.fromkeys(REF_FIELDS, 1)
        pending = [
            {"$match": {"server_id": server_id, "status": PENDING_NAME, **_among(task_ids)}},
            {"$sort": {"next_poll_at": 1}},
            {"$limit": pending_limit},
            {"$project": fields},
        ]
        pipeline: list[Document] = [
            {"$match": {"server_id": server_id, "status": {"$in": RUNNING_NAMES}}},
            {"$project": fields},
        ]
        if pending_limit:
            pipeline.append({"$unionWith": {"coll": self._tasks.name, "pipeline": pending}})
        refs = [ref_from(document) for document in self._tasks.aggregate(pipeline)]
        return Workload(
            running=tuple(ref for ref in refs if ref.status is not TaskStatus.PENDING),
            pending=tuple(ref for ref in refs if ref.status is TaskStatus.PENDING),
        )

    @store_call
    def claim_pending(
        self, server_id: str, refs: Sequence[TaskRef], slots: Sequence[int], now: int, lease: int
    ) -> list[Task]:
        """Move due pending tasks to ``processing``, each on a slot that the unique index lets nobody else have."""
        claim_id = self._new_id()
        claimed = list(zip(refs, slots, strict=False))
        startable = {
            "server_id": server_id,
            "status": PENDING_NAME,
            "next_poll_at": {"$lte": now},
            "deadline_at": {"$not": {"$lte": now}},
        }
        updates = [
            UpdateOne({"task_id": ref.task_id, **startable}, [{"$set": self._start(claim_id, slot, now, lease)}])
            for ref, slot in claimed
        ]
        if not updates:
            return []
        try:
            # In order, so that no task starts before one that waited longer and found its slot taken.
            self._tasks.bulk_write(updates, ordered=True)
        except BulkWriteError as error:
            if any(fault["code"] != DUPLICATE_KEY for fault in error.details["writeErrors"]):
                raise
        return self._claimed([ref.task_id for ref, _ in claimed], claim_id, now)

    def _start(self, claim_id: str, slot: int, now: int, lease: int) -> Document:
        return {
            "status": TaskStatus.PROCESSING.value,
            "claim_id": claim_id,
            "slot": slot,
            "submit_phase": SubmitPhase.PREPARING.value,
            "internal_params.submit_id": {"$ifNull": ["$internal_params.submit_id", self._new_id()]},
            "started_at": now,
            "deadline_at": {"$add": [now, STORED_TIMEOUT]},
            "next_poll_at": now + lease,
            "updated_at": now,
        }

    @store_call
    def claim_due(self, refs: Sequence[TaskRef], now: int, lease: int) -> list[Task]:
        """Take a fresh claim on running tasks that are still due."""
        task_ids = [ref.task_id for ref in refs]
        due = {"status": {"$in": RUNNING_NAMES}, "next_poll_at": {"$lte": now}}
        return self._claim(task_ids, due, now, lease)

    @store_call
    def claim_overdue(self, now: int, limit: int, lease: int, task_ids: Collection[str] | None = None) -> list[Task]:
        """Claim active tasks of any service past their deadline that nobody holds; adopt those of the Node service."""
        unheld = {"$nor": [{"claim_id": {"$exists": True}, "next_poll_at": {"$gt": now}}]}
        # "Not later" instead of "earlier or equal": tasks without a deadline are in the same stretch of the index.
        overdue = {"status": {"$in": ACTIVE_NAMES}, "deadline_at": {"$not": {"$gt": now}}, **unheld}
        chosen, fields = {**overdue, **_among(task_ids)}, {"task_id": 1, "deadline_at": 1}
        # Asking for the index's order keeps the planner from another index that fits less.
        found = list(self._tasks.find(chosen, fields, limit=limit, sort=["deadline_at"]))
        self._adopt([document["task_id"] for document in found if document.get("deadline_at") is None], now)
        expired = [document["task_id"] for document in found if document.get("deadline_at") is not None]
        return self._claim(expired, overdue, now, lease)

    def _adopt(self, task_ids: list[str], now: int) -> None:
        """Give the Node service's active tasks the fields that claims and sweeps go by."""
        if not task_ids:
            return
        is_pending = {"$eq": ["$status", PENDING_NAME]}
        created_at = stored_number("created_at", now)
        counted_from = {"$cond": [is_pending, created_at, stored_number("started_at", created_at)]}
        fields = {
            "deadline_at": {"$add": [counted_from, STORED_TIMEOUT]},
            "next_poll_at": {"$cond": [is_pending, created_at, now]},
        }
        unknown = {"task_id": {"$in": task_ids}, "status": {"$in": ACTIVE_NAMES}, "deadline_at": None}
        self._tasks.update_many(unknown, [{"$set": fields}])

    def _claim(self, task_ids: list[str], condition: Document, now: int, lease: int) -> list[Task]:
        if not task_ids:
            return []
        claim_id = self._new_id()
        claim = {"claim_id": claim_id, "next_poll_at": now + lease, "updated_at": now}
        self._tasks.update_many({"task_id": {"$in": task_ids}, **condition}, {"$set": claim})
        return self._claimed(task_ids, claim_id, now)

    def _claimed(self, task_ids: list[str], claim_id: str, now: int) -> list[Task]:
        mine = {"task_id": {"$in": task_ids}, "claim_id": claim_id}
        documents = list(self._tasks.find(mine, WITHOUT_PICTURES))
        tasks = {task.task_id: task for task in tasks_from(documents, self._vault)}
        if len(tasks) < len(documents):
            self._give_up({**mine, "task_id": {"$in": task_ids, "$nin": list(tasks)}}, now)
        return [tasks[task_id] for task_id in task_ids if task_id in tasks]

    def _give_up(self, unreadable: Document, now: int) -> None:
        """End what no poller can read, so that it holds no slot; it has no kind to write a result for."""
        ended = {"status": TaskStatus.FAILED.value, "error_message": UNREADABLE, "completed_at": now, "updated_at": now}
        self._tasks.update_many(unreadable, {"$set": ended, "$unset": {"claim_id": "", "slot": "", "next_poll_at": ""}})


def _among(task_ids: Collection[str] | None) -> dict[str, Any]:
    return {} if task_ids is None else {"task_id": {"$in": list(task_ids)}}
