"""Documents that nobody should have written: they are mended, ended or left out, and harm no other task."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo.database import Database

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.exceptions import TaskConflict
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from tests.contract.samples import HOUR, LEASE, NOW, claim, new_task, node_task

TASKS = "jimeng_free_generation_tasks"


def test_a_document_without_what_the_seed_requires_gets_the_seeds_defaults(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    bare = {"task_id": "bare", "task_type": "video", "server_id": "s1", "status": "pending", "created_at": NOW}
    database[TASKS].insert_one({**bare, "next_poll_at": NOW})

    [task] = mongo_store.claim_pending("s1", mongo_store.survey("s1", 1).pending, [0], NOW, LEASE)

    assert (task.task_timeout, task.deadline_at, task.max_retries, task.poll_interval) == (86_400, NOW + 86_400, 3, 10)


def test_a_document_that_cannot_be_read_harms_no_other(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    database[TASKS].insert_one(node_task("pending", task_id="odd", task_type="song", next_poll_at=NOW))
    mongo_store.submit(new_task())

    refs = mongo_store.survey("s1", 9).startable(NOW)
    claimed = mongo_store.claim_pending("s1", refs, [0, 1], NOW, LEASE)

    assert [task.task_id for task in claimed] == ["t1"]
    odd = database[TASKS].find_one({"task_id": "odd"}) or {}
    assert (odd["status"], "slot" in odd, odd["error_message"]) == ("failed", False, "the stored task cannot be read")
    assert mongo_store.get("odd") is None


def test_housekeeping_frees_the_slot_of_a_task_that_the_node_service_ended(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    claim(mongo_store, new_task())
    database[TASKS].update_one({"task_id": "t1"}, {"$set": {"status": "failed", "updated_at": NOW}})

    mongo_store.clean(NOW, HOUR)

    [task] = claim(mongo_store, new_task("t2"))
    assert task.slot == 0


@pytest.mark.parametrize("odd", [{"status": "cancelled"}, {"status": None}, {}])
def test_numbers_for_operators_leave_out_a_status_that_there_is_not(
    mongo_store: MongoTaskStore, database: Database[Document], odd: Document
) -> None:
    mongo_store.submit(new_task())
    database[TASKS].insert_one({"task_id": "odd", "server_id": "s1", **odd})

    for server_id in (None, "s1"):
        assert sum(mongo_store.stats(server_id, NOW).per_status.values()) == 1


@pytest.mark.parametrize("created_at", ["yesterday", datetime(2026, 1, 1, tzinfo=UTC), None, [], float("nan")])
@pytest.mark.parametrize("status", ["pending", "completed"])
def test_numbers_for_operators_survive_a_time_that_is_none(
    mongo_store: MongoTaskStore, database: Database[Document], status: str, created_at: Any
) -> None:
    database[TASKS].insert_one(node_task(status, created_at=created_at, updated_at=NOW))
    mongo_store.submit(new_task())

    assert mongo_store.stats(None, NOW).per_status[TaskStatus(status)] >= 1
    assert mongo_store.get(status) is not None


def test_an_id_that_belongs_to_an_unreadable_document_is_refused(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    database[TASKS].insert_one(node_task("pending", task_id="t1", task_type="song"))

    with pytest.raises(TaskConflict, match="cannot be read"):
        mongo_store.submit(new_task())


def test_input_pictures_are_read_only_when_they_are_asked_for(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    images = ["http://h.example/1.png", {"url": "http://h.example/2.png", "width": 1}, None, {"width": 2}]
    database[TASKS].insert_one(
        node_task("pending", original_params={"prompt": "p", "images": images}, next_poll_at=NOW)
    )

    [task] = mongo_store.claim_pending("s1", mongo_store.survey("s1", 1).pending, [0], NOW, LEASE)

    assert task.original_params == {"prompt": "p"}
    assert mongo_store.references("pending") == ["http://h.example/1.png", "http://h.example/2.png", "", ""]
    assert mongo_store.references("nobody") == []
