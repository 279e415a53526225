"""MongoDB fails under the pollers: each invocation returns in order, the next ones carry on, nothing is paid twice."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from tests.faults.deployment import Deployment, assert_paid_once, deployed
from tests.faults.mongods import COMMANDS, WRITES, FailingMongod, ReplicaSet, frozen
from tests.faults.proxy import MongoProxy
from tests.faults.soak import SOAK_SECONDS, rounds, spread

MOST_COMMANDS = 40  # of one task's life
LEASE = 130  # seconds; past every lease
PATIENCE = 20.0  # seconds that an invocation may take to give up

COMMAND_FAILURES: list[dict[str, Any]] = [{"errorCode": 14031}, {"errorCode": 13}, {"errorCode": 50}]


@pytest.fixture
def proxy(mongod: FailingMongod) -> Iterator[MongoProxy]:
    with MongoProxy(mongod.port).running() as proxy:
        yield proxy
        mongod.heal()


@pytest.fixture(scope="module")
def replica_set() -> Iterator[ReplicaSet]:
    with ReplicaSet() as replica_set:
        yield replica_set


def finish(deployment: Deployment, mongodb_uri: str, jimeng: str, task_ids: list[str]) -> None:
    """After the fault: claims of lost invocations run out, the work is finished, and the books are right."""
    deployment.clock.advance(LEASE)
    deployment.work(task_ids)
    assert_paid_once(mongodb_uri, deployment.settings, jimeng, task_ids)


# -- one command, wherever it falls


@pytest.mark.parametrize("number", spread(MOST_COMMANDS, 12))
def test_an_outage_that_begins_at_any_command(mongod: FailingMongod, jimeng: str, number: int) -> None:
    with deployed(mongod.uri, jimeng) as deployment:
        task_ids = [deployment.post()]
        mongod.fail({"skip": number}, COMMANDS, **COMMAND_FAILURES[number % len(COMMAND_FAILURES)])
        reasons = []
        for _ in range(5):
            reasons.append(deployment.invoke()["stop_reason"])
            deployment.clock.advance(11)
            time.sleep(0.1)
        mongod.heal()

        assert "store_unavailable" in reasons
        finish(deployment, mongod.uri, jimeng, task_ids)


@pytest.mark.parametrize(("kind", "replies"), [("cut", 2), ("silent", 1)])
def test_any_command_is_carried_out_and_its_reply_lost(
    mongod: FailingMongod, jimeng: str, kind: str, replies: int
) -> None:
    """The poller that is cut off hears of its write from the driver's repeat; after a silence it never does."""

    def lose(number: int) -> str:
        with MongoProxy(mongod.port).running() as proxy, deployed(proxy.uri, jimeng) as deployment:
            task_ids = [deployment.post()]
            proxy.lose_replies(number, replies, silently=kind == "silent")
            for _ in range(4):
                deployment.invoke()
                deployment.clock.advance(11)
            lost = proxy.lost
            proxy.heal()
            proxy.cut()
            finish(deployment, mongod.uri, jimeng, task_ids)
        return f"{lost} lost"

    numbers = spread(MOST_COMMANDS, 12)
    with ThreadPoolExecutor(12) as threads:
        assert set(threads.map(lose, numbers)) == {f"{replies} lost"}


@pytest.mark.parametrize("code", [64, 14031])
def test_writes_that_are_applied_but_not_confirmed(mongod: FailingMongod, jimeng: str, code: int) -> None:
    with deployed(mongod.uri, jimeng) as deployment:
        task_ids = [deployment.post() for _ in range(3)]
        error = {"code": code, "errmsg": "waiting for replication failed"}
        mongod.fail({"activationProbability": 0.5}, WRITES, writeConcernError=error)
        for _ in range(6):
            deployment.invoke()
            deployment.clock.advance(11)
        mongod.heal()

        finish(deployment, mongod.uri, jimeng, task_ids)


# -- the connection


