"""MongoDB goes away under the poller: it stops in order, and the next invocation carries on."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.store.clock import DatabaseClock
from jimeng_tasks.store.mongo import MongoTaskStore, connect
from local.mongodb import Mongod

from .world import INTERVAL, Context, World

NOBODY = "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=100"


@pytest.fixture(scope="module")
def server() -> Iterator[Mongod]:
    with Mongod() as server:
        yield server


@pytest.fixture
def world(server: Mongod) -> Iterator[World]:
    with connect(f"{server.uri}&serverSelectionTimeoutMS=300&connectTimeoutMS=300", timeout_ms=1000) as client:
        client.drop_database("outage")
        store = MongoTaskStore(client, "outage")
        store.prepare()
        yield World(store)


def test_an_outage_at_the_start_is_a_reason_to_stop_and_no_exception(world: World, server: Mongod) -> None:
    world.post()
    server.kill()
    try:
        summary = world.handler()({}, Context())
    finally:
        server.restart()
    assert (summary["stop_reason"], summary["ticks"]) == ("store_unavailable", 0)
    assert world.handler()({"ticks": 1}, Context())["submitted"] == 1


def test_an_outage_during_the_paid_call_does_not_pay_twice(world: World, server: Mongod) -> None:
    world.post()
    world.provider.on_submit["t1"].append(server.kill)
    summary = world.handler()({"ticks": 1}, Context())
    server.restart()
    assert summary["stop_reason"] == "store_unavailable"
    assert world.task().status is TaskStatus.PROCESSING
    world.clock.advance(world.policy.submit_lease)
    world.handler()({"ticks": 1}, Context())
    assert world.task().status is TaskStatus.POLLING
    assert world.provider.paid() == ["t1"]


def test_an_outage_while_polling_loses_nothing(world: World, server: Mongod) -> None:
    world.post_accepted()
    world.provider.before_poll["token-a"] = server.kill
    summary = world.handler()({"ticks": 1}, Context())
    server.restart()
    assert summary["stop_reason"] == "store_unavailable"
    world.provider.before_poll.clear()
    world.clock.advance(world.policy.lease)
    world.handler()({"ticks": 1}, Context())
    assert (world.task().status, world.task().poll_count) == (TaskStatus.POLLING, 1)
    world.clock.advance(INTERVAL)


def test_a_cold_start_without_database_stops_in_order_too() -> None:
    """Not even the time is known: the clock is the database's, and it never answered."""
    with connect(NOBODY, timeout_ms=200) as client:
        world = World(MongoTaskStore(client, "nowhere"))
        handler = world.handler()
        handler = replace(handler, new_job_context=lambda: replace(world.ctx(), clock=DatabaseClock(client)))
        summary = handler({}, Context())
    assert summary["stop_reason"] == "store_unavailable"
