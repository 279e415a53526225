"""Eight pollers at once for three services, killed at random: nobody is paid twice, crowded out or forgotten."""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from uuid import uuid4

import pytest
import requests
from pymongo import MongoClient

from jimeng_tasks.domain.task import ACTIVE, RUNNING, InternalParams, TaskStatus
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import RESULTS, TASKS
from tests.contract.samples import new_task

from .crash_site import processes
from .overlap_history import History, watched
from .overlap_poller import work
from .soak import is_soak
from .timing import FastClock

SERVICES = ("s1", "s2", "s3")
ACCOUNTS = [f"overlap-{number}" for number in range(20)]
SLOW_ACCOUNT = ACCOUNTS[0]
POLLERS = 8
TASKS_POSTED = 10_000 if is_soak() else 300
CAPACITY = 20 if is_soak() else 8
SPEED = 15
KILL_EVERY = 1.0  # seconds
GIVE_UP_SECONDS = 1500 if is_soak() else 120
WEEK = 604_800
HTTP_SECONDS = 60


@dataclass(frozen=True)
class Outcome:
    """The history, and what is left in the database and in the provider's books."""

    history: History
    accounts: dict[str, str]
    services: dict[str, str]
    posted: list[str]
    tasks: list[Document]
    results: list[Document]
    accepted: dict[str, int]
    kills: int


@pytest.fixture(scope="module")
def outcome(mongodb_uri: str, simulator: str) -> Iterator[Outcome]:
    name = f"test_{uuid4().hex}"
    rule = {"match": {"token": SLOW_ACCOUNT}, "script": {"poll_delay": 0.5, "submit_delay": 0.5}}
    requests.post(f"{simulator}/_sim/scripts", json=rule, timeout=HTTP_SECONDS).raise_for_status()
    paid_before = _accepted(simulator)
    with MongoClient[Document](mongodb_uri) as client:
        store = MongoTaskStore(client, name)
        store.prepare()
        clock = FastClock(began=time.time(), speed=SPEED)
        with watched(mongodb_uri, name) as history:
            posted = _post(store, clock, name)
            kills = _run(client, name, _environments(mongodb_uri, simulator, name), clock)
        tasks, results = (list(client[name][collection].find()) for collection in (TASKS, RESULTS))
        yield Outcome(
            history=history,
            accounts={task["task_id"]: task["internal_params"]["refresh_token"] for task in tasks},
            services={task["task_id"]: task["server_id"] for task in tasks},
            posted=posted,
            tasks=tasks,
            results=results,
            accepted={key: n for key, n in _accepted(simulator).items() if key not in paid_before},
            kills=kills,
        )
        client.drop_database(name)
    requests.delete(f"{simulator}/_sim/scripts", timeout=HTTP_SECONDS).raise_for_status()


def _environments(uri: str, simulator: str, name: str) -> list[dict[str, str]]:
    """One poller's variables each; the services have three, three and two of them."""
    common = {
        "USE_DATABASE_MODE": "true",
        "ALLOW_PRIVATE_URLS": "true",
        "MONGODB_URI": uri,
        "MONGODB_DATABASE": name,
        "MAX_CONCURRENT_TASKS": str(CAPACITY),
        "TASK_POLL_INTERVAL": "1",
        "JIMENG_BASE_URL": simulator,
        "JIMENG_IMAGEX_URL": simulator,
        "LOG_LEVEL": "CRITICAL",
    }
    return [{**common, "SERVICE_ID": SERVICES[number % len(SERVICES)]} for number in range(POLLERS)]


def _post(store: MongoTaskStore, clock: FastClock, name: str) -> list[str]:
    """Post all tasks, one a second in the past few hours, the accounts and services in turn."""
    begin = clock.now() - TASKS_POSTED
    posted = []
    for number in range(TASKS_POSTED):
        task_id = f"{name}-{number}"
        prompt = f"{task_id} [[sim per_poll statuses=50 items=1]]"
        task = new_task(
            task_id,
            server_id=SERVICES[number % len(SERVICES)],
            original_params={"prompt": prompt, "model": "jimeng-4.5", "ratio": "1:1", "resolution": "1k", "images": []},
            internal_params=InternalParams(refresh_token=ACCOUNTS[number % len(ACCOUNTS)]),
            created_at=begin + number,
            task_timeout=WEEK,
            deadline_at=begin + number + WEEK,
        )
        store.submit(task)
        posted.append(task_id)
    return posted


