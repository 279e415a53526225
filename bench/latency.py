"""p50 and p95 of POST and query through the Lambda handlers, beside bare FastAPI, Mangum and pymongo.

Each client is a process with a handler of its own, as each Lambda container is. Product and floor take turns.
"""

import json
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.synchronize import Barrier
from typing import Any

from jimeng_tasks.store.mongo import MongoTaskStore

from .figures import BenchError, Figure, percentile, ratio_at_most
from .floor_api import make_floor
from .stage import Stage, environ_for
from .stored import account, finished_id
from .workers import race

CLIENTS = (1, 8, 32)
ROUNDS = 3
ROUND_SECONDS = 1.2
GOAL = ratio_at_most(1.3)
PERCENTILES = {"p50": 0.5, "p95": 0.95}
FLOOR = "bare FastAPI, Mangum and pymongo"
BODY = json.dumps({"model": "jimeng-4.5", "prompt": "a paper boat", "ratio": "16:9", "resolution": "2k"})

type Handler = Callable[[Any, Any], Any]
type Times = dict[str, list[float]]


def submit_latency(stage: Stage) -> Iterator[Figure]:
    """POST /v1/images/generations."""
    with stage.empty_database("bench_submit") as database, stage.client() as client:
        MongoTaskStore(client, database).prepare()
        for clients in CLIENTS:
            yield from _figures("submit_latency", stage, database, clients, 0)


def query_latency(stage: Stage) -> Iterator[Figure]:
    """GET /v1/images/query for tasks among 1,000,000 finished ones, each of whose results was taken before."""
    finished = next(number for number, name in stage.stores.items() if name == stage.largest)
    for clients in CLIENTS:
        yield from _figures("query_latency", stage, stage.largest, clients, finished)


def _figures(name: str, stage: Stage, database: str, clients: int, finished: int) -> Iterator[Figure]:
    done = race(ask_in_turns, [(stage.uri, database, finished, lane) for lane in range(clients)])
    times = {side: [t for result in done.results for t in result[side]] for side in ("product", "floor")}
    for label, share in PERCENTILES.items():
        ours, floor = (percentile(times[side], share) * 1000 for side in ("product", "floor"))
        goal = GOAL if label == "p95" or name == "query_latency" else None
        yield Figure(name=f"{name}_{clients}_{label}", value=ours, unit="ms", baseline=floor, against=FLOOR, goal=goal)


def ask_in_turns(gate: Barrier, uri: str, database: str, finished: int, lane: int) -> Times:
    """One client: seconds of each request to the product and to the floor."""
    handlers: dict[str, Handler] = {"product": product_handler(uri, database), "floor": make_floor(uri, database)}
    chance = random.Random(lane)  # the same ids every time the benchmark runs
    times: Times = {side: [] for side in handlers}
    for handler in handlers.values():
        timed(handler, query_event("warm-up"))
    gate.wait()
    for _ in range(ROUNDS):
        for side, handler in handlers.items():
            _wait_for_turn()
            until = time.monotonic() + ROUND_SECONDS
            while time.monotonic() < until:
                event = query_event(taken_id(chance, finished)) if finished else SUBMIT_EVENT
                times[side].append(timed(handler, event))
    return times


def _wait_for_turn() -> None:
    """Rounds are cut by the clock: all processes begin theirs at the next whole multiple of its length."""
    length = ROUND_SECONDS + 0.3
    time.sleep(length - time.monotonic() % length)


def taken_id(chance: random.Random, finished: int) -> str:
    """A finished task whose result is gone."""
    number = chance.randrange(finished)
    return finished_id(number if number % 7 else number - 1 if number else 1)


def product_handler(uri: str, database: str) -> Handler:
    """The handler of the image function as Lambda imports it."""
    os.environ.update(environ_for(uri, database))
    from functions.images.app import handler

    return handler


def timed(handler: Handler, event: Mapping[str, Any]) -> float:
    """Seconds that a handler takes for an event; it must answer well."""
    started = time.perf_counter()
    answer = handler(event, None)
    seconds = time.perf_counter() - started
    if answer["statusCode"] != 200:
        raise BenchError(f"the handler answered {answer['statusCode']}: {answer['body'][:200]}")
    return seconds


def http_event(method: str, path: str, query: str = "", body: str | None = None) -> dict[str, Any]:
    """A request as API Gateway passes it on."""
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {
            "host": "bench.example",
            "content-type": "application/json",
            "authorization": f"Bearer {account(7)}",
        },
        "requestContext": {
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.7"},
            "stage": "$default",
            "requestId": "bench",
            "domainName": "bench.example",
        },
        "body": body,
        "isBase64Encoded": False,
    }


def query_event(task_id: str) -> dict[str, Any]:
    """GET of a task's state."""
    return http_event("GET", "/v1/images/query", f"task_id={task_id}")


SUBMIT_EVENT = http_event("POST", "/v1/images/generations", body=BODY)
