"""One long-lived poller container that talks to a `RawSite`, with time by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from jimeng_tasks.domain.task import Result, Task, TaskType
from tests.faults.deployment import POLL_SECONDS, TIMEOUT, TOKEN, Deployment, deployed
from tests.faults.raw_site import HISTORY, RUNNING, Asked, RawSite, Wire, envelope, image_record, say
from tests.life_cycle.stand_ins import ManualClock

NEIGHBOUR = "neighbour0123456789abcdef01234567"
LEASE = 130
STRIKE = 31  # seconds; past the wait after a doubtful answer


@dataclass
class HostileWorld:
    """Tasks of two accounts at one site: the site is hostile to ``TOKEN`` and behaves well to ``NEIGHBOUR``."""

    deployment: Deployment
    site: RawSite
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.deployment.container.clock = self.clock

    def post(self, account: str = TOKEN, **params: Any) -> str:
        return self.deployment.post(account=account, **params)

    def tick(self, *skips: int) -> None:
        """Skip each of these seconds and tick after it; a tick never raises and always comes to its end."""
        for seconds in skips or (0,):
            self.clock.advance(seconds)
            summary = self.deployment.invoke()
            assert summary["stop_reason"] == "ticks_done", summary

    def run_to_the_deadline(self) -> None:
        """Some minutes of ordinary ticks, then those after the deadline."""
        self.tick(*[POLL_SECONDS] * 2, *[STRIKE] * 3, LEASE, LEASE, TIMEOUT, LEASE, LEASE)

    def task(self, task_id: str) -> Task:
        return self.deployment.task(task_id)

    def ended(self, task_id: str) -> tuple[Task, Result]:
        """The ended task and its one result, none of whose texts holds the session."""
        task = self.task(task_id)
        assert task.is_terminal, task
        result: Result = self.deployment.result(task_id)
        told = (task.error_message, task.fail_code, task.partial_reason, result.metadata, result.tos_urls)
        assert TOKEN not in str(told)
        assert all(isinstance(text, str | None) for text in (task.error_message, task.fail_code))
        return task, result

    def clear(self) -> None:
        """Empty books and an empty database."""
        self.site.forget()
        self.deployment.forget()


@contextmanager
def hostile_world(mongodb_uri: str, site: RawSite, **more: str) -> Iterator[HostileWorld]:
    with deployed(mongodb_uri, site.address, **more) as deployment:
        yield HostileWorld(deployment, site)


def of_hostile(asked: Asked) -> bool:
    """Whether a call is made for the account that the site is hostile to."""
    return asked.session == TOKEN


def keep_running(site: RawSite, *first: Wire) -> None:
    """The jobs of the hostile account: these answers to the first look-ups, then they run for ever."""
    rest = list(first)

    def speak(asked: Asked) -> Wire | None:
        if asked.call != HISTORY or not of_hostile(asked):
            return None
        if rest:
            return rest.pop(0)
        jobs = {key: (hid, sid) for sid, hid in site.jobs.items() for key in (hid, sid)}
        wanted = [*asked.ids("history_ids"), *asked.ids("submit_ids")]
        return say(envelope({key: image_record(*jobs[key], RUNNING) for key in wanted if key in jobs}))

    site.speech[HISTORY] = speak


def video() -> dict[str, Any]:
    """Parameters of the simplest video."""
    return {"kind": TaskType.VIDEO, "prompt": f"a road {uuid4().hex}"}
