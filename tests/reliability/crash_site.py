"""Runs the scenario of the crash tests up to its death, lets fresh pollers finish it, and looks at what came of it."""

import multiprocessing
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from threading import Lock
from typing import Any, Literal
from uuid import uuid4

import requests
from pymongo import MongoClient

from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import s3_client
from jimeng_tasks.store.mongo.connection import RESULTS, TASKS
from tests.integration.picture_bytes import png

from .crash_child import GIVE_UP_SECONDS, SERVICE, SPEED, MongoTrap, run_counted, run_uncounted
from .proxy import CallProxy, Trap, calls_through
from .timing import FastClock

type Kind = Literal["mongodb", "provider", "storage"]

BUCKET = "media"
FILES = {"image": 2, "video": 1}
LATER = 1200  # seconds after the death, on the tasks' clock, that fresh pollers come: every lease has ended
MAGIC = {"png": (0, b"\x89PNG"), "mp4": (4, b"ftyp")}
HTTP_SECONDS = 20

processes = multiprocessing.get_context("forkserver")
# What all children import is imported once, so that a child starts in milliseconds.
processes.set_forkserver_preload(
    [
        "tests.reliability.crash_child",
        "jimeng_tasks.store.mongo",
        "jimeng_tasks.poller.handler",
        "jimeng_tasks.service.work.worker",
        "jimeng_tasks.jimeng.client",
        "jimeng_tasks.media.source",
        "jimeng_tasks.storage.tos",
        "jimeng_tasks.http.app",
        "boto3.session",
        "boto3.s3.transfer",
    ]
)


@dataclass(frozen=True, kw_only=True)
class Site:
    """The addresses of the servers."""

    mongodb_uri: str
    simulator: str
    objectstore: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """Where to die: at the ``number``-th call of a kind, before it or after it; None means to live."""

    kind: Kind
    number: int
    before: bool

    def __str__(self) -> str:
        return f"{'before' if self.before else 'after'} {self.kind} call {self.number}"


