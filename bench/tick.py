"""One tick over 1,000 due polling tasks of 10 accounts, while the provider takes 200 ms for each answer."""

import time
from collections.abc import Iterator
from concurrent.futures import wait

import requests

from jimeng_tasks.service.work.context import JobContext
from jimeng_tasks.service.work.worker import Worker
from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import TASKS
from tests.bench.seed_algorithm import TaskPollingService

from .figures import Figure, percentile, ratio_at_most, value_at_most
from .servers import SlowJimeng, serving
from .stage import SERVICE, Document, Stage, container_for
from .stored import add_tasks, polling_task

TASK_NUMBER = 1_000
ROUNDS = 3
SEED_SAMPLE = 25
"""The seed asks for one task after the other, so a part of them tells: all 1,000 would take minutes."""
DATABASE = "bench_tick"


def run(stage: Stage) -> Iterator[Figure]:
    """The product's tick beside the seed's, over real HTTP."""
    number = stage.size(TASK_NUMBER)
    with serving(SlowJimeng) as address, stage.empty_database(DATABASE) as database, stage.client() as client:
        MongoTaskStore(client, database).prepare()
        now = int(time.time())
        add_tasks(stage, database, (polling_task(f"t-{n}", now, SERVICE, n) for n in range(number)))
        ctx = container_for(stage.uri, database, JIMENG_BASE_URL=address).new_job_context()
        tasks = client[database][TASKS]
        rounds = []
        for _ in range(ROUNDS):
            tasks.update_many({}, {"$set": {"next_poll_at": now}})
            rounds.append(one_tick(ctx, SERVICE, number))
        tasks.update_many({}, {"$set": {"next_poll_at": now + 3600}})
        tasks.update_many({"slot": {"$lt": SEED_SAMPLE}}, {"$set": {"next_poll_at": now}})
        seconds = (
            _seed_tick(TaskPollingService(tasks, SERVICE, lambda task: _ask(address, task))) * number / SEED_SAMPLE
        )
    took = percentile(rounds, 0.5)
    yield Figure(
        name="tick_1000", value=took, unit="s", baseline=seconds, against="the seed's tick", goal=value_at_most(2)
    )
    yield Figure(
        name="tick_1000_vs_seed",
        value=took,
        unit="s",
        baseline=seconds,
        against="the seed's tick",
        goal=ratio_at_most(0.01),
    )


def one_tick(ctx: JobContext, service: str, capacity: int) -> float:
    """Seconds of a survey, a tick and everything that it begins."""
    with Worker(ctx, service, capacity, lambda: True) as worker:
        started = time.perf_counter()
        worker.survey()
        worker.tick()
        wait(worker.jobs())
        return time.perf_counter() - started


def _seed_tick(service: TaskPollingService) -> float:
    started = time.perf_counter()
    service.check_polling_tasks()
    return time.perf_counter() - started


def _ask(address: str, task: Document) -> None:
    history_id = task["internal_params"]["history_id"]
    requests.post(f"{address}/mweb/v1/get_history_by_ids", json={"history_ids": [history_id]}, timeout=30)
