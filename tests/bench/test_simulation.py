"""Properties that the simulation must have whatever the measured steps are."""

from dataclasses import replace

import pytest

from bench.simulation import CHOICES, QUEUE_GOAL, Plant, Steps, pollers_needed, simulate

STEPS = Steps(start=0.05, writes_per_second=2000)


def test_with_room_for_everybody_a_task_waits_no_longer_than_its_kick() -> None:
    seen = simulate(60, Plant(services=1, slots=100), STEPS, hours=2)

    assert seen.finished > 60
    assert seen.queue_p95 == pytest.approx(STEPS.start)


def test_beyond_the_wall_the_queue_grows_with_time() -> None:
    short, long = (simulate(1000, Plant(), STEPS, hours=hours) for hours in (0.25, 1))

    assert short.wall == long.wall == "slots"
    assert short.shares["slots"] > 1
    assert long.queue_p95 > 2 * short.queue_p95


def test_no_more_tasks_finish_than_the_slots_allow() -> None:
    plant, hours = Plant(services=2, slots=3), 2

    seen = simulate(5000, plant, STEPS, hours=hours)

    shortest = STEPS.submit + STEPS.poll_interval + STEPS.transfer
    assert 0 < seen.finished <= plant.services * plant.slots * hours * 3600 / shortest


def test_a_slower_provider_needs_more_slots_and_makes_more_commands() -> None:
    plant = Plant(services=4, slots=50)
    quick, slow = (simulate(500, plant, replace(STEPS, generation=seconds)) for seconds in (30, 300))

    assert slow.shares["slots"] > 5 * quick.shares["slots"]
    assert slow.commands_per_second > quick.commands_per_second


def test_tasks_of_one_account_share_their_calls() -> None:
    one, many = (simulate(3000, Plant(services=1, slots=500, accounts=n), STEPS) for n in (1, 100))

    assert one.provider_calls_per_second < many.provider_calls_per_second


def test_a_weak_database_becomes_the_first_wall() -> None:
    seen = simulate(3000, Plant(services=50, slots=100), replace(STEPS, writes_per_second=1))

    assert seen.wall == "MongoDB writes"


@pytest.mark.parametrize("choice", ["any", "better of two"])
def test_the_pollers_that_are_needed_keep_the_queue_short(choice: str) -> None:
    enough = pollers_needed(1000, Plant(choice=choice), STEPS)

    assert enough is not None
    services, seen = enough
    assert seen.queue_p95 <= QUEUE_GOAL
    assert services * 3 >= 1000 / 3600 * STEPS.generation


@pytest.mark.parametrize("choice", CHOICES)
def test_equal_seeds_give_equal_outcomes(choice: str) -> None:
    plant = Plant(services=5, choice=choice)

    assert simulate(200, plant, STEPS, seed=7) == simulate(200, plant, STEPS, seed=7)
    assert simulate(200, plant, STEPS, seed=7) != simulate(200, plant, STEPS, seed=8)