@dataclass
class Run:
    """One scenario: its name is that of its database, its objects' prefix and its prompts."""

    point: Point
    name: str = field(default_factory=lambda: f"crash_{uuid4().hex[:12]}")
    died_at: str | None = None
    labels: dict[Kind, list[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def prompt(self, kind: str) -> str:
        return f"{self.name} {kind}"


def environment(site: Site, name: str, *, provider: str = "", storage: str = "") -> dict[str, str]:
    """The variables of one scenario's processes; proxies may stand in for the servers."""
    return {
        "USE_DATABASE_MODE": "true",
        "ALLOW_PRIVATE_URLS": "true",
        "MONGODB_URI": site.mongodb_uri,
        "MONGODB_DATABASE": name,
        "SERVICE_ID": SERVICE,
        "TASK_POLL_INTERVAL": "1",
        "IMAGE_TASK_TIMEOUT": "604800",
        "VIDEO_TASK_TIMEOUT": "604800",
        "JIMENG_BASE_URL": provider or site.simulator,
        "JIMENG_IMAGEX_URL": provider or site.simulator,
        "TOS_ENDPOINT_URL": storage or site.objectstore,
        "TOS_PUBLIC_BASE_URL": f"{site.objectstore}/{BUCKET}",
        "TOS_BUCKET": BUCKET,
        "TOS_ACCESS_KEY": "local",
        "TOS_SECRET_KEY": "local",
        "TOS_PREFIX": name,
        "LOG_LEVEL": "CRITICAL",
    }


def orders(run: Run) -> list[dict[str, Any]]:
    """An image with a reference and two files, and a video."""
    reference = "data:image/png;base64," + b64encode(png(64, 64)).decode()
    image = {
        "prompt": f"{run.prompt('image')} [[sim per_poll statuses=20,50 items={FILES['image']}]]",
        "images": [reference],
    }
    video = {"prompt": f"{run.prompt('video')} [[sim per_poll statuses=50]]"}
    return [
        {"path": f"/v1/{path}/generations", "account": f"account-{kind}", "body": {**body, "task_id": f"{kind}-1"}}
        for kind, path, body in (("image", "images", image), ("video", "video", video))
    ]


def play(site: Site, point: Point) -> Run:
    """One scenario from its beginning to its end, in whose middle the process dies; what is wrong is noted."""
    run = Run(point)
    with ExitStack() as proxies:
        provider, storage = (
            proxies.enter_context(calls_through(target, _trap(point, kind)))
            for kind, target in (("provider", site.simulator), ("storage", site.objectstore))
        )
        environ = environment(site, run.name, provider=provider.url, storage=storage.url)
        _live_and_die(run, environ, {"provider": provider, "storage": storage})
        _recover(run, environ)
    run.faults += _faults(site, run)
    with _patient_client(site) as client:
        client.drop_database(run.name)
    return run


def _trap(point: Point, kind: str) -> Trap | None:
    return Trap(point.number, point.before) if point.kind == kind else None


def _live_and_die(run: Run, environ: dict[str, str], proxies: dict[Kind, CallProxy]) -> None:
    point = run.point
    trap = MongoTrap(point.number, point.before) if point.kind == "mongodb" else None
    said, code = _in_child(run_counted, environ, orders(run), _clock(0), trap, proxies=proxies.values())
    for kind, proxy in proxies.items():
        proxy.disarm()
        run.labels[kind] = list(proxy.calls)
    is_list = isinstance(said, list)
    run.labels["mongodb"] = said if is_list else []
    last_command = None if is_list else said
    run.died_at = last_command if point.kind == "mongodb" else proxies[point.kind].killed_at
    if code != (-9 if run.died_at else 0):
        run.faults.append(f"the process ended with code {code} at {run.died_at}")


def _recover(run: Run, environ: dict[str, str]) -> None:
    """The client, who got no answer, posts again; then fresh pollers work."""
    _, code = _in_child(run_uncounted, environ, orders(run), _clock(LATER))
    if code != 0:
        run.faults.append(f"fresh pollers did not finish (code {code})")


def _clock(ahead: float) -> FastClock:
    return FastClock(began=time.time(), speed=SPEED, ahead=ahead)


_one_at_a_time = Lock()
"""Starting a process also asks what became of all others, and of two threads that ask only one is told."""


def _in_child(target: Callable[..., None], *args: Any, proxies: Iterable[CallProxy] = ()) -> tuple[Any, int | None]:
    """Run a function in a process of its own; returns what it reported and its exit code."""
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=target, args=(sender, *args), daemon=True)
    with _one_at_a_time:
        process.start()
    sender.close()
    for proxy in proxies:
        proxy.arm(process.pid or 0)
    if not wait([process.sentinel], GIVE_UP_SECONDS + 15):
        process.kill()
        wait([process.sentinel])
    with _one_at_a_time:
        process.join()
    return _received(receiver), process.exitcode


def _received(receiver: Connection) -> Any:
    with receiver:
        try:
            return receiver.recv() if receiver.poll() else None
        except EOFError:
            return None


def _patient_client(site: Site) -> MongoClient[dict[str, Any]]:
    """Not the product's client: what is looked at afterwards may take its time on a busy machine."""
    return MongoClient(site.mongodb_uri)


def _faults(site: Site, run: Run) -> Iterator[str]:
    """Everything in the database and in the storage that is not as it must be."""
    with _patient_client(site) as client:
        tasks = list(client[run.name][TASKS].find())
        results = list(client[run.name][RESULTS].find())
    if sorted(task["task_id"] for task in tasks) != [f"{kind}-1" for kind in FILES]:
        yield f"tasks: {[task['task_id'] for task in tasks]}"
    yield from (f"{task['task_id']} is {task['status']}" for task in tasks if task["status"] != "completed")
    if sorted(result["task_id"] for result in results) != [f"{kind}-1" for kind in FILES]:
        yield f"results: {[result['task_id'] for result in results]}"
    yield from _file_faults(site, run, results)


def _file_faults(site: Site, run: Run, results: list[dict[str, Any]]) -> Iterator[str]:
    settings = Settings.from_environ(environment(site, run.name))
    listing = s3_client(settings).list_objects_v2(Bucket=BUCKET, Prefix=f"{run.name}/")
    stored = sorted(f"{site.objectstore}/{BUCKET}/{entry['Key']}" for entry in listing.get("Contents", ()))
    promised = sorted(url for result in results for url in result["tos_urls"])
    if promised != stored or len(stored) != sum(FILES.values()):
        errors = [error for result in results for error in result["metadata"]["tos_upload_errors"]]
        yield f"promised {promised}, stored {stored}, errors {errors}"
    for url in stored:
        content = requests.get(url, timeout=HTTP_SECONDS).content
        offset, magic = MAGIC[url.rpartition(".")[2]]
        if content[offset : offset + len(magic)] != magic:
            yield f"{url} is not readable"


def paid_jobs(site: Site) -> list[str]:
    """The prompts of all jobs that the provider ever took, from its own books."""
    jobs = requests.get(f"{site.simulator}/_sim/jobs", timeout=HTTP_SECONDS).json()
    return [job["prompt"].lstrip("#").partition(" [[")[0] for job in jobs]
