"""What the child processes of the crash tests do: a client posts, pollers work, and somewhere the process dies."""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from pymongo import monitoring

from jimeng_tasks.bootstrap import Container, create_api
from jimeng_tasks.domain.task import ACTIVE
from jimeng_tasks.exceptions import StoreUnavailable
from jimeng_tasks.http.handler import make_handler
from jimeng_tasks.settings import Settings

from .timing import FastClock, Invocation

type Order = dict[str, Any]

SERVICE = "svc"
SPEED = 60  # a lease of 120 s takes two of ours
MINUTE = 60
NAP = 0.2
GIVE_UP_SECONDS = 45
INVOCATION_SECONDS = 60


@dataclass(frozen=True)
class MongoTrap:
    """Die at the ``number``-th command (from 1), ``before`` it is sent, else once its answer has come."""

    number: int
    before: bool


class CommandCounter(monitoring.CommandListener):
    """Counts MongoDB commands, tells ``report`` what they were, and springs the trap."""

    def __init__(self, trap: MongoTrap | None, report: Connection) -> None:
        self.labels: list[str] = []
        self._numbers: dict[int, int] = {}
        self._trap = trap
        self._report = report
        self._lock = threading.Lock()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        with self._lock:
            self.labels.append(_label(event.command_name, event.command))
            number = self._numbers[event.request_id] = len(self.labels)
        self._spring(number, before=True)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._spring(self._numbers[event.request_id], before=False)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._spring(self._numbers[event.request_id], before=False)

    def _spring(self, number: int, *, before: bool) -> None:
        if self._trap == MongoTrap(number, before):
            self._report.send(self.labels[number - 1])
            os.kill(os.getpid(), signal.SIGKILL)


def _label(name: str, command: Mapping[str, Any]) -> str:
    """The command's name, and for a write of a task what it makes of it."""
    changes = [change["u"] for change in command.get("updates", ()) if isinstance(change["u"], dict)]
    fields = [change.get("$set", {}) for change in changes]
    phases = [f"{field.get('status')}/{field.get('submit_phase')}" for field in fields if "status" in field]
    return " ".join([name, *phases])


def run_uncounted(report: Connection, environ: dict[str, str], orders: list[Order], clock: FastClock) -> None:
    """Post the orders and run pollers until every task has ended."""
    _scenario(environ, orders, clock)
    report.close()


def run_counted(
    report: Connection, environ: dict[str, str], orders: list[Order], clock: FastClock, trap: MongoTrap | None
) -> None:
    """The same with an eye on the MongoDB commands; a run that comes to its end reports them all."""
    counter = CommandCounter(trap, report)
    monitoring.register(counter)
    _scenario(environ, orders, clock)
    report.send(counter.labels)


def _scenario(environ: dict[str, str], orders: list[Order], clock: FastClock) -> None:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):  # noqa: PTH123
        container = Container(Settings.from_environ(environ))
        container.clock = clock
        patiently(container.store.prepare)
        _post(container, orders)
        _poll(container, clock, [order["body"]["task_id"] for order in orders])
    sys.stdout.flush()


def _post(container: Container, orders: list[Order]) -> None:
    handler = make_handler(create_api(container, "images", "video"), container.settings)
    for order in orders:
        http = {"method": "POST", "path": order["path"], "sourceIp": "203.0.113.7"}
        event = {
            "version": "2.0",
            "rawPath": order["path"],
            "rawQueryString": "",
            "headers": {"content-type": "application/json", "authorization": f"Bearer {order['account']}"},
            "requestContext": {"http": http, "stage": "$default", "requestId": "request-1"},
            "body": json.dumps(order["body"]),
            "isBase64Encoded": False,
        }
        _insist(handler, event)


def _insist(handler: Callable[[Any, Any], dict[str, Any]], event: dict[str, Any]) -> None:
    """Post as a client does who tries again when the service is not available."""
    while (answer := handler(event, None))["statusCode"] == 503:
        time.sleep(NAP)
    assert answer["statusCode"] == 200, answer


def patiently[T](call: Callable[[], T]) -> T:
    """What a call to the store returns, however often a busy machine makes it come too late."""
    while True:
        try:
            return call()
        except StoreUnavailable:
            time.sleep(NAP)


def _poll(container: Container, clock: FastClock, task_ids: list[str]) -> None:
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    poller = container.poller(SERVICE)
    while _active(container, task_ids):
        assert time.monotonic() < give_up_at, "the tasks do not end"
        poller({}, Invocation(INVOCATION_SECONDS))
        clock.ahead += MINUTE


def _active(container: Container, task_ids: list[str]) -> bool:
    tasks = patiently(lambda: [container.store.get(task_id) for task_id in task_ids])
    return any(task is None or task.status in ACTIVE for task in tasks)
