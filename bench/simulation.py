"""What happens at other rates: a discrete-event simulation of tasks, slots, threads and pollers with measured steps."""

import math
import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import simpy

from .figures import percentile

RATES = (10, 1_000, 100_000)
"""Tasks an hour."""
QUEUE_GOAL = 10.0
"""Seconds from pending to processing that the ordered document allows."""
SPREAD = 0.5
"""Standard deviation of the logarithm of the generation time."""
MOST_TASKS = 8_000
MOST_GUESSES = 25
type Events = Generator[simpy.Event, Any]

SETTINGS = {
    "slots": "MAX_CONCURRENT_TASKS, or more SERVICE_IDS",
    "request threads": "more SERVICE_IDS",
    "transfer threads": "more SERVICE_IDS",
    "MongoDB writes": "a larger MongoDB",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How long steps take, in seconds, and how much the database takes per second.

    ``start`` and ``writes_per_second`` are measured; the provider's times are assumptions.
    """

    start: float
    writes_per_second: float
    submit: float = 1.0
    generation: float = 60.0
    transfer: float = 2.0
    poll_interval: float = 10.0
    writes_per_task: float = 9.0
    """Insert, claim, two saves of the submission, delivery, two of the file, and two at the end."""
    commands_per_tick: float = 5.0

    @classmethod
    def from_results(cls, results: Mapping[str, Mapping[str, Any]]) -> "Steps":
        """Steps as ``results.json`` has them; raises KeyError with the missing figure's name."""
        return cls(
            start=results["start_to_processing_p50"]["value"], writes_per_second=results["mongod_writes"]["value"]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """A deployment: ``slots`` is MAX_CONCURRENT_TASKS, ``tick`` TASK_POLL_INTERVAL."""

    services: int = 2
    slots: int = 3
    tick: float = 5.0
    request_threads: int = 16
    transfer_threads: int = 4
    accounts: int = 10
    choice: str = "least"
    """How a task's service is chosen among `CHOICES`, by the loads of the last heartbeats; "least" is the product's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it: queue times in seconds, rates per second, and the share of each resource that is needed.

    A share above 1 is a wall: the queue grows for as long as the rate lasts.
    """

    queue_p50: float
    queue_p95: float
    commands_per_second: float
    provider_calls_per_second: float
    shares: Mapping[str, float]
    finished: int

    @property
    def wall(self) -> str:
        """The resource that runs out first."""
        return max(self.shares, key=lambda name: self.shares[name])


def _least(loads: Sequence[int], _chance: random.Random) -> int:
    return loads.index(min(loads))


def _any(loads: Sequence[int], chance: random.Random) -> int:
    return chance.randrange(len(loads))


def _better_of_two(loads: Sequence[int], chance: random.Random) -> int:
    return min((_any(loads, chance) for _ in range(2)), key=loads.__getitem__)


CHOICES: Mapping[str, Callable[[Sequence[int], random.Random], int]] = {
    "least": _least,
    "any": _any,
    "better of two": _better_of_two,
}


@dataclass
class _Service:
    slots: simpy.Resource
    requests: simpy.Resource
    transfers: simpy.Resource


class _Run:
    """One simulation: its services, and the books of what happened."""

    def __init__(self, rate: float, plant: Plant, steps: Steps, seed: int) -> None:
        self.waits: list[float] = []
        self._waiting: dict[int, float] = {}
        self.submits = self.polls = self.finished = 0
        self.looks: set[tuple[int, int, int]] = set()
        self._mean_gap = 3600 / rate
        self._plant = plant
        self._steps = steps
        self._chance = random.Random(seed)
        self._names = count()
        self._env = simpy.Environment()
        self._services = [self._service() for _ in range(plant.services)]
        self._loads = [0] * plant.services

    def _service(self) -> _Service:
        return _Service(
            slots=simpy.Resource(self._env, self._plant.slots),
            requests=simpy.Resource(self._env, self._plant.request_threads),
            transfers=simpy.Resource(self._env, self._plant.transfer_threads),
        )

    def run(self, seconds: float) -> None:
        """Let time pass; a task that still waits then has waited at least so long."""
        self._env.process(self._heartbeats())
        self._env.process(self._arrivals())
        self._env.run(until=seconds)
        self.waits += [seconds - came for came in self._waiting.values()]

    def _heartbeats(self) -> Events:
        while True:
            self._loads = [service.slots.count for service in self._services]
            yield self._env.timeout(self._plant.tick)

    def _arrivals(self) -> Events:
        choose = CHOICES[self._plant.choice]
        while True:
            yield self._env.timeout(self._chance.expovariate(1 / self._mean_gap))
            number = choose(self._loads, self._chance)
            self._env.process(self._task(number, self._services[number]))

    def _task(self, number: int, service: _Service) -> Events:
        name = next(self._names)
        self._waiting[name] = self._env.now
        yield self._env.timeout(self._steps.start)
        is_full = service.slots.count >= self._plant.slots
        with service.slots.request() as slot:
            yield slot
            if is_full:  # the kick found no slot; the next tick finds the task
                yield self._env.timeout(self._chance.uniform(0, self._plant.tick))
            with service.requests.request() as thread:
                yield thread
                self.waits.append(self._env.now - self._waiting.pop(name))
                yield self._env.timeout(self._steps.submit)
            self.submits += 1
            yield self._env.timeout(self._polling(number))
            with service.transfers.request() as thread:
                yield thread
                yield self._env.timeout(self._steps.transfer)
        self.finished += 1

    def _polling(self, number: int) -> float:
        """Note all looks at a job; returns the seconds until the one that finds it done.

        Looks at one account in one tick are one call.
        """
        interval = self._steps.poll_interval
        polls = math.ceil(self._chance.lognormvariate(math.log(self._steps.generation), SPREAD) / interval)
        account = self._chance.randrange(self._plant.accounts)
        times = (self._env.now + interval * turn for turn in range(1, polls + 1))
        self.looks |= {(number, int(at / self._plant.tick), account) for at in times}
        self.polls += polls
        return polls * interval


def simulate(rate: float, plant: Plant, steps: Steps, *, hours: float | None = None, seed: int = 1) -> Outcome:
    """Tasks come at random, ``rate`` an hour, for ``hours``; without it for an hour or 8,000 tasks."""
    seconds = 3600 * (min(1.0, MOST_TASKS / rate) if hours is None else hours)
    run = _Run(rate, plant, steps, seed)
    run.run(seconds)
    return _outcome(rate, plant, steps, run, seconds)


def _outcome(rate: float, plant: Plant, steps: Steps, run: _Run, seconds: float) -> Outcome:
    per_second = rate / 3600
    # The mean of a logarithmic normal distribution is above its median; a poll comes half an interval late.
    generation = steps.generation * math.exp(SPREAD**2 / 2) + steps.poll_interval / 2
    polls = generation / steps.poll_interval
    needed = {
        "slots": per_second * (steps.submit + generation + steps.transfer) / (plant.services * plant.slots),
        "request threads": per_second * steps.submit / (plant.services * plant.request_threads),
        "transfer threads": per_second * steps.transfer / (plant.services * plant.transfer_threads),
        "MongoDB writes": per_second * (steps.writes_per_task + polls) / steps.writes_per_second,
    }
    ticks = plant.services * steps.commands_per_tick / plant.tick
    commands = ticks + (run.submits * steps.writes_per_task + run.polls) / seconds
    waits = run.waits or [0.0]
    return Outcome(
        queue_p50=percentile(waits, 0.5),
        queue_p95=percentile(waits, 0.95),
        commands_per_second=commands,
        provider_calls_per_second=(run.submits + len(run.looks)) / seconds,
        shares=needed,
        finished=run.finished,
    )


def pollers_needed(rate: float, plant: Plant, steps: Steps) -> tuple[int, Outcome] | None:
    """The fewest services whose 95th percentile of queue time is within 10 s, and what happens with them.

    None if no number of services that was tried is enough.
    """
    alone = simulate(rate, replace(plant, services=1), steps, hours=0.001).shares
    services = max(1, math.ceil(max(share for name, share in alone.items() if name != "MongoDB writes")))
    for _ in range(MOST_GUESSES):
        outcome = simulate(rate, replace(plant, services=services), steps)
        if outcome.queue_p95 <= QUEUE_GOAL:
            return services, outcome
        services = max(services + 1, round(services * 1.2))
    return None