@pytest.mark.parametrize("fault", ["half open", "frozen", "refused"] if SOAK_SECONDS else ["half open", "frozen"])
def test_an_invocation_gives_up_in_order_and_the_next_carries_on(
    mongod: FailingMongod, proxy: MongoProxy, jimeng: str, fault: str
) -> None:
    with deployed(proxy.uri, jimeng) as deployment:
        task_ids = [deployment.post() for _ in range(3)]
        deployment.invoke()
        deployment.clock.advance(11)
        began = time.monotonic()
        summary = _invoke_during(fault, mongod, proxy, deployment)
        took = time.monotonic() - began

        assert (summary["stop_reason"], took < PATIENCE) == ("store_unavailable", True)
        finish(deployment, mongod.uri, jimeng, task_ids)


def _invoke_during(fault: str, mongod: FailingMongod, proxy: MongoProxy, deployment: Deployment) -> dict[str, Any]:
    if fault == "frozen":
        with frozen(mongod):
            return deployment.invoke()
    (proxy.stall if fault == "half open" else proxy.refuse)()
    try:
        return deployment.invoke()
    finally:
        proxy.heal()


# -- under load


class Load:
    """Clients that post, and two pollers, over one database that a test hurts meanwhile."""

    def __init__(self, deployments: list[Deployment]) -> None:
        self.task_ids: list[str] = []
        self._deployments = deployments
        self._is_over = False
        self._threads = ThreadPoolExecutor(3)
        self._jobs: list[Future[None]] = []

    def __enter__(self) -> "Load":
        self._jobs = [self._threads.submit(self._poll, deployment) for deployment in self._deployments]
        self._jobs.append(self._threads.submit(self._post))
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._threads.shutdown()
        for job in self._jobs:
            job.result()

    def _post(self) -> None:
        while not self._is_over:
            self.task_ids.append(self._deployments[0].post_stubbornly("a boat", uuid4().hex))
            time.sleep(0.1)

    def _poll(self, deployment: Deployment) -> None:
        while not self._is_over:
            deployment.invoke()
            deployment.clock.advance(1)
            time.sleep(0.05)


def test_mongod_is_killed_and_restarted_under_load(mongod: FailingMongod, jimeng: str) -> None:
    chance = random.Random(7)
    with deployed(mongod.uri, jimeng) as deployment:
        other = Deployment(deployment.settings)
        with Load([deployment, other]) as load:
            for _ in range(rounds(2)):
                time.sleep(chance.uniform(0.2, 1.0))
                mongod.kill()
                time.sleep(chance.uniform(0.0, 0.5))
                mongod.restart()
        other.close()

        assert len(load.task_ids) > 3
        finish(deployment, mongod.uri, jimeng, load.task_ids)


def test_connections_are_cut_again_and_again_under_load(mongod: FailingMongod, proxy: MongoProxy, jimeng: str) -> None:
    chance = random.Random(11)
    with deployed(proxy.uri, jimeng) as deployment:
        other = Deployment(deployment.settings)
        with Load([deployment, other]) as load:
            for _ in range(rounds(10)):
                time.sleep(chance.uniform(0.05, 0.4))
                proxy.delay = chance.choice([0.0, 0.05])
                proxy.cut()
        proxy.heal()
        other.close()

        finish(deployment, mongod.uri, jimeng, load.task_ids)


def test_a_replica_set_steps_down_again_and_again_under_load(replica_set: ReplicaSet, jimeng: str) -> None:
    primaries = []
    with deployed(replica_set.uri, jimeng) as deployment:
        other = Deployment(deployment.settings)
        with Load([deployment, other]) as load:
            for _ in range(rounds(3)):
                primaries.append(replica_set.primary())
                time.sleep(0.5)
                replica_set.step_down()
        other.close()
        primaries.append(replica_set.primary())

        assert len(set(primaries)) > 1, "no election took place"
        finish(deployment, replica_set.uri, jimeng, load.task_ids)
