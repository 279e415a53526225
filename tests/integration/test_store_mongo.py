"""The MongoDB store's documents: the seed's names and types, and documents that the Node service wrote."""

import time
from contextlib import suppress
from dataclasses import replace

import pytest
from bson import ObjectId
from pymongo.database import Database

from jimeng_tasks.domain.task import FileProgress, InternalParams, Result, ResultMetadata, Strikes, TaskStatus, TaskType
from jimeng_tasks.exceptions import StoreUnavailable
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from tests.contract.samples import HOUR, LEASE, NOW, claim, complete, ended, new_task, node_task, result_of

TASKS = "jimeng_free_generation_tasks"
RESULTS = "jimeng_free_generation_results"


def _stored(database: Database[Document], collection: str, task_id: str = "t1") -> Document:
    document = database[collection].find_one({"task_id": task_id}, {"_id": 0})
    assert document is not None
    return document


# -- what is written


def test_a_new_task_is_stored_with_the_seeds_names_and_types(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    mongo_store.submit(new_task())

    assert _stored(database, TASKS) == {
        "task_id": "t1",
        "task_type": "image",
        "server_id": "s1",
        "original_params": {
            "model": "jimeng-3.0",
            "prompt": "a cat",
        },
        "internal_params": {"refresh_token": "us-secret"},
        "status": "pending",
        "retry_count": 0,
        "max_retries": 3,
        "next_poll_at": NOW,
        "poll_interval": 10,
        "task_timeout": HOUR,
        "created_at": NOW,
        "updated_at": NOW,
        "deadline_at": NOW + HOUR,
        "request_hash": "hash",
        "poll_count": 0,
        "original_urls": [],
        "files": [],
    }


def test_progress_is_stored_as_plain_values_and_fields_that_are_none_are_absent(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    [claimed] = claim(mongo_store, new_task())
    progress = replace(
        claimed,
        slot=None,
        strikes=Strikes(kind="missing", count=1, since=NOW),
        files=(FileProgress(url="u"), FileProgress(attempts=1, error="e")),
    )
    mongo_store.save(claimed, progress)

    document = _stored(database, TASKS)

    assert document["submit_phase"] == "preparing"
    assert document["strikes"] == {"kind": "missing", "count": 1, "since": NOW}
    assert document["files"] == [{"url": "u", "attempts": 0}, {"attempts": 1, "error": "e"}]
    assert None not in document.values()
    assert "slot" not in document


def test_a_finished_task_and_its_result_are_stored_with_the_seeds_names_and_types(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    [claimed] = claim(mongo_store, new_task())
    failed = replace(ended(claimed, TaskStatus.FAILED), error_message="Task timeout", fail_code="1180")
    metadata = ResultMetadata(total_files=1, tos_upload_time=20, tos_upload_errors=("e",), fail_reason="r")

    mongo_store.finish(claimed, failed, result_of(claimed, metadata=metadata))

    task = _stored(database, TASKS)
    assert (task["completed_at"], task["error_message"], task["fail_code"]) == (NOW, "Task timeout", "1180")
    assert not {"claim_id", "slot", "next_poll_at"} & set(task)
    assert _stored(database, RESULTS) == {
        "task_id": "t1",
        "task_type": "image",
        "server_id": "s1",
        "status": "success",
        "original_urls": ["https://jimeng.example/1"],
        "tos_urls": ["https://tos.example/1.png"],
        "metadata": {
            "tos_upload_time": 20,
            "total_files": 1,
            "successful_uploads": 0,
            "tos_upload_errors": ["e"],
            "fail_reason": "r",
        },
        "created_at": NOW,
        "expires_at": NOW + 24 * HOUR,
    }


def test_saving_leaves_fields_alone_that_this_product_does_not_know(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    [claimed] = claim(mongo_store, new_task())
    database[TASKS].update_one({"task_id": "t1"}, {"$set": {"__v": 3, "note": "by hand"}})

    mongo_store.save(claimed, replace(claimed, poll_count=1))

    document = _stored(database, TASKS)
    assert (document["__v"], document["note"], document["poll_count"]) == (3, "by hand", 1)


# -- what the Node service wrote


def test_a_node_task_is_read_with_defaults_for_what_it_lacks(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    database[TASKS].insert_one(
        node_task(
            "polling",
            started_at=NOW - 90.5,
            next_poll_at=None,
            fail_code=1180,
            internal_params={"refresh_token": "secret", "history_id": 4711, "component_id": None},
        )
    )

    task = mongo_store.get("polling")

    assert task == new_task(
        "polling",
        task_type=TaskType.VIDEO,
        original_params={"prompt": "a cat", "is_pro": False, "duration": 5000.0},
        internal_params=InternalParams(refresh_token="secret", history_id="4711"),
        status=TaskStatus.POLLING,
        next_poll_at=None,
        poll_interval=15,
        created_at=NOW - 100,
        updated_at=NOW - 100,
        started_at=NOW - 91,
        fail_code="1180",
        deadline_at=NOW - 91 + HOUR,
        request_hash=None,
    )


def test_node_tasks_are_adopted_by_the_sweep_and_then_claimed_like_any_other(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    database[TASKS].insert_many(
        [
            node_task("pending"),
            node_task("processing", started_at=NOW - 90),
            node_task("polling", started_at=NOW - 90, next_poll_at=NOW + 500),
            node_task("completed", completed_at=NOW - 5),
        ]
    )

    swept = mongo_store.claim_overdue(NOW, 10, LEASE)
    work = mongo_store.survey("s1", 10)
    claimed = mongo_store.claim_due(work.due(NOW), NOW, LEASE) + mongo_store.claim_pending(
        "s1", work.startable(NOW), work.free_slots(3), NOW, LEASE
    )

    assert swept == []
    assert [(ref.task_id, ref.next_poll_at) for ref in work.pending] == [("pending", NOW - 100)]
    assert {task.task_id: (task.status.value, task.deadline_at) for task in claimed} == {
        "processing": ("processing", NOW - 90 + HOUR),
        "polling": ("polling", NOW - 90 + HOUR),
        "pending": ("processing", NOW + HOUR),
    }
    assert "deadline_at" not in _stored(database, TASKS, "completed")


@pytest.mark.parametrize("status", ["pending", "processing", "polling"])
def test_a_node_task_past_its_deadline_is_overdue_at_the_sweep_after_its_adoption(
    mongo_store: MongoTaskStore, database: Database[Document], status: str
) -> None:
    started = {} if status == "pending" else {"started_at": NOW - 2 * HOUR}
    database[TASKS].insert_one(node_task(status, created_at=NOW - 2 * HOUR, **started))

    sweeps = [mongo_store.claim_overdue(NOW, 10, LEASE) for _ in range(2)]

    assert [[task.task_id for task in tasks] for tasks in sweeps] == [[], [status]]


def test_the_sweep_adopts_only_chosen_node_tasks(mongo_store: MongoTaskStore, database: Database[Document]) -> None:
    database[TASKS].insert_many([node_task("pending"), node_task("polling", started_at=NOW)])

    mongo_store.claim_overdue(NOW, 10, LEASE, ["pending"])

    assert _stored(database, TASKS, "pending")["next_poll_at"] == NOW - 100
    assert "deadline_at" not in _stored(database, TASKS, "polling")


def test_a_node_result_is_handed_out(mongo_store: MongoTaskStore, database: Database[Document]) -> None:
    database[TASKS].insert_one(node_task("completed"))
    database[RESULTS].insert_one(
        {
            "_id": ObjectId(),
            "__v": 0,
            "task_id": "completed",
            "task_type": "video",
            "server_id": "s1",
            "status": "success",
            "original_urls": ["o"],
            "tos_urls": ["t"],
            "metadata": {"total_files": 1.0, "successful_uploads": 1.0},
            "created_at": float(NOW),
            "expires_at": NOW + 60.0,
        }
    )

    result = mongo_store.hand_out("completed", NOW, 0)

    assert isinstance(result, Result)
    assert (result.tos_urls, result.expires_at, result.metadata.total_files) == (("t",), NOW + 60, 1)
    assert (database[RESULTS].count_documents({}), _stored(database, TASKS, "completed")["consumed_at"]) == (0, NOW)


def test_a_result_that_the_node_service_left_behind_does_not_keep_its_task_from_ending(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    [claimed] = claim(mongo_store, new_task())
    database[RESULTS].insert_one({"task_id": "t1", "status": "failed", "tos_urls": []})

    mongo_store.finish(claimed, ended(claimed), result_of(claimed))

    assert mongo_store.hand_out("t1", NOW, 0) == result_of(claimed)
    assert database[RESULTS].count_documents({}) == 0


def test_a_result_outlives_its_task(mongo_store: MongoTaskStore, database: Database[Document]) -> None:
    result = complete(mongo_store, new_task())
    database[TASKS].delete_one({"task_id": "t1"})

    assert mongo_store.hand_out("t1", NOW, 0) == result


def test_a_server_that_the_node_service_wrote_is_listed_and_can_be_taken_over(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    database["jimeng_free_servers"].insert_one({"_id": ObjectId(), "__v": 0, "server_id": "s1", "load": 2.0})

    [server] = mongo_store.servers()

    assert (server.server_id, server.load, server.is_online(NOW)) == ("s1", 2, False)
    assert mongo_store.heartbeat(replace(server, last_heartbeat_at=NOW), "me", NOW + 60)
    assert mongo_store.servers()[0].is_online(NOW)


def test_only_the_time_of_calls_counts_against_the_time_of_a_request(mongo_store: MongoTaskStore) -> None:
    mongo_store.submit(new_task())
    with mongo_store.within(0.5):
        time.sleep(0.7)
        assert mongo_store.get("t1") is not None


def test_calls_that_used_up_the_time_of_a_request_are_the_last_ones(mongo_store: MongoTaskStore) -> None:
    with mongo_store.within(0.001):
        with suppress(StoreUnavailable):
            mongo_store.get("t1")
        with pytest.raises(StoreUnavailable):
            mongo_store.get("t1")
