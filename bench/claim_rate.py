"""Tasks claimed and moved on per second by 1, 4 and 8 processes that all want the same tasks."""

import time
from collections.abc import Iterator
from concurrent.futures import wait
from multiprocessing.synchronize import Barrier

from pymongo import MongoClient

from jimeng_tasks.service.work.worker import Worker
from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import TASKS
from tests.bench.seed_algorithm import INDEXES, TICK_SECONDS, TaskPollingService, answers_at_once

from . import agenda_queue
from .figures import BenchError, Figure, ratio_at_least
from .stage import Document, Stage, container_for
from .stored import add_tasks, new_task, polling_task
from .stub_provider import StubProvider
from .workers import race

PROCESSES = (1, 4, 8)
SERVICES = 16
PER_SERVICE = 1_000
AGENDA_JOBS = 1_500
TUNED = ("200", "200 milliseconds")
DATABASE = "bench_claims"


def run(stage: Stage) -> Iterator[Figure]:
    """The product, agenda and the seed's algorithm, each alone on the mongod, one after the other."""
    for processes in PROCESSES:
        ours = product_rate(stage, processes)
        agenda = None if agenda_queue.missing() else agenda_rate(stage, processes)
        against = agenda_queue.missing() or agenda_queue.README
        yield _figure(f"claim_rate_{processes}", ours, agenda, against, 10)
        yield _figure(
            f"claim_rate_seed_{processes}", ours, seed_rate(stage, processes), "the seed without its timer", 10
        )
    yield Figure(
        name="claim_rate_limit",
        value=ours,
        unit="tasks/s",
        baseline=bare_rate(stage, processes),
        against=f"two bare update_many in {processes} processes: what this mongod takes",
    )
    yield _figure("claim_rate_seed_timer", ours, seed_timer_rate(stage), "the seed with its timer and limit", 10)
    if not agenda_queue.missing():
        tuned = agenda_rate(stage, 4, *TUNED)
        yield _figure("claim_rate_agenda_tuned", ours, tuned, "agenda 6 with 200 jobs at once", 10)


def _figure(name: str, ours: float, baseline: float | None, against: str, times: float) -> Figure:
    goal = ratio_at_least(times)
    return Figure(name=name, value=ours, unit="tasks/s", baseline=baseline, against=against, goal=goal)


def services() -> list[str]:
    """The services whose tasks are wanted."""
    return [f"claims-{number}" for number in range(SERVICES)]


def product_rate(stage: Stage, processes: int) -> float:
    """Due tasks of 16 services, wanted by every process; each begins with another service.

    Raises:
        BenchError: a task was moved on more or less than once.
    """
    per_service = stage.size(PER_SERVICE)
    with stage.empty_database(DATABASE) as database, stage.client() as client:
        MongoTaskStore(client, database).prepare()
        now = int(time.time())
        for name in services():
            add_tasks(stage, database, (polling_task(f"{name}-{n}", now, name, n) for n in range(per_service)))
        lanes = [(stage.uri, database, SERVICES * lane // processes) for lane in range(processes)]
        done = race(poll_everything, lanes)
        once = client[database][TASKS].count_documents({"poll_count": 1})
    total = per_service * SERVICES
    if sum(done.results) != total or once != total:
        raise BenchError(f"{total} tasks, {sum(done.results)} claims, {once} tasks polled exactly once")
    return total / done.seconds


def poll_everything(gate: Barrier, uri: str, database: str, first: int) -> int:
    """One process: the product's own ticks, service after service, until nothing is due; returns how many it polled."""
    ctx = container_for(uri, database, StubProvider()).new_job_context()
    names = services()
    ctx.store.ping()
    gate.wait()
    for name in names[first:] + names[:first]:
        with Worker(ctx, name, PER_SERVICE, lambda: True) as worker:
            worker.survey()
            while worker.workload.due(ctx.clock.now()):
                worker.tick()
                wait(worker.jobs())
                worker.survey()
    return ctx.counters.snapshot()["polled"]


def agenda_rate(stage: Stage, processes: int, *options: str) -> float:
    """Due jobs of one collection, run by Node processes."""
    jobs = stage.size(AGENDA_JOBS)
    with stage.empty_database("bench_agenda") as database:
        uri = agenda_queue.address(stage.uri, database)
        agenda_queue.finish(agenda_queue.node("fill", uri, str(jobs)))
        with agenda_queue.workers(uri, processes, *options) as workers:
            workers.begin()
            return jobs / workers.wait_for(jobs)


def seed_rate(stage: Stage, processes: int) -> float:
    """The seed's loop over due tasks without its timer; every process has services of its own, as it needs them."""
    per_service = stage.size(PER_SERVICE) // 4
    with stage.empty_database(DATABASE) as database, stage.client() as client:
        _seed_indexes(client, database)
        now = int(time.time())
        for name in services():
            add_tasks(stage, database, (polling_task(f"{name}-{n}", now, name, n) for n in range(per_service)))
        lanes = [(stage.uri, database, lane, processes) for lane in range(processes)]
        done = race(seed_polls, lanes)
    return sum(done.results) / done.seconds


def seed_polls(gate: Barrier, uri: str, database: str, lane: int, processes: int) -> int:
    """One process of the seed, with its share of the services."""
    with MongoClient[Document](uri) as client:
        tasks = client[database][TASKS]
        mine = [TaskPollingService(tasks, name, answers_at_once, 3600) for name in services()[lane::processes]]
        client.admin.command("ping")
        gate.wait()
        return sum(service.check_polling_tasks() for service in mine)


def bare_rate(stage: Stage, processes: int) -> float:
    """The least that a claim takes: each task written twice, all of a service's by one command, and nothing read."""
    per_service = stage.size(PER_SERVICE)
    with stage.empty_database(DATABASE) as database, stage.client() as client:
        MongoTaskStore(client, database).prepare()
        now = int(time.time())
        for name in services():
            add_tasks(stage, database, (polling_task(f"{name}-{n}", now, name, n) for n in range(per_service)))
        done = race(bare_writes, [(stage.uri, database, lane, processes) for lane in range(processes)])
    return sum(done.results) / done.seconds


def bare_writes(gate: Barrier, uri: str, database: str, lane: int, processes: int) -> int:
    """One process with its share of the services; returns how many tasks it wrote twice."""
    with MongoClient[Document](uri, w="majority") as client:
        tasks = client[database][TASKS]
        client.admin.command("ping")
        gate.wait()
        number = 0
        for name in services()[lane::processes]:
            for claim in ("begun", "ended"):
                due = {"next_poll_at": int(time.time()) + 10, "updated_at": int(time.time()), "claim_id": claim}
                found = tasks.update_many({"server_id": name, "status": "polling"}, {"$set": due}).matched_count
            number += found
        return number


def seed_timer_rate(stage: Stage) -> float:
    """Pending tasks that the seed starts per second as it is written: three every five seconds."""
    seconds = 2 * TICK_SECONDS
    with stage.empty_database(DATABASE) as database, stage.client() as client:
        _seed_indexes(client, database)
        now = int(time.time())
        add_tasks(stage, database, (new_task(f"pending-{n}", now) for n in range(100)))
        tasks = client[database][TASKS]
        TaskPollingService(tasks, "bench-0", answers_at_once).run(seconds)
        return tasks.count_documents({"status": "polling"}) / seconds


def _seed_indexes(client: MongoClient[Document], database: str) -> None:
    for keys in INDEXES:
        client[database][TASKS].create_index(keys)
