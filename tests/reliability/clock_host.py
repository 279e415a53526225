"""A host whose own clock is wrong, with a poller on it."""

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from pymongo import MongoClient

from jimeng_tasks.bootstrap import Container
from jimeng_tasks.domain.lifecycle import Policy
from jimeng_tasks.settings import Settings
from jimeng_tasks.store.clock import DatabaseClock
from jimeng_tasks.store.mongo import MongoTaskStore, connect

from .timing import Invocation

LEASE = 4
INVOCATION_SECONDS = 8
NAP = 0.1


def clock_of_host(client: MongoClient[dict[str, Any]], skew: float) -> DatabaseClock:
    """The product's clock on a host that is ``skew`` seconds ahead of the right time."""
    return DatabaseClock(client, lambda: time.time() + skew)


def ids_of_host(letter: str) -> Callable[[], str]:
    """Fresh uuids that begin with the hexadecimal ``letter`` of a host, which shows whose a claim is."""
    return lambda: letter + str(uuid4())[1:]


def work(environ: dict[str, str], letter: str, skew: float, task_ids: list[str], seconds: float) -> None:
    """Tick as this host until ``seconds`` have passed."""
    until = time.monotonic() + seconds
    settings = Settings.from_environ(environ)
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(stack.enter_context(open(os.devnull, "w"))))  # noqa: PTH123
        client = stack.enter_context(connect(settings.mongodb_uri))
        container = Container(settings)
        container.store = MongoTaskStore(client, settings.mongodb_database, ids_of_host(letter))
        container.clock = clock_of_host(client, skew)
        container.policy = Policy(lease=LEASE, submit_lease=LEASE)
        poller = container.poller(settings.require_service_id())
        while time.monotonic() < until:
            # With task ids the loop asks nobody whether it may: both hosts really work at once.
            poller({"task_ids": task_ids, "ticks": 1}, Invocation(INVOCATION_SECONDS))
            time.sleep(NAP)
