"""From POST to ``processing`` under 20 submits a second, each of which kicks the poller of its service.

The kick is the product's own: it invokes a Lambda function through boto3, and the endpoint it reaches hands the event
to one of four pollers, each a process of its own as asynchronous invocations have.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue
from threading import Event, Thread
from typing import Any

from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import TASKS

from . import agenda_queue
from .figures import BenchError, Figure, percentile, value_at_most
from .latency import BODY, http_event
from .servers import QuietHandler
from .stage import SERVICE, Stage, container_for, environ_for, mute
from .stub_provider import StubProvider
from .workers import CONTEXT

PER_SECOND = 20
SECONDS = 12
CONTAINERS = 4
LONGEST_WAIT = 30
DATABASE = "bench_start"
PREFIX = "bench-poller-"
CAPACITY = "1000"


class Deadline:
    """A Lambda context with 300 seconds."""

    def __init__(self, seconds: float = 300) -> None:
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds left."""
        return max(0, int((self._until - time.monotonic()) * 1000))


def run(stage: Stage) -> Iterator[Figure]:
    """p50 and p99 of the product beside agenda's, whose jobs come from another process, too."""
    waits = _product(stage)
    agenda = None if agenda_queue.missing() else _agenda(stage)
    against = agenda_queue.missing() or agenda_queue.README
    for label, share, goal in (("p50", 0.5, None), ("p99", 0.99, value_at_most(2))):
        yield Figure(
            name=f"start_to_processing_{label}",
            value=percentile(waits, share),
            unit="s",
            baseline=percentile(agenda, share) if agenda else None,
            against=against,
            goal=goal,
        )


def _product(stage: Stage) -> list[float]:
    with stage.empty_database(DATABASE) as database, stage.client() as client:
        MongoTaskStore(client, database).prepare()
        with _pollers(stage.uri, database) as endpoint, _watching(stage, database) as started:
            posted = _submit(stage, database, endpoint)
            until = time.monotonic() + LONGEST_WAIT
            while len(started) < len(posted) and time.monotonic() < until:
                time.sleep(0.05)
    if len(started) < len(posted):
        raise BenchError(f"{len(posted) - len(started)} of {len(posted)} tasks were not started")
    return [started[task_id] - at for task_id, at in posted.items()]


def _submit(stage: Stage, database: str, endpoint: str) -> dict[str, float]:
    """Post at a steady rate; returns when each task's request began."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    CONTEXT.Process(target=_submitter, args=(theirs, stage.uri, database, endpoint), daemon=True).start()
    posted: dict[str, float] = ours.recv()
    return posted


def _submitter(pipe: Connection, uri: str, database: str, endpoint: str) -> None:
    mute()
    credentials = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "us-east-1"}
    kick = {"POLLER_FUNCTION_PREFIX": PREFIX, "AWS_ENDPOINT_URL_LAMBDA": endpoint}
    os.environ.update(environ_for(uri, database) | credentials | kick)
    from functions.images.app import handler

    event = http_event("POST", "/v1/images/generations", body=BODY)
    handler(event, None)  # the first kick makes the AWS client, as a container's first request does
    posted = {}
    begun = time.monotonic()
    for number in range(PER_SECOND * SECONDS):
        time.sleep(max(0.0, begun + number / PER_SECOND - time.monotonic()))
        at = time.monotonic()
        task_id = json.loads(handler(event, None)["body"])["data"]["task_id"]
        posted[task_id] = at
    pipe.send(posted)


@contextmanager
def _watching(stage: Stage, database: str) -> Iterator[dict[str, float]]:
    """Fills a dictionary with the time at which each task was first seen to be ``processing``."""
    seen: dict[str, float] = {}
    ended, ready = Event(), Event()
    pipeline = [{"$match": {"updateDescription.updatedFields.status": "processing"}}]

    def watch() -> None:
        with (
            stage.client() as client,
            client[database][TASKS].watch(pipeline, full_document="updateLookup", max_await_time_ms=200) as changes,
        ):
            ready.set()
            while not ended.is_set():
                change = changes.try_next()
                if change is not None:
                    seen.setdefault(change["fullDocument"]["task_id"], time.monotonic())

    thread = Thread(target=watch)
    thread.start()
    ready.wait(LONGEST_WAIT)
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


@contextmanager
def _pollers(uri: str, database: str) -> Iterator[str]:
    """Four containers of one poller, and the endpoint that invokes a free one; yields the endpoint's address."""
    events: Queue[Any] = CONTEXT.Queue()
    processes = [
        CONTEXT.Process(target=_container, args=(uri, database, events), daemon=True) for _ in range(CONTAINERS)
    ]

    class Invoke(QuietHandler):
        def do_POST(self) -> None:  # noqa: N802 - the base class looks for this name
            """Accept an asynchronous invocation."""
            events.put(json.loads(self.take(keep=True)))
            self.answer()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Invoke)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    for process in processes:
        process.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        for process in processes:
            process.kill()
        server.shutdown()
        server.server_close()


def _container(uri: str, database: str, events: "Queue[Any]") -> None:
    mute()
    container = container_for(uri, database, StubProvider(), MAX_CONCURRENT_TASKS=CAPACITY)
    handler = container.poller(SERVICE)
    container.store.ping()
    while True:
        handler(events.get(), Deadline())


def _agenda(stage: Stage) -> list[float]:
    number = PER_SECOND * SECONDS
    with stage.empty_database("bench_agenda") as database:
        uri = agenda_queue.address(stage.uri, database)
        with agenda_queue.workers(uri, 1) as workers:
            workers.begin()
            submitter = agenda_queue.node("submit", uri, str(number), str(PER_SECOND))
            workers.wait_for(number)
            agenda_queue.finish(submitter)
        return [run.waited_ms / 1000 for run in workers.runs]