def _run(client: MongoClient[Document], name: str, environs: list[dict[str, str]], clock: FastClock) -> int:
    """Let the pollers work, killing one at random again and again, until every task has ended; returns the kills."""
    chance = random.Random(1)
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    pollers = [_start(environ, clock, seed) for seed, environ in enumerate(environs)]
    kills = 0
    active = {"status": {"$in": [status.value for status in ACTIVE]}}
    while client[name][TASKS].find_one(active) and time.monotonic() < give_up_at:
        time.sleep(KILL_EVERY)
        victim = chance.randrange(POLLERS)
        _end(pollers[victim])
        kills += 1
        pollers[victim] = _start(environs[victim], clock, POLLERS + kills)
    for poller in pollers:
        _end(poller)
    return kills


def _start(environ: dict[str, str], clock: FastClock, seed: int) -> BaseProcess:
    process = processes.Process(target=work, args=(environ, clock, seed, GIVE_UP_SECONDS), daemon=True)
    process.start()
    return process


def _end(process: BaseProcess) -> None:
    process.kill()
    process.join()


def _accepted(simulator: str) -> dict[str, int]:
    """The provider's books: how often each submit id was accepted, and paid."""
    books = requests.get(f"{simulator}/_sim/submissions", timeout=HTTP_SECONDS).json()
    return {submit_id: counts["accepted"] for submit_id, counts in books.items()}


@pytest.mark.timeout(GIVE_UP_SECONDS + 120)
def test_every_task_is_completed_with_one_result(outcome: Outcome) -> None:
    assert Counter(task["status"] for task in outcome.tasks) == {"completed": TASKS_POSTED}
    assert Counter(result["task_id"] for result in outcome.results) == Counter(outcome.posted)
    assert outcome.kills > 3, "pollers were killed"


def test_no_task_is_paid_twice(outcome: Outcome) -> None:
    assert outcome.accepted == {task["internal_params"]["submit_id"]: 1 for task in outcome.tasks}


def test_no_service_ever_runs_more_than_its_capacity(outcome: Outcome) -> None:
    running: dict[str, set[str]] = defaultdict(set)
    most: Counter[str] = Counter()
    for task_id, status in outcome.history.moves:
        service = outcome.services[task_id]
        (running[service].add if TaskStatus(status) in RUNNING else running[service].discard)(task_id)
        most[service] = max(most[service], len(running[service]))

    assert most == dict.fromkeys(SERVICES, CAPACITY), "full, and never more than that"


def test_no_sample_of_the_database_shows_more_than_the_capacity(outcome: Outcome) -> None:
    too_many = [sample for sample in outcome.history.samples if max(sample.values(), default=0) > CAPACITY]

    assert too_many == []
    assert len(outcome.history.samples) > 20


@pytest.mark.parametrize("service", SERVICES)
def test_tasks_of_a_service_start_first_in_first_out(outcome: Outcome, service: str) -> None:
    started = [task_id for task_id in outcome.history.first_claims() if outcome.services[task_id] == service]

    assert started == [task_id for task_id in outcome.posted if outcome.services[task_id] == service]


def test_no_account_starves_behind_a_slow_one(outcome: Outcome) -> None:
    ended = [task_id for task_id, status in outcome.history.moves if status == "completed"]
    half = Counter(outcome.accounts[task_id] for task_id in ended[: TASKS_POSTED // 2])
    posted = Counter(outcome.accounts.values())

    starved = {account for account in ACCOUNTS if half[account] * 5 < posted[account]}
    assert starved == set(), "at half-time everybody has had at least a fifth of its tasks"
