"""The plan of every query that pollers and the API run, as mongod's profiler saw the product's own calls."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pymongo.database import Database

from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.domain.workload import Server
from jimeng_tasks.service.query import QueryTask
from jimeng_tasks.store.mongo.connection import RESULTS, TASKS

from .figures import Figure, percentile, ratio_at_most, value_at_most
from .stage import SERVICE, Document, Stage, container_for
from .stored import RETENTION, add_tasks, fill_finished, finished_id, new_task, polling_task

PENDING = 5_000
LEASED = 200
EMPTY = "bench_empty"
ROUNDS = 40
LEASE = 120

type Action = Callable[[TaskStore, int], object]


@dataclass(frozen=True, slots=True)
class Plan:
    """One operation as the profiler saw it: keys and documents looked at, documents returned or changed."""

    call: str
    summary: str
    keys: int
    documents: int
    returned: int
    written: int

    @property
    def surplus(self) -> int:
        """Keys beyond those that were needed: one for each document returned or changed, and one to see the end."""
        return self.keys - max(self.returned, self.written) - 1

    @property
    def is_scan(self) -> bool:
        """Whether a whole collection was read."""
        return "COLLSCAN" in self.summary


def _heartbeat(store: TaskStore, now: int) -> object:
    server = Server(server_id=SERVICE, status="online", last_heartbeat_at=now, load=0, version="bench")
    return store.heartbeat(server, "bench", now + 30)


def _start(store: TaskStore, now: int) -> object:
    work = store.survey(SERVICE, 3)
    return store.claim_pending(SERVICE, work.startable(now), [LEASED + n for n in range(3)], now, LEASE)


def _move_on(store: TaskStore, now: int) -> object:
    due = store.survey(SERVICE, 0).due(now)[:1]
    return store.save_many([(task, task) for task in store.claim_due(due, now, 0)])


def _query(store: TaskStore, now: int) -> object:
    return QueryTask(store=store, clock=_Fixed(now))(TaskType.IMAGE, finished_id(1))


def _hand_out(store: TaskStore, now: int) -> object:
    return store.hand_out(finished_id(7), now, 1)


class _Fixed:
    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        """The time it was made with."""
        return self._now


ACTIONS: dict[str, Action] = {
    "survey": lambda store, _now: store.survey(SERVICE, 3),
    "claim_pending": _start,
    "claim_due, save_many": _move_on,
    "claim_overdue": lambda store, now: store.claim_overdue(now, 200, LEASE),
    "heartbeat": _heartbeat,
    "servers": lambda store, _now: store.servers(),
    "claim_housekeeping": lambda store, now: store.claim_housekeeping(now, 3600),
    "query": _query,
    "hand_out": _hand_out,
    "clean": lambda store, now: store.clean(now, RETENTION),
    "stats": lambda store, now: store.stats(None, now),
}
KEYS = {
    "claim_plan_keys": ACTIONS.keys() - {"clean", "stats"},
    "claim_plan_clean_keys": {"clean"},
    "claim_plan_stats_keys": {"stats"},
}
"""Calls by figure: those of every tick and request, that of once an hour, and that which counts for operators."""
TIMED = ("survey", "claim_due, save_many", "claim_overdue", "query")


def run(stage: Stage) -> Iterator[Figure]:
    """Plans on 1,000,000 finished, 5,000 pending and 200 leased tasks; times beside a store without finished ones."""
    fill_finished(stage, EMPTY, 10)
    for database in (EMPTY, stage.largest):
        _add_active(stage, database)
    plans = profiled(stage, stage.largest)
    for plan in sorted(plans, key=lambda plan: -plan.surplus):
        looked = f"keys {plan.keys:5} returned {plan.returned:4} written {plan.written}"
        print(f"  {plan.call:22} {plan.summary:60.60} {looked}")
    scans = sum(plan.is_scan and plan.documents > 1 for plan in plans)
    yield Figure(
        name="claim_plan_scans", value=scans, unit="plans", baseline=None, against="no index", goal=value_at_most(0)
    )
    for name, calls in KEYS.items():
        worst = max((plan for plan in plans if plan.call in calls), key=lambda plan: plan.surplus)
        yield Figure(
            name=name,
            value=worst.surplus,
            unit="keys",
            baseline=None,
            against=f"returned + 1; the worst is {worst.call}",
            goal=value_at_most(0),
        )
    full, empty = timed(stage)
    for name in TIMED:
        label = name.split(",", maxsplit=1)[0]
        yield Figure(
            name=f"claim_plan_{label}_time",
            value=full[name],
            unit="ms",
            baseline=empty[name],
            against="a store without finished tasks",
            goal=ratio_at_most(1.2),
        )


def _add_active(stage: Stage, database: str) -> None:
    now = int(time.time())
    leased, pending = stage.size(LEASED), stage.size(PENDING)
    with stage.client() as client:
        client[database][TASKS].delete_many({"server_id": SERVICE, "status": {"$in": ["pending", "polling"]}})
    tasks = [polling_task(f"leased-{n}", now, SERVICE, n, due=LEASE if n else 0) for n in range(leased)]
    tasks += [new_task(f"pending-{n}", now - (pending - n) // 10, number=n) for n in range(pending)]
    add_tasks(stage, database, iter(tasks))


def profiled(stage: Stage, database: str) -> list[Plan]:
    """Every operation of every action."""
    store = container_for(stage.uri, database).store
    plans = []
    with stage.client() as client:
        for call, action in ACTIONS.items():
            client[database].command("profile", 2)
            action(store, int(time.time()))
            client[database].command("profile", 0)
            plans += _plans(client[database], call)
    return plans


def _plans(database: Database[Document], call: str) -> list[Plan]:
    names = [f"{database.name}.{name}" for name in (TASKS, RESULTS, "jimeng_free_servers", "jimeng_free_upkeep")]
    seen = list(database["system.profile"].find({"ns": {"$in": names}, "keysExamined": {"$exists": True}}))
    database["system.profile"].drop()
    return [_plan(call, batches) for batches in _by_cursor(seen)]


def _by_cursor(entries: list[Document]) -> list[list[Document]]:
    """Operations with the batches that came later: the profiler notes each batch of a cursor on its own."""
    by_cursor: dict[int, list[Document]] = {}
    for number, entry in enumerate(entries):
        by_cursor.setdefault(entry.get("cursorid") or -number, []).append(entry)
    return list(by_cursor.values())


def _plan(call: str, batches: list[Document]) -> Plan:
    def number(name: str) -> int:
        return sum(int(entry.get(name, 0)) for entry in batches)

    return Plan(
        call=call,
        summary=f"{batches[0]['op']} {batches[0].get('planSummary', '')}",
        keys=number("keysExamined"),
        documents=number("docsExamined"),
        returned=number("nreturned"),
        written=max(number("nMatched"), number("ndeleted")),
    )


def timed(stage: Stage) -> tuple[dict[str, float], dict[str, float]]:
    """Median milliseconds of each action on the full and on the empty store, taken in turns."""
    stores: dict[str, Any] = {name: container_for(stage.uri, name).store for name in (stage.largest, EMPTY)}
    times: dict[str, dict[str, list[float]]] = {name: {call: [] for call in TIMED} for name in stores}
    for number in range(ROUNDS):
        in_turn = list(stores.items())[:: -1 if number % 2 else 1]  # whoever comes second finds warmer caches
        for call in TIMED:
            for name, store in in_turn:
                started = time.perf_counter()
                ACTIONS[call](store, int(time.time()))
                times[name][call].append((time.perf_counter() - started) * 1000)
    full, empty = ({call: percentile(seen, 0.5) for call, seen in times[name].items()} for name in stores)
    return full, empty
