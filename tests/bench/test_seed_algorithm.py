"""The baseline does what the ordered document says, so that it is worth being compared with."""

import time

from pymongo.database import Database

from bench.stage import Document
from bench.stored import new_task, polling_task
from jimeng_tasks.store.documents import to_document
from tests.bench.seed_algorithm import MAX_CONCURRENT_TASKS, TaskPollingService

SERVICE = "seed-0"


def test_it_starts_the_oldest_pending_tasks_three_at_a_tick(database: Database[Document]) -> None:
    now = int(time.time())
    tasks = database["tasks"]
    tasks.insert_many([{**to_document(new_task(f"p-{n}", now - n)), "server_id": SERVICE} for n in range(5)])
    asked: list[str] = []

    TaskPollingService(tasks, SERVICE, lambda task: asked.append(task["task_id"])).process_tasks()

    assert asked == ["p-4", "p-3", "p-2"]
    assert len(asked) == MAX_CONCURRENT_TASKS
    assert tasks.count_documents({"status": "polling", "next_poll_at": {"$gt": now}}) == len(asked)
    assert tasks.count_documents({"status": "pending"}) == 2


def test_it_asks_for_each_due_task_alone_and_moves_it_on(database: Database[Document]) -> None:
    now = int(time.time())
    tasks = database["tasks"]
    due = [to_document(polling_task(f"d-{n}", now - 1, SERVICE, n)) for n in range(4)]
    later = to_document(polling_task("later", now, SERVICE, 9, due=60))
    tasks.insert_many([*due, later])
    asked: list[str] = []

    number = TaskPollingService(tasks, SERVICE, lambda task: asked.append(task["task_id"])).check_polling_tasks()

    assert number == len(asked) == 4
    assert "later" not in asked
    assert tasks.count_documents({"next_poll_at": {"$gt": now}}) == 5


def test_it_finds_tasks_that_ran_too_long(database: Database[Document]) -> None:
    now = int(time.time())
    tasks = database["tasks"]
    document = to_document(polling_task("old", now, SERVICE, 1))
    tasks.insert_one({**document, "started_at": now - document["task_timeout"] - 1})
    tasks.insert_one({**document, "_id": "fresh", "task_id": "fresh", "started_at": now})

    assert TaskPollingService(tasks, SERVICE, lambda _: None).check_timeout_tasks() == 1
