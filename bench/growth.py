"""Whether claims, ticks, submits and queries stay as quick when 1,000 stored tasks become 1,000,000."""

import random
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier

from jimeng_tasks.bootstrap import Container, create_api
from jimeng_tasks.http.handler import make_handler
from jimeng_tasks.store.mongo.connection import TASKS

from .figures import Figure, percentile, ratio_at_most
from .latency import SUBMIT_EVENT, query_event, taken_id, timed
from .stage import Stage, container_for
from .stored import add_tasks, polling_task
from .stub_provider import StubProvider
from .tick import one_tick
from .workers import race

ROUNDS = 60
TICK_ROUNDS = 15
TICK_TASKS = 200
TICK_SERVICE = "growth-tick"
CLAIM_SERVICE = "growth-claim"
CLAIM_TASKS = 10

type Action = Callable[[], float]
type Times = dict[str, dict[int, float]]


def run(stage: Stage) -> Iterator[Figure]:
    """Milliseconds at each size; the largest is compared with the smallest, and so is the worst in between."""
    for database in stage.stores.values():
        _add_active(stage, database)
    [times] = race(measure, [(stage.uri, stage.stores)]).results
    for name, by_size in times.items():
        smallest, *larger = by_size
        for size in larger:
            yield Figure(
                name=f"growth_{name}_{size}",
                value=by_size[size],
                unit="ms",
                baseline=by_size[smallest],
                against=f"{smallest} stored tasks",
                goal=ratio_at_most(1.25),
            )


def _add_active(stage: Stage, database: str) -> None:
    now = int(time.time())
    services = {TICK_SERVICE: TICK_TASKS, CLAIM_SERVICE: CLAIM_TASKS}
    with stage.client() as client:
        client[database][TASKS].delete_many({"server_id": {"$in": list(services)}})
    for service, number in services.items():
        add_tasks(
            stage, database, (polling_task(f"{service}-{n}", now, service, n, poll_interval=0) for n in range(number))
        )


def measure(gate: Barrier, uri: str, stores: dict[int, str]) -> Times:
    """Medians of every action by size, all sizes in turns so that they share every disturbance."""
    actions = {size: _actions(container_for(uri, name, StubProvider()), size) for size, name in stores.items()}
    seen: dict[str, dict[int, list[float]]] = {}
    gate.wait()
    for turn in range(ROUNDS):
        for size, by_name in actions.items():
            for name, action in by_name.items():
                if name != "tick" or turn < TICK_ROUNDS:
                    seen.setdefault(name, {}).setdefault(size, []).append(action() * 1000)
    return {
        name: {size: percentile(values[1:], 0.5) for size, values in by_size.items()} for name, by_size in seen.items()
    }


def _actions(container: Container, size: int) -> dict[str, Action]:
    handler = make_handler(create_api(container, "images"), container.settings)
    chance = random.Random(size)  # the same ids every time the benchmark runs
    store, ctx = container.store, container.new_job_context()

    def claim() -> float:
        started = time.perf_counter()
        now = int(time.time())
        claimed = store.claim_due(store.survey(CLAIM_SERVICE, 3).due(now), now, 0)
        store.save_many([(task, task) for task in claimed])
        return time.perf_counter() - started

    return {
        "claim": claim,
        "tick": lambda: one_tick(ctx, TICK_SERVICE, TICK_TASKS),
        "submit": lambda: timed(handler, SUBMIT_EVENT),
        "query": lambda: timed(handler, query_event(taken_id(chance, size))),
    }
