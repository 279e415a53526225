"""MongoDB fails under the API: every route that needs it answers 503 with Retry-After within 5 s, and serves again."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from jimeng_tasks.store.clock import DatabaseClock
from jimeng_tasks.store.mongo import connect
from tests.faults.api_site import ROUTES, ApiSite, faults_of, serving_api
from tests.faults.deployment import Deployment, deployed
from tests.faults.mongods import COMMANDS, WRITES, FailingMongod
from tests.faults.proxy import MongoProxy
from tests.faults.soak import SOAK_SECONDS

STALE = 61  # seconds after which the database's clock is measured anew
RECOVERY_SECONDS = 20
SEVERAL = ["post image", "post video", "query image", "stats", "health"]


@dataclass
class Stack:
    """Two containers over one database: one in use, one whose clock can be made old; fresh ones are made of it."""

    mongod: FailingMongod
    proxy: MongoProxy
    deployment: Deployment
    warm: ApiSite
    old_clock: ApiSite
    grow_old: Callable[[], None]

    @contextmanager
    def fresh(self) -> Iterator[ApiSite]:
        """A container that has never been asked."""
        deployment = Deployment(self.deployment.settings)
        with serving_api(deployment) as site:
            yield site
        deployment.close()

    def heal(self) -> None:
        self.proxy.heal()
        self.mongod.thaw()
        self.mongod.restart_if_dead()
        self.mongod.heal()
        for site in (self.warm, self.old_clock):
            deadline = time.monotonic() + RECOVERY_SECONDS
            while site.call("health").status != 200:
                assert time.monotonic() < deadline, "the API does not recover"


def _with_old_clock(proxy: MongoProxy, deployment: Deployment, cleanup: ExitStack) -> Callable[[], None]:
    ages = [0.0]
    client = cleanup.enter_context(connect(proxy.uri))
    deployment.container.clock = DatabaseClock(client, base=lambda: time.time() + ages[0])
    return lambda: ages.__setitem__(0, ages[0] + STALE)


@pytest.fixture(scope="module")
def stack(mongod: FailingMongod, jimeng: str) -> Iterator[Stack]:
    with ExitStack() as cleanup:
        proxy = cleanup.enter_context(MongoProxy(mongod.port).running())
        warm, old = (cleanup.enter_context(deployed(proxy.uri, jimeng)) for _ in range(2))
        grow_old = _with_old_clock(proxy, old, cleanup)
        in_use, idle = (cleanup.enter_context(serving_api(deployment)) for deployment in (warm, old))
        yield Stack(mongod, proxy, warm, in_use, idle, grow_old)


@pytest.fixture(autouse=True)
def healthy(stack: Stack) -> Iterator[None]:
    assert {said.status for site in (stack.warm, stack.old_clock) for said in site.call_all().values()} == {200}
    yield
    stack.heal()


OUT_OF_REACH: dict[str, Callable[[Stack], object]] = {
    "half open": lambda stack: stack.proxy.stall(),
    "frozen": lambda stack: stack.mongod.freeze(),
    "killed": lambda stack: stack.mongod.kill(),
    "refused": lambda stack: stack.proxy.refuse(),
    "slow": lambda stack: setattr(stack.proxy, "delay", 20.0),
}
FAILING: dict[str, dict[str, Any]] = {
    "disk full": {"errorCode": 14031},
    "no rights": {"errorCode": 13},
    "operation took too long": {"errorCode": 50},
    "not primary": {"errorCode": 10107},
    "connection closed": {"closeConnection": True},
    "interrupted by a change of state": {"errorCode": 11602},
    "shutting down": {"errorCode": 91},
    "blocked": {"blockConnection": True, "blockTimeMS": 6000},
}


def bounded[T](faults: Mapping[str, T], count: int) -> list[str]:
    return list(faults) if SOAK_SECONDS else list(faults)[:count]


@pytest.mark.parametrize("fault", bounded(OUT_OF_REACH, 3))
def test_a_database_out_of_reach(stack: Stack, fault: str) -> None:
    """Whatever state the container is in: in use, idle for a minute, or fresh and asked by several at once."""
    stack.grow_old()
    with stack.fresh() as unused, ThreadPoolExecutor(2 + len(SEVERAL)) as threads:
        OUT_OF_REACH[fault](stack)
        warm = threads.submit(stack.warm.call_all)
        old_clock = {name: threads.submit(stack.old_clock.call, name) for name in ("post image", "stats")}
        fresh = threads.submit(unused.call_all, SEVERAL)
        wait([warm, fresh])
        wait(old_clock.values())
        stack.heal()

    assert faults_of(warm.result()) == {}
    assert faults_of({name: said.result() for name, said in old_clock.items()}) == {}
    assert faults_of(fresh.result()) == {}
    assert served(stack.warm) == dict.fromkeys(ROUTES, 200)


@pytest.mark.parametrize("fault", bounded(FAILING, 4))
def test_a_database_that_fails_every_command(stack: Stack, fault: str) -> None:
    stack.mongod.fail("alwaysOn", COMMANDS, **FAILING[fault])

    said = stack.warm.call_all()

    stack.heal()
    assert faults_of(said) == {}
    assert served(stack.warm) == dict.fromkeys(ROUTES, 200)


@pytest.mark.parametrize("code", [64, 100, 14031])
def test_a_write_that_is_applied_but_not_confirmed(stack: Stack, code: int) -> None:
    """The client repeats its request with the same id and gets the one task."""
    task_id = uuid4().hex
    error = {"code": code, "errmsg": "waiting for replication failed"}
    stack.mongod.fail("alwaysOn", WRITES, writeConcernError=error)
    said = stack.warm.call("post image", task_id)
    stack.mongod.heal()

    again = stack.warm.call("post image", task_id)

    assert faults_of({"post image": said}) == {}
    assert (again.status, again.body["data"]["state"]) == (200, "pending")


@pytest.mark.parametrize("code", [10107, 11602, 6])
def test_one_failure_is_overcome_without_a_word(stack: Stack, code: int) -> None:
    stack.mongod.fail({"times": 1}, COMMANDS, errorCode=code)

    assert stack.warm.call("post image").status == 200


def test_a_connection_that_died_unseen_while_the_container_was_frozen(stack: Stack) -> None:
    with stack.fresh() as site:
        assert site.call("post image").status == 200
        stack.proxy.abandon()

        first, second = site.call("post image"), site.call("post image")

        stack.proxy.cut()
    assert first.status == 200 or faults_of({"first": first}) == {}
    assert second.status == 200


def served(site: ApiSite) -> dict[str, int]:
    return {name: said.status for name, said in site.call_all().items()}
