"""The trouble of one task stays its own."""

from typing import Any

import pytest
from pymongo.database import Database

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.store.documents import Document, to_document
from jimeng_tasks.store.mongo import MongoTaskStore

from .scripted_provider import done
from .world import INTERVAL, Context, World

FAULT = RuntimeError("a fault of our own")


def test_an_exception_while_one_task_is_prepared(world: World) -> None:
    for name in ("t1", "t2", "t3"):
        world.post(name)
    world.provider.on_prepare["t2"].append(FAULT)
    world.tick()
    assert world.states("t1", "t2", "t3") == ["polling", "pending", "polling"]
    assert (world.task("t2").slot, world.task("t2").retry_count) == (None, 1)
    world.tick_after(world.policy.retry_delay)
    assert world.states("t2") == ["polling"]


@pytest.mark.parametrize("images", [["http://h.example/1.png"], [None], [{"width": 1}], "http://h.example/1.png", 7])
def test_input_pictures_that_an_older_writer_left_in_another_form(world: World, images: Any) -> None:
    world.post("t1", images=images)
    world.post("t2")
    world.tick()
    assert world.states("t2") == ["polling"]
    assert world.task("t1").status in (TaskStatus.POLLING, TaskStatus.FAILED), "it holds no slot for ever"


def test_an_exception_while_one_task_is_submitted(world: World) -> None:
    for name in ("t1", "t2", "t3"):
        world.post(name)
    world.provider.on_submit["t1"].append(FAULT)
    summary = world.tick()
    assert world.states("t1", "t2", "t3") == ["processing", "polling", "polling"]
    assert summary["submitted"] == 2
    assert world.metrics.totals["poller_errors"] == 1


def test_an_exception_while_one_account_is_polled(world: World) -> None:
    world.post("t1", account="a")
    world.post("t2", account="b")
    world.tick()
    world.provider.on_poll["t1"].append(FAULT)
    world.provider.on_poll["t2"].append(done("https://j.example/2"))
    world.tick_after(INTERVAL)
    assert world.states("t1", "t2") == ["polling", "completed"]
    world.provider.on_poll["t1"].append(done("https://j.example/1"))
    world.tick_after(world.policy.lease)
    assert world.states("t1") == ["completed"]


def test_an_answer_that_always_breaks_its_reader_does_not_hold_up_the_account(world: World) -> None:
    """One record of the shared request can never be read; the account's other task must still come to its end."""
    world.post("t1")
    world.post("t2")
    world.tick()
    world.provider.on_poll["t1"].extend([FAULT] * 50)
    world.provider.on_poll["t2"].extend([done("https://j.example/2")] * 50)
    for _ in range(5):
        world.tick_after(world.policy.lease)
    assert world.states("t1", "t2") == ["polling", "completed"]


def test_an_exception_in_one_transfer(world: World) -> None:
    assert world.storage
    for name in ("t1", "t2"):
        world.post(name)
    world.tick()
    for name in ("t1", "t2"):
        world.provider.on_poll[name].append(done(f"https://j.example/{name}"))
    world.storage.troubles["t1/0.png"].append(FAULT)
    world.tick_after(INTERVAL)
    assert world.states("t1", "t2") == ["polling", "completed"]


@pytest.mark.parametrize(
    "fault",
    [
        {"task_type": "audio"},
        {"poll_interval": None},
        {"max_retries": None},
        {"internal_params": {}},
        {"original_params": {"prompt": "bad", "images": "no list"}},
        {"task_timeout": "an hour"},
    ],
    ids=lambda fault: next(iter(fault)),
)
@pytest.mark.parametrize("age", [0, 7200], ids=["in time", "overdue"])
def test_a_damaged_document_stops_nobody_else(
    mongo_store: MongoTaskStore, database: Database[Document], fault: dict[str, Any], age: int
) -> None:
    """Somebody wrote a task by hand, or an older program did: its neighbours are served as ever."""
    world = World(mongo_store)
    bad = world.task_now("bad", created_at=world.clock.now() - age, deadline_at=world.clock.now() - age + 3600)
    database["jimeng_free_generation_tasks"].insert_one(to_document(bad) | fault)
    world.post("good")
    for _ in range(3):
        summary = world.handler()({"ticks": 1}, Context())
        assert summary["stop_reason"] == "ticks_done"
        world.clock.advance(INTERVAL)
    assert world.states("good") == ["polling"]
