"""Hosts whose clocks are minutes apart share one time, the database's; and time limits of a day hold to the second."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from uuid import uuid4

import pytest
import requests
from pymongo import MongoClient
from pymongo.change_stream import ChangeStream

from jimeng_tasks.domain.task import InternalParams, TaskType
from jimeng_tasks.service.query import QueryTask
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import TASKS
from tests.contract.samples import new_task
from tests.life_cycle.scripted_provider import done
from tests.life_cycle.world import SERVICE, World

from .clock_host import clock_of_host, work
from .crash_site import processes
from .soak import is_soak

API_SKEW = 420.0
SKEWS = {"a": -300.0, "b": 300.0}
TASK_IDS = [f"t{number}" for number in range(12)]
WORK_SECONDS = 60 if is_soak() else 8
TOLERANCE = 1  # second, since the product counts whole ones
DAY = 86_400
HOUR = 3600


@dataclass(frozen=True)
class Claim:
    """A change of a task: who holds it then (None: nobody), until when, and the database's time of the change."""

    holder: str | None
    until: int
    at: float


@pytest.fixture(scope="module")
def claims(mongodb_uri: str, simulator: str) -> Iterator[dict[str, list[Claim]]]:
    """What two hosts, ten minutes apart, did with tasks that a third one posted, whose clock is wrong as well."""
    name = f"test_{uuid4().hex}"
    rule = {"match": {"prompt_contains": name}, "script": {"poll_delay": 0.4, "stuck": True}}
    requests.post(f"{simulator}/_sim/scripts", json=rule, timeout=20).raise_for_status()
    with MongoClient[Document](mongodb_uri) as client:
        store = MongoTaskStore(client, name)
        store.prepare()
        client[name].command("collMod", TASKS, changeStreamPreAndPostImages={"enabled": True})
        with client[name].watch(full_document="whenAvailable") as changes:
            _post(client, store, name)
            _work(mongodb_uri, simulator, name)
            client[name]["end"].insert_one({})
            yield _history(changes)
        client.drop_database(name)
    requests.delete(f"{simulator}/_sim/scripts", timeout=20).raise_for_status()


def _post(client: MongoClient[Document], store: MongoTaskStore, name: str) -> None:
    now = clock_of_host(client, API_SKEW).now()
    for task_id in TASK_IDS:
        task = new_task(
            task_id,
            server_id=SERVICE,
            original_params={"prompt": f"{name} {task_id}", "model": "jimeng-4.5", "images": []},
            internal_params=InternalParams(refresh_token=f"clock-{task_id}"),
            poll_interval=1,
            created_at=now,
        )
        store.submit(task)


def _work(uri: str, simulator: str, name: str) -> None:
    environ = {
        "USE_DATABASE_MODE": "true",
        "MONGODB_URI": uri,
        "MONGODB_DATABASE": name,
        "SERVICE_ID": SERVICE,
        "MAX_CONCURRENT_TASKS": str(len(TASK_IDS)),
        "JIMENG_BASE_URL": simulator,
        "LOG_LEVEL": "CRITICAL",
    }
    hosts = [
        processes.Process(target=work, args=(environ, letter, skew, TASK_IDS, WORK_SECONDS), daemon=True)
        for letter, skew in SKEWS.items()
    ]
    for host in hosts:
        host.start()
    for host in hosts:
        host.join()


def _history(changes: ChangeStream[Document]) -> dict[str, list[Claim]]:
    history: dict[str, list[Claim]] = {task_id: [] for task_id in TASK_IDS}
    for change in changes:
        if change["ns"]["coll"] == "end":
            break
        task = change["fullDocument"]
        at = change["wallTime"].timestamp()
        history[task["task_id"]].append(Claim(task.get("claim_id"), task["next_poll_at"], at))
    return history


def _takings(claims: list[Claim]) -> list[tuple[Claim, Claim]]:
    """Every change of hands, with what was before it."""
    return [(before, after) for before, after in pairwise(claims) if after.holder not in (None, before.holder)]


def test_no_host_takes_a_task_while_another_ones_lease_runs(claims: dict[str, list[Claim]]) -> None:
    takings = [taking for history in claims.values() for taking in _takings(history)]
    too_early = [(before, after) for before, after in takings if before.until > after.at + TOLERANCE]

    assert too_early == []


def test_no_host_starves(claims: dict[str, list[Claim]]) -> None:
    shares = Counter(after.holder[0] for history in claims.values() for _, after in _takings(history) if after.holder)

    assert min(shares[letter] for letter in SKEWS) > sum(shares.values()) / 10, shares
    assert sum(shares.values()) > 2 * len(TASK_IDS)


def test_a_task_starts_at_once_though_the_host_that_took_it_in_is_minutes_ahead(
    claims: dict[str, list[Claim]],
) -> None:
    for posted, first, *_ in claims.values():
        assert abs(posted.until - posted.at) <= 2, "due since its post, by the database's time"
        assert first.at - posted.at < WORK_SECONDS


@pytest.fixture
def world(mongo_store: MongoTaskStore) -> World:
    return World(mongo_store)


def _post_video(world: World) -> None:
    world.post_accepted(task_type=TaskType.VIDEO, task_timeout=DAY, deadline_at=world.clock.now() + DAY)


def test_a_video_may_take_a_day_to_the_second(world: World) -> None:
    _post_video(world)
    deadline = world.task().deadline_at
    for _ in range(23):
        world.tick_after(HOUR)
    world.clock.advance(deadline - 1 - world.clock.now())
    world.tick()
    assert world.states("t1") == ["polling"]

    world.tick_after(1)

    assert world.states("t1") == ["failed"]
    assert world.task().error_message == "Task timeout"
    assert world.take_result().metadata.fail_reason == f"Task timeout after {DAY} seconds"


def test_a_video_that_is_done_in_the_last_second_is_a_success(world: World) -> None:
    _post_video(world)
    world.clock.advance(world.task().deadline_at - world.clock.now())
    world.provider.on_poll["t1"].append(done("https://cdn.example/1.mp4"))

    world.tick()

    assert world.states("t1") == ["completed"]


def test_a_task_that_waits_in_the_queue_for_a_day_fails_without_being_paid(world: World) -> None:
    world.post(task_timeout=DAY)
    world.clock.advance(DAY)

    world.tick()

    assert world.states("t1") == ["failed"]
    assert world.provider.paid() == []


@pytest.mark.parametrize(("late", "is_there"), [(0, True), (1, False)])
def test_a_result_is_there_until_it_expires_to_the_second(world: World, late: int, is_there: bool) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(done("https://cdn.example/1.png"))
    world.tick()

    world.clock.advance(world.policy.result_expire + late)

    answer = QueryTask(store=world.store, clock=world.clock)(TaskType.IMAGE, "t1")
    assert (answer.result is not None) is is_there
    assert answer.is_consumed is not is_there


def test_a_result_is_deleted_when_it_has_expired_and_its_task_a_week_after_its_end(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(done("https://cdn.example/1.png"))
    world.tick()
    assert world.store.clean(world.clock.now() + world.policy.result_expire, 7 * DAY) == 0

    assert world.store.clean(world.clock.now() + world.policy.result_expire + 1, 7 * DAY) == 1
    assert world.store.clean(world.clock.now() + 7 * DAY + 1, 7 * DAY) == 1
    assert world.store.get("t1") is None
