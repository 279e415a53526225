"""MongoDB gone, frozen and back again, with one and the same client."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.domain.workload import Server, TaskRef
from jimeng_tasks.exceptions import SettingsError, StoreUnavailable
from jimeng_tasks.store.clock import DatabaseClock
from jimeng_tasks.store.mongo import MongoTaskStore, connect
from local.mongodb import Mongod
from tests.contract.samples import HOUR, LEASE, NOW, claim, ended, new_task, result_of

REPORTED_WITHIN = 5.0

HELD = new_task("held", claim_id="c", status=TaskStatus.POLLING)
REF = TaskRef(task_id="held", status=TaskStatus.POLLING, next_poll_at=NOW)
SERVER = Server(server_id="s1", status="online", last_heartbeat_at=NOW, load=0, version="1")

CALLS: dict[str, Callable[[MongoTaskStore], object]] = {
    "prepare": lambda store: store.prepare(),
    "ping": lambda store: store.ping(),
    "submit": lambda store: store.submit(new_task("new")),
    "get": lambda store: store.get("held"),
    "hand_out": lambda store: store.hand_out("held", NOW, 0),
    "survey": lambda store: store.survey("s1", 5),
    "claim_pending": lambda store: store.claim_pending("s1", [REF], [0], NOW, LEASE),
    "claim_due": lambda store: store.claim_due([REF], NOW, LEASE),
    "claim_overdue": lambda store: store.claim_overdue(NOW, 5, LEASE),
    "save": lambda store: store.save(HELD, HELD),
    "save_many": lambda store: store.save_many([(HELD, HELD)]),
    "finish": lambda store: store.finish(HELD, ended(HELD), result_of(HELD)),
    "heartbeat": lambda store: store.heartbeat(SERVER, "me", NOW + 60),
    "release_service": lambda store: store.release_service("s1", "me"),
    "servers": lambda store: store.servers(),
    "claim_housekeeping": lambda store: store.claim_housekeeping(NOW, HOUR),
    "clean": lambda store: store.clean(NOW, HOUR),
    "stats": lambda store: store.stats(None, NOW),
}


@pytest.fixture(scope="module")
def mongod() -> Iterator[Mongod]:
    """A mongod that these tests may hurt."""
    with Mongod() as server:
        yield server


@pytest.fixture
def store(mongod: Mongod) -> Iterator[MongoTaskStore]:
    with connect(mongod.uri) as client:
        store = MongoTaskStore(client, f"test_{uuid4().hex}")
        store.prepare()
        yield store


def _outcome(store: MongoTaskStore, name: str) -> tuple[str, str, bool]:
    began = time.monotonic()
    try:
        CALLS[name](store)
    except StoreUnavailable as error:
        return name, str(error), time.monotonic() - began < REPORTED_WITHIN
    return name, "it worked", False


def _every_call_is_reported(store: MongoTaskStore) -> None:
    with ThreadPoolExecutor(len(CALLS)) as threads:
        outcomes = list(threads.map(lambda name: _outcome(store, name), CALLS))
    messages = {name: message for name, message, _ in outcomes if "MongoDB did not serve" not in message}
    late = [name for name, _, in_time in outcomes if not in_time]
    assert (messages, late) == ({}, [])
    assert not any("127.0.0.1" in message or "mongodb://" in message for _, message, _ in outcomes)


def test_a_killed_database_is_reported_within_5_seconds_and_used_again_once_it_is_back(
    mongod: Mongod, store: MongoTaskStore
) -> None:
    [held] = claim(store, new_task())

    mongod.kill()
    _every_call_is_reported(store)
    mongod.restart()

    store.finish(held, ended(held), result_of(held))
    assert store.hand_out("t1", NOW, 0) == result_of(held)
    assert store.submit(new_task("t2")) == store.get("t2")


def test_a_frozen_database_is_reported_within_5_seconds_and_used_again_once_it_thaws(
    mongod: Mongod, store: MongoTaskStore
) -> None:
    [held] = claim(store, new_task())

    mongod.freeze()
    try:
        _every_call_is_reported(store)
    finally:
        mongod.thaw()

    store.save(held, held)
    assert store.get("t1") == held


def test_a_database_that_restarts_between_two_calls_is_not_noticed(mongod: Mongod, store: MongoTaskStore) -> None:
    store.submit(new_task())

    mongod.restart()

    assert store.get("t1") == new_task()
    mongod.restart()
    assert [task.task_id for task in claim(store, new_task())] == ["t1"]


def test_the_databases_clock_goes_on_while_the_database_is_away(mongod: Mongod) -> None:
    hours_passed = 0.0
    with connect(mongod.uri, timeout_ms=500) as client:
        clock = DatabaseClock(client, base=lambda: time.time() + hours_passed * HOUR)
        before = clock.now()

        mongod.kill()
        hours_passed = 1
        after = clock.now()
        mongod.restart()

    assert 0 <= after - before - HOUR <= 10


def test_without_a_database_there_is_no_first_time() -> None:
    with connect("mongodb://127.0.0.1:1/?replicaSet=rs0", timeout_ms=200) as client, pytest.raises(StoreUnavailable):
        DatabaseClock(client).now()


@pytest.mark.parametrize("uri", ["mongodb://", "mongodb://user:p@ss:word@host/", "mongodb://host:word/"])
def test_a_malformed_address_is_refused_by_name_without_quoting_it(uri: str) -> None:
    with pytest.raises(SettingsError, match="MONGODB_URI") as caught:
        connect(uri)

    assert "word" not in str(caught.value)
    assert caught.value.__suppress_context__
