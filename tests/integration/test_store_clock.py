"""The database's clock: hosts with wrong clocks agree on it, and it survives jumps of the host's time."""

import time

import pytest
from pymongo import MongoClient

from jimeng_tasks.store.clock import DatabaseClock, SystemClock
from jimeng_tasks.store.documents import Document


class HostTime:
    """A host's idea of the time, ``wrong_by`` seconds."""

    def __init__(self, wrong_by: float) -> None:
        self.wrong_by = wrong_by

    def __call__(self) -> float:
        return time.time() + self.wrong_by


@pytest.mark.parametrize("wrong_by", [0, 300, -300, 0.4])
def test_hosts_with_wrong_clocks_agree_with_the_database(mongo_client: MongoClient[Document], wrong_by: float) -> None:
    clock = DatabaseClock(mongo_client, base=HostTime(wrong_by))

    # The test's mongod runs on this host, so that its time is this host's.
    assert clock.now() == pytest.approx(time.time(), abs=1.5)


@pytest.mark.parametrize("jump", [3600, 61, -3600])
def test_a_jump_of_the_hosts_time_does_not_move_the_clock(mongo_client: MongoClient[Document], jump: float) -> None:
    host = HostTime(0)
    clock = DatabaseClock(mongo_client, base=host)
    clock.now()

    host.wrong_by = jump

    assert clock.now() == pytest.approx(time.time(), abs=1.5)


def test_within_a_minute_the_clock_follows_the_host(mongo_client: MongoClient[Document]) -> None:
    host = HostTime(0)
    clock = DatabaseClock(mongo_client, base=host)
    before = clock.now()

    host.wrong_by = 50

    assert clock.now() - before == pytest.approx(50, abs=1.5)


def test_the_memory_modes_clock_is_the_hosts() -> None:
    assert SystemClock().now() == pytest.approx(time.time(), abs=1.5)
