"""Answers while polling that are believed only when they come three times in a row over at least a minute."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from jimeng_tasks.domain.task import Strikes, TaskStatus
from jimeng_tasks.exceptions import LoginRejected, OutcomeUnknown

from .scripted_provider import MISSING, LookAnswer, done, running
from .test_polling import polls
from .world import INTERVAL, World

LOGIN = LoginRejected("check login error", fail_code="1015")

# What the provider says, the kind of strike, and what the task fails with once it is believed.
DOUBTFUL = pytest.mark.parametrize(
    ("answer", "kind", "fail_code"),
    [
        pytest.param(lambda: MISSING, "missing", "not_found", id="record missing"),
        pytest.param(done, "no_media", "result_missing", id="success without media"),
        pytest.param(lambda: LOGIN, "login", "1015", id="login error"),
    ],
)
type Answer = Callable[[], LookAnswer]


@DOUBTFUL
def test_three_in_a_row_over_a_minute_are_believed(world: World, answer: Answer, kind: str, fail_code: str) -> None:
    accepted = world.post_accepted()
    first_seen = world.clock.now()
    world.provider.on_poll["t1"].extend([answer()] * 3)
    polls(world, 2)
    assert world.task().status is TaskStatus.POLLING
    polls(world, 1)
    task = world.task()
    assert world.clock.now() - first_seen >= 60
    assert (task.status, task.fail_code) == (TaskStatus.FAILED, fail_code)
    assert task.internal_params.history_id == accepted.internal_params.history_id
    assert world.take_result().metadata.fail_reason
    assert world.provider.paid() == ["t1"]


@DOUBTFUL
def test_three_within_a_minute_are_not(world: World, answer: Answer, kind: str, fail_code: str) -> None:
    world.post_accepted()
    claimed, now = world.claim_running(), world.clock.now()
    strikes = Strikes(kind=kind, count=2, since=now - 59)
    world.store.save(claimed, replace(claimed, claim_id=None, next_poll_at=now, strikes=strikes))
    world.provider.on_poll["t1"].extend([answer()] * 2)
    world.tick()
    assert world.task().status is TaskStatus.POLLING
    polls(world, 1)
    assert world.task().status is TaskStatus.FAILED


@DOUBTFUL
@pytest.mark.parametrize("between", [running(), OutcomeUnknown("502")], ids=["running", "outage"])
def test_another_answer_between_breaks_the_row(
    world: World, answer: Answer, kind: str, fail_code: str, between: LookAnswer
) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].extend([answer(), answer(), between, answer(), answer()])
    polls(world, 5)
    assert world.task().status is TaskStatus.POLLING
    world.provider.on_poll["t1"].append(done("https://j.example/1"))
    polls(world, 1)
    assert world.task().status is TaskStatus.COMPLETED


def test_different_doubts_do_not_add_up(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].extend([MISSING, done(), LOGIN, MISSING, done(), LOGIN])
    polls(world, 6)
    assert world.task().status is TaskStatus.POLLING


def test_a_dead_account_takes_no_other_account_along(world: World) -> None:
    for name, account in (("t1", "dead"), ("t2", "dead"), ("t3", "alive")):
        world.post(name, account=account)
    world.tick()
    world.provider.on_poll["t1"].extend([LOGIN] * 3)
    for _ in range(3):
        world.tick_after(30)
    assert world.states("t1", "t2", "t3") == ["failed", "failed", "polling"]
    assert world.task("t2").fail_code == "1015"
    world.provider.on_poll["t3"].append(done("https://j.example/3"))
    world.tick_after(INTERVAL)
    assert world.states("t3") == ["completed"]


def test_a_task_without_history_id_is_not_polled_for_ever(world: World) -> None:
    """Such a document can only come from elsewhere; it has nothing to ask for."""
    world.post_accepted()
    claimed = world.claim_running()
    internal = replace(claimed.internal_params, history_id=None)
    world.store.save(claimed, replace(claimed, internal_params=internal, next_poll_at=world.clock.now()))
    polls(world, 3)
    assert (world.task().status, world.task().fail_code) == (TaskStatus.FAILED, "not_found")
