"""Storing a task: the product's store beside a bare insert_one, and how much of that the mongod takes per second."""

import time
import uuid
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier

from pymongo import MongoClient

from jimeng_tasks.store.documents import to_document
from jimeng_tasks.store.mongo import MongoTaskStore

from .figures import Figure, percentile, ratio_at_most
from .stage import Document, Stage, container_for
from .stored import new_task
from .workers import race

ROUNDS = 400
PROCESSES = 4
SECONDS = 2.0
DATABASE = "bench_insert"


def run(stage: Stage) -> Iterator[Figure]:
    """Both into collections with the same indexes, in turns."""
    with stage.empty_database(DATABASE) as database, stage.client() as client:
        MongoTaskStore(client, database).prepare()
        [(ours, floor)] = race(_in_turns, [(stage.uri, database)]).results
        done = race(_as_fast_as_possible, [(stage.uri, database) for _ in range(PROCESSES)])
    yield Figure(
        name="store_submit",
        value=percentile(ours, 0.5) * 1000,
        unit="ms",
        baseline=percentile(floor, 0.5) * 1000,
        against="bare insert_one",
        goal=ratio_at_most(1.3),
    )
    yield Figure(
        name="mongod_writes",
        value=sum(done.results) / done.seconds,
        unit="writes/s",
        baseline=None,
        against=f"bare insert_one in {PROCESSES} processes: what this mongod takes",
    )


def _in_turns(gate: Barrier, uri: str, database: str) -> tuple[list[float], list[float]]:
    store = container_for(uri, database).store
    with MongoClient[Document](uri, w="majority") as client:
        tasks = client[database]["jimeng_free_generation_tasks"]
        gate.wait()
        pairs = [
            (_seconds(store.submit), _seconds(lambda task: tasks.insert_one(to_document(task)))) for _ in range(ROUNDS)
        ]
    return [ours for ours, _ in pairs], [floor for _, floor in pairs]


def _seconds(insert: Callable[..., object]) -> float:
    task = new_task(str(uuid.uuid4()), int(time.time()))
    started = time.perf_counter()
    insert(task)
    return time.perf_counter() - started


def _as_fast_as_possible(gate: Barrier, uri: str, database: str) -> int:
    with MongoClient[Document](uri, w="majority") as client:
        tasks = client[database]["jimeng_free_generation_tasks"]
        gate.wait()
        until, number = time.monotonic() + SECONDS, 0
        while time.monotonic() < until:
            tasks.insert_one(to_document(new_task(str(uuid.uuid4()), int(time.time()))))
            number += 1
    return number
