"""What each of the overlapping pollers does: whatever a deployment with too many of them, late or deaf, could do."""

import contextlib
import os
import random
import time
from concurrent.futures import wait

from jimeng_tasks.bootstrap import Container
from jimeng_tasks.exceptions import StoreUnavailable
from jimeng_tasks.service.work.worker import Worker
from jimeng_tasks.settings import Settings

from .timing import FastClock, Invocation

INVOCATION_SECONDS = 8
ROGUE_SECONDS = 3
NAP = 0.2


def work(environ: dict[str, str], clock: FastClock, seed: int, seconds: float) -> None:
    """Poll one service in every way there is until ``seconds`` have passed."""
    chance = random.Random(seed)
    until = time.monotonic() + seconds
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):  # noqa: PTH123
        container = Container(Settings.from_environ(environ))
        container.clock = clock
        while time.monotonic() < until:
            chance.choice([_on_schedule, _on_schedule, _on_kick, _without_lease])(container)
            time.sleep(chance.uniform(0, NAP))


def _on_schedule(container: Container) -> None:
    container.poller(container.settings.service_id)({}, Invocation(INVOCATION_SECONDS))


def _on_kick(container: Container) -> None:
    container.poller(container.settings.service_id)({"kick": "some task"}, Invocation(INVOCATION_SECONDS))


def _without_lease(container: Container) -> None:
    """Tick without asking who holds the service, as a loop does that was frozen when its lease ended."""
    settings = container.settings
    until = time.monotonic() + ROGUE_SECONDS
    worker = Worker(
        container.new_job_context(),
        settings.service_id,
        settings.max_concurrent_tasks,
        may_begin=lambda: time.monotonic() < until,
    )
    with worker, contextlib.suppress(StoreUnavailable):
        while time.monotonic() < until:
            worker.survey()
            worker.tick()
            wait(worker.jobs(), timeout=NAP)
        wait(worker.jobs(), timeout=ROGUE_SECONDS)
