"""Where benchmarks run: one mongod for the product and everything it is compared with, and the product's own parts."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pymongo import MongoClient

from jimeng_tasks.bootstrap import Container
from jimeng_tasks.domain.provider import Provider
from jimeng_tasks.settings import Settings

SERVICE = "bench-0"
FINISHED = (1_000, 10_000, 100_000, 1_000_000)
"""Finished tasks in the stores that figures are compared over."""

type Document = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """``uri`` is the mongod's address; ``scale`` multiplies the numbers of tasks (``BENCH_SCALE``, 1 is full size)."""

    uri: str
    scale: float = 1.0
    environ: Mapping[str, str] = field(default_factory=dict)

    def size(self, full: int, least: int = 10) -> int:
        """A number of tasks at this scale."""
        return max(least, round(full * self.scale))

    @property
    def stores(self) -> dict[int, str]:
        """The names of the prepared databases by the number of finished tasks in them."""
        return {self.size(number): f"bench_{number}" for number in FINISHED}

    @property
    def largest(self) -> str:
        """The database with the most finished tasks."""
        return f"bench_{FINISHED[-1]}"

    @contextmanager
    def client(self) -> Iterator[MongoClient[Document]]:
        """A plain client, without the product's time-outs."""
        with MongoClient[Document](self.uri) as client:
            yield client

    @contextmanager
    def empty_database(self, name: str) -> Iterator[str]:
        """A database of this name that goes with the block."""
        with self.client() as client:
            client.drop_database(name)
            yield name
            client.drop_database(name)


def environ_for(uri: str, database: str, **more: str) -> dict[str, str]:
    """The environment of a function that works on a database of the mongod."""
    return {
        "USE_DATABASE_MODE": "true",
        "MONGODB_URI": uri,
        "MONGODB_DATABASE": database,
        "SERVICE_IDS": SERVICE,
        "SERVICE_ID": SERVICE,
        "ALLOW_PRIVATE_URLS": "true",
        **more,
    }


def container_for(uri: str, database: str, provider: Provider | None = None, **more: str) -> Container:
    """The product's parts as a function has them; ``provider`` stands in for Jimeng."""
    container = Container(Settings.from_environ(environ_for(uri, database, **more)))
    if provider is not None:
        container.provider = provider
    return container


def mute() -> None:
    """Send what this process prints, such as logs and metrics, to nowhere; writing it is still paid for."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
