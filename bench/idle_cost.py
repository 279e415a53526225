"""What a poller's invocation costs that finds nothing to do: MongoDB commands, and billed milliseconds when warm."""

import time
from collections.abc import Iterator
from typing import Any

from pymongo import MongoClient, monitoring

from jimeng_tasks.store.clock import DatabaseClock
from jimeng_tasks.store.mongo import MongoTaskStore, connect

from .figures import Figure, percentile, value_at_most
from .stage import SERVICE, Document, Stage, container_for
from .start_to_processing import Deadline
from .workers import race

MINUTE = 61
INVOCATIONS = 21
DATABASE = "bench_idle"


def run(stage: Stage) -> Iterator[Figure]:
    """Warm invocations a minute apart, as the container's clock sees them."""
    with stage.empty_database(DATABASE) as database, stage.client() as client:
        MongoTaskStore(client, database).prepare()
        [seen] = race(_invoke, [(stage.uri, database)]).results
    commands, milliseconds, pings = seen
    yield Figure(
        name="idle_commands",
        value=percentile(commands, 1),
        unit="commands",
        baseline=None,
        against="the most in 20 invocations, one a minute",
        goal=value_at_most(4),
    )
    yield Figure(
        name="idle_commands_mean",
        value=sum(commands) / len(commands),
        unit="commands",
        baseline=None,
        against="the mean of 20 invocations, one a minute",
        goal=value_at_most(4),
    )
    yield Figure(
        name="idle_cost",
        value=percentile(milliseconds, 0.5),
        unit="ms",
        baseline=percentile(pings, 0.5),
        against="one ping of the same mongod",
        goal=value_at_most(300),
    )


class _Count(monitoring.CommandListener):
    """Counts commands; a listener must have all three methods."""

    def __init__(self) -> None:
        self.number = 0

    def started(self, _event: monitoring.CommandStartedEvent) -> None:
        """One more."""
        self.number += 1

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Counted already."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Counted already."""


def _invoke(gate: Any, uri: str, database: str) -> tuple[list[int], list[float], list[float]]:
    with MongoClient[Document](uri) as plain:
        pings = [_ping(plain) for _ in range(INVOCATIONS)]
    counter = _Count()
    monitoring.register(counter)
    container = container_for(uri, database)
    passed = 0.0
    # The clock's own client, as the container would make it, and a minute more each time we look.
    container.clock = DatabaseClock(connect(uri), base=lambda: time.time() + passed)
    handler = container.poller(SERVICE)
    gate.wait()
    commands, milliseconds = [], []
    for _ in range(INVOCATIONS):
        before, started = counter.number, time.perf_counter()
        handler({"source": "aws.scheduler"}, Deadline())
        milliseconds.append((time.perf_counter() - started) * 1000)
        commands.append(counter.number - before)
        passed += MINUTE
    return commands[1:], milliseconds[1:], pings[1:]


def _ping(client: MongoClient[Document]) -> float:
    started = time.perf_counter()
    client.admin.command("ping")
    return (time.perf_counter() - started) * 1000
