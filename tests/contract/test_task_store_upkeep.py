"""Servers, leases, housekeeping, clean-up and numbers."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.domain.workload import Server
from tests.contract.samples import HOUR, NOW, claim, complete, ended, new_task, result_of, start_polling

WEEK = 7 * 24 * HOUR


def a_server(server_id: str = "s1", *, at: int = NOW, load: int = 0) -> Server:
    return Server(server_id=server_id, status="online", last_heartbeat_at=at, load=load, version="0.1.0")


def test_a_prepared_store_answers_and_can_be_prepared_again(store: TaskStore) -> None:
    store.submit(new_task())

    store.prepare()
    store.ping()
    store.ping()

    assert store.get("t1") == new_task()
    assert store.servers() == []


# -- heartbeats and service leases


def test_the_last_heartbeat_of_each_service_is_kept(store: TaskStore) -> None:
    store.heartbeat(a_server("s2"), "a", NOW + 60)
    store.heartbeat(a_server("s1"), "b", NOW + 60)
    store.heartbeat(a_server("s1", at=NOW + 30, load=3), "b", NOW + 90)

    assert store.servers() == [a_server("s1", at=NOW + 30, load=3), a_server("s2")]


def test_a_second_owner_waits_until_the_lease_ends_and_writes_nothing_meanwhile(store: TaskStore) -> None:
    store.heartbeat(a_server(), "first", NOW + 60)

    assert not store.heartbeat(a_server(at=NOW + 59, load=9), "second", NOW + 119)
    assert store.servers() == [a_server()]
    assert store.heartbeat(a_server(at=NOW + 60), "second", NOW + 120)
    assert not store.heartbeat(a_server(at=NOW + 61), "first", NOW + 121)


def test_the_owner_renews_its_lease_and_other_services_are_not_concerned(store: TaskStore) -> None:
    store.heartbeat(a_server(), "first", NOW + 60)

    assert store.heartbeat(a_server(at=NOW + 30), "first", NOW + 90)
    assert not store.heartbeat(a_server(at=NOW + 89), "second", NOW + 149)
    assert store.heartbeat(a_server("s2"), "second", NOW + 60)


def test_a_released_service_is_free_at_once_but_only_its_owner_can_release_it(store: TaskStore) -> None:
    store.heartbeat(a_server(), "first", NOW + 60)

    store.release_service("s1", "second")
    assert not store.heartbeat(a_server(at=NOW + 1), "second", NOW + 61)
    store.release_service("s1", "first")
    assert store.heartbeat(a_server(at=NOW + 1), "second", NOW + 61)
    store.release_service("nobody", "first")


def test_of_simultaneous_first_heartbeats_one_gets_the_lease(store: TaskStore) -> None:
    def beat(owner: str) -> bool:
        return store.heartbeat(a_server(), owner, NOW + 60)

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(beat, "abcdefgh")) == 1


# -- housekeeping


def test_housekeeping_is_claimed_once_per_period(store: TaskStore) -> None:
    times = [NOW, NOW, NOW + HOUR - 1, NOW + HOUR, NOW + HOUR]

    assert [store.claim_housekeeping(now, HOUR) for now in times] == [True, False, False, True, False]


def test_of_simultaneous_callers_one_claims_the_housekeeping(store: TaskStore) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(lambda _: store.claim_housekeeping(NOW, HOUR), range(8))) == 1


def test_expired_results_are_deleted_and_others_stay(store: TaskStore) -> None:
    old, fresh = new_task("old"), new_task("fresh")
    complete(store, old, result=result_of(old, expires_at=NOW + 10))
    complete(store, fresh, result=result_of(fresh, expires_at=NOW + 11))

    assert store.clean(NOW + 11, WEEK) == 1
    assert store.hand_out("fresh", NOW, 0) is not None
    assert store.hand_out("old", NOW, 0) is None
    assert store.get("old") is not None


def test_terminal_tasks_past_retention_are_deleted_and_active_ones_never(store: TaskStore) -> None:
    complete(store, new_task("old"), now=NOW)
    complete(store, new_task("fresh"), now=NOW + 1)
    store.submit(new_task("pending", created_at=NOW - WEEK))
    start_polling(store, new_task("polling"))

    deleted = store.clean(NOW + WEEK + 1, WEEK)

    assert deleted == 3, "both results and the older task"
    assert [name for name in ("old", "fresh", "pending", "polling") if store.get(name)] == [
        "fresh",
        "pending",
        "polling",
    ]


def test_an_id_is_free_again_after_its_task_was_deleted(store: TaskStore) -> None:
    complete(store, new_task())
    store.clean(NOW + 2 * WEEK, WEEK)
    again = new_task(created_at=NOW + 2 * WEEK)

    assert store.submit(again) == again
    assert [ref.task_id for ref in store.survey("s1", 10).pending] == ["t1"]


# -- stats


def test_an_empty_store_has_zero_of_everything(store: TaskStore) -> None:
    stats = store.stats(None, NOW)

    assert dict(stats.per_status) == dict.fromkeys(TaskStatus, 0)
    assert stats.load_per_server == {}
    assert (stats.oldest_pending_age, stats.mean_task_seconds, stats.error_rate) == (None, None, None)


@pytest.fixture
def busy_store(store: TaskStore) -> TaskStore:
    """Two services; on the first two tasks pending, one processing, one polling, one completed, one failed."""
    claim(store, new_task("processing"), slots=[0])
    claim(store, new_task("other", server_id="s2"), slots=[0])
    [polled] = claim(store, new_task("polling"), slots=[1])
    store.save(polled, replace(polled, status=TaskStatus.POLLING))
    [good] = claim(store, new_task("good"), slots=[2])
    store.finish(good, ended(good, now=NOW + 40), result_of(good))
    [bad] = claim(store, new_task("bad"), slots=[2])
    store.finish(bad, ended(bad, TaskStatus.FAILED, now=NOW + 60), result_of(bad))
    [ancient] = claim(
        store, new_task("ancient", server_id="s2", created_at=NOW - 2 * HOUR), now=NOW - HOUR - 1, slots=[1]
    )
    store.finish(ancient, ended(ancient, TaskStatus.FAILED, now=NOW - HOUR), result_of(ancient))
    store.submit(new_task("pending", created_at=NOW - 20))
    store.submit(new_task("retried", created_at=NOW - 30, next_poll_at=NOW + HOUR))
    return store


def test_stats_of_one_service(busy_store: TaskStore) -> None:
    stats = busy_store.stats("s1", NOW + 60)

    assert {status.value: count for status, count in stats.per_status.items()} == {
        "pending": 2,
        "processing": 1,
        "polling": 1,
        "completed": 1,
        "failed": 1,
    }
    assert stats.load_per_server == {"s1": 2}
    assert (stats.oldest_pending_age, stats.mean_task_seconds, stats.error_rate) == (90, 50, 0.5)


def test_stats_of_all_services(busy_store: TaskStore) -> None:
    stats = busy_store.stats(None, NOW + 60)

    assert (stats.per_status[TaskStatus.PROCESSING], stats.per_status[TaskStatus.FAILED]) == (2, 2)
    assert stats.load_per_server == {"s1": 2, "s2": 1}
    assert stats.error_rate == 0.5, "the task that ended over an hour ago does not count"


def test_stats_of_an_unknown_service_are_empty(busy_store: TaskStore) -> None:
    assert busy_store.stats("nobody", NOW) == busy_store.stats("nothing", NOW)
    assert sum(busy_store.stats("nobody", NOW).per_status.values()) == 0
