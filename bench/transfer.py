"""Memory and speed of transfers from the provider to the storage, beside boto3's upload of a local file.

Each measurement has a fresh interpreter: ``python -m bench.transfer JOB``, with its orders on standard input.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from local.processes import PYTHONPATH, ROOT

from .figures import BenchError, Figure, ratio_at_least, value_at_most

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from .stage import Stage

MEGABYTE = 1_000_000
LARGE = 1_000 * MEGABYTE
SMALL = 50 * MEGABYTE
SMALL_NUMBER = 20
ON_LINK = 300 * MEGABYTE
LINK = 75.0 * MEGABYTE
"""Bytes per second in each direction, as a function has them; without it the cores of this machine are measured."""
ROUNDS = 2
DATABASE = "bench_transfer"
BUCKET = "bench"
PATIENCE = 120


def run(stage: "Stage") -> Iterator[Figure]:
    """One video of 1 GB, then 20 of 50 MB side by side; at a smaller scale smaller ones."""
    from .servers import Media, Sink, serving

    sizes = {"1gb": (1, LARGE, None), "20x50mb": (SMALL_NUMBER, SMALL, None), "link": (1, ON_LINK, LINK)}
    for label, (number, full_size, link) in sizes.items():
        size = max(20 * MEGABYTE, round(full_size * min(1.0, stage.scale)))
        with serving(Media, link) as media, serving(Sink, link) as storage:
            ours, floor, relay = [], [], []
            for _ in range(1 if link else ROUNDS):
                ours.append(_transfer(stage, media, storage, number, size))
                floor.append(_upload(storage, number, size))
                relay.append(_fresh("relay", storage=storage, url=_video(media, size), number=number))
        if not link:
            yield Figure(
                name=f"transfer_memory_{label}",
                value=max(run["peak"] - run["idle"] for run in ours) / MEGABYTE,
                unit="MB",
                baseline=max(run["peak"] - run["idle"] for run in floor) / MEGABYTE,
                against="boto3's upload_file",
                goal=value_at_most(120),
            )
        megabytes = number * size / MEGABYTE
        beside = {
            f"transfer_rate_{label}": (floor, "boto3's upload_file from a local file"),
            f"transfer_relay_{label}": (relay, "requests into boto3's upload_fileobj, nothing compared"),
        }
        for name, (runs, against) in beside.items():
            yield Figure(
                name=name,
                value=megabytes / min(run["seconds"] for run in ours),
                unit="MB/s",
                baseline=megabytes / min(run["seconds"] for run in runs),
                against=against,
                goal=ratio_at_least(0.9),
            )


def _video(media: str, size: int) -> str:
    return f"{media}/video.mp4?bytes={size}"


def _transfer(stage: "Stage", media: str, storage: str, number: int, size: int) -> dict[str, float]:
    from jimeng_tasks.domain.task import FileProgress
    from jimeng_tasks.store.mongo import MongoTaskStore

    from .stage import SERVICE
    from .stored import add_tasks, polling_task

    with stage.empty_database(DATABASE) as database, stage.client() as client:
        MongoTaskStore(client, database).prepare()
        now = int(time.time())
        url = _video(media, size)
        tasks = (polling_task(f"x-{n}", now, SERVICE, n) for n in range(number))
        delivered = (replace(task, original_urls=(url,), files=(FileProgress(),), delivered_at=now) for task in tasks)
        add_tasks(stage, database, delivered)
        return _fresh("product", uri=stage.uri, database=database, storage=storage, number=number)


def _upload(storage: str, number: int, size: int) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        with path.open("wb") as file:
            file.truncate(size)
        return _fresh("upload", storage=storage, path=str(path), number=number)


def _fresh(job: str, **orders: Any) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.transfer", job]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        input=json.dumps(orders),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"the transfer failed: {done.stdout[-800:]}{done.stderr[-500:]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


# -- inside the fresh interpreter


def storage_environ(storage: str) -> dict[str, str]:
    """The settings of a bucket on this S3 server."""
    return {
        "TOS_ENDPOINT_URL": storage,
        "TOS_BUCKET": BUCKET,
        "TOS_ACCESS_KEY": "none",
        "TOS_SECRET_KEY": "none",
    }


def memory(field: str) -> int:
    """Bytes that this process has in memory: ``VmRSS`` now, ``VmHWM`` at most since it began."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


def _product(uri: str, database: str, storage: str, number: int) -> dict[str, float]:
    """One tick of the product over delivered tasks."""
    from jimeng_tasks.service.work.worker import Worker

    from .stage import SERVICE, container_for
    from .stub_provider import StubProvider

    container = container_for(uri, database, StubProvider(), LOG_LEVEL="WARNING", **storage_environ(storage))
    ctx = container.new_job_context()
    ctx.store.ping()
    idle = memory("VmRSS")
    started = time.perf_counter()
    with Worker(ctx, SERVICE, number, lambda: True) as worker:
        worker.survey()
        worker.tick()
        while jobs := worker.jobs():
            wait(jobs)
    seconds = time.perf_counter() - started
    if ctx.counters.snapshot()["completed"] != number:
        raise BenchError(f"not every transfer was completed: {ctx.counters.snapshot()}")
    return {"idle": idle, "peak": memory("VmHWM"), "seconds": seconds}


def _floor(storage: str, path: str, number: int) -> dict[str, float]:
    """boto3 with its own settings, one file after the other."""
    idle = memory("VmRSS")
    started = time.perf_counter()
    for _ in range(number):
        upload_file(storage, Path(path))
    return {"idle": idle, "peak": memory("VmHWM"), "seconds": time.perf_counter() - started}


def _relay(storage: str, url: str, number: int) -> dict[str, float]:
    """The shortest program that copies an address to a bucket, one file after the other."""
    import requests

    idle = memory("VmRSS")
    started = time.perf_counter()
    for _ in range(number):
        with requests.get(url, stream=True, timeout=PATIENCE) as answer:
            _client(storage).upload_fileobj(answer.raw, BUCKET, "file")  # type: ignore[arg-type]  # it is only read
    return {"idle": idle, "peak": memory("VmHWM"), "seconds": time.perf_counter() - started}


def upload_file(storage: str, path: Path) -> None:
    """What ``aws s3 cp`` does with a local file."""
    _client(storage).upload_file(str(path), BUCKET, "file")


@cache
def _client(storage: str) -> "S3Client":
    from boto3.session import Session
    from botocore.config import Config

    config = Config(
        s3={"addressing_style": "path"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    session = Session(aws_access_key_id="none", aws_secret_access_key="none", region_name="us-east-1")
    return session.client("s3", endpoint_url=storage, config=config)


JOBS: dict[str, Callable[..., dict[str, float]]] = {"product": _product, "upload": _floor, "relay": _relay}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](**json.load(sys.stdin))))
