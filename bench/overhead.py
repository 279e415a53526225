"""From "the provider is done" to "the result can be read", above the time of the copy itself."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import RESULTS

from .figures import BenchError, Figure, percentile, ratio_at_most
from .servers import Media, Sink, serving
from .stage import SERVICE, Stage, container_for, mute
from .start_to_processing import Deadline
from .stored import add_tasks, polling_task
from .stub_provider import StubProvider
from .transfer import storage_environ, upload_file
from .workers import CONTEXT

TASK_NUMBER = 16
POLL_INTERVAL = 10
FILE_BYTES = 2_000_000
PATIENCE = 60
DATABASE = "bench_overhead"


@dataclass(frozen=True, slots=True)
class Site:
    """Where everything is: MongoDB, the generated media, the storage."""

    uri: str
    database: str
    media: str
    storage: str


def run(stage: Stage) -> Iterator[Figure]:
    """Sixteen image tasks that are done at random moments, and one poller with the default settings."""
    with (
        serving(Media) as media,
        serving(Sink) as storage,
        stage.empty_database(DATABASE) as database,
        stage.client() as client,
    ):
        MongoTaskStore(client, database).prepare()
        copy = _pure_copy(storage)
        now, monotonic = int(time.time()), time.monotonic()
        chance = random.Random(1)  # the same moments every time the benchmark runs
        tasks = [
            polling_task(f"o-{n}", now, SERVICE, n, due=n % POLL_INTERVAL, poll_interval=POLL_INTERVAL)
            for n in range(TASK_NUMBER)
        ]
        done_at = {task.internal_params.history_id or "": monotonic + chance.uniform(1, 11) for task in tasks}
        add_tasks(stage, database, iter(tasks))
        readable = _poll_until_readable(stage, Site(stage.uri, database, media, storage), done_at)
    waits = [readable[task.task_id] - done_at[task.internal_params.history_id or ""] - copy for task in tasks]
    for name, share in (("overhead", 1.0), ("overhead_p50", 0.5)):
        yield Figure(
            name=name,
            value=percentile(waits, share),
            unit="s",
            baseline=POLL_INTERVAL,
            against="one poll interval",
            goal=ratio_at_most(1),
        )


def _poll_until_readable(stage: Stage, site: Site, done_at: dict[str, float]) -> dict[str, float]:
    readable: dict[str, float] = {}
    ready = Event()

    def watch() -> None:
        with (
            stage.client() as client,
            client[site.database][RESULTS].watch([], max_await_time_ms=200) as changes,
        ):
            ready.set()
            until = time.monotonic() + PATIENCE
            while len(readable) < len(done_at) and time.monotonic() < until:
                change = changes.try_next()
                if change is not None:
                    readable[change["fullDocument"]["task_id"]] = time.monotonic()

    thread = Thread(target=watch)
    thread.start()
    ready.wait(PATIENCE)
    poller = CONTEXT.Process(target=_poller, args=(site, done_at), daemon=True)
    poller.start()
    thread.join()
    poller.kill()
    poller.join()
    if len(readable) < len(done_at):
        raise BenchError(f"{len(done_at) - len(readable)} tasks were not completed in {PATIENCE} s")
    return readable


def _poller(site: Site, done_at: dict[str, float]) -> None:
    mute()
    urls = (f"{site.media}/video.mp4?bytes={FILE_BYTES}",)
    environ = storage_environ(site.storage) | {"MAX_CONCURRENT_TASKS": str(TASK_NUMBER)}
    container = container_for(site.uri, site.database, StubProvider(done_at, urls), **environ)
    container.poller(SERVICE)({}, Deadline())


def _pure_copy(storage: str) -> float:
    """Seconds that boto3 takes to upload such a file from a disk."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(bytes(FILE_BYTES))
        upload_file(storage, path)  # the first one makes the connection
        started = time.perf_counter()
        upload_file(storage, path)
        return time.perf_counter() - started
