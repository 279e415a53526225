"""Nobody knows whether the paid call was accepted: it is looked up by its submit id, never blindly repeated."""

from dataclasses import replace

import pytest

from jimeng_tasks.domain.task import Strikes, SubmitPhase, Task, TaskStatus
from jimeng_tasks.exceptions import ContentRejected, LoginRejected, NotSent, OutcomeUnknown

from .scripted_provider import MISSING, AcceptedBut, failed
from .stand_ins import Killed
from .world import World

OUTAGE = OutcomeUnknown("502 from the provider")
LOGIN = LoginRejected("check login error", fail_code="1015")


def look_ups(world: World, times: int) -> None:
    """Tick whenever the task is due, so many times."""
    for _ in range(times):
        world.tick_after(max(0, (world.task().next_poll_at or 0) - world.clock.now()))


@pytest.mark.parametrize("trouble", [OutcomeUnknown("read timed out"), RuntimeError("a fault of our own")])
def test_an_accepted_job_whose_answer_was_lost_is_found(world: World, trouble: Exception) -> None:
    world.post()
    world.provider.on_submit["t1"].append(AcceptedBut(trouble))
    world.tick()
    assert (world.task().status, world.task().retry_count) == (TaskStatus.PROCESSING, 0)
    look_ups(world, 1)
    task = world.task()
    assert task.status is TaskStatus.POLLING
    assert task.internal_params.history_id == world.provider.job("t1").history_id
    assert world.provider.acceptances() == {task.internal_params.submit_id: 1}


def test_a_poller_killed_during_the_paid_call_leaves_the_task_to_its_lease(world: World) -> None:
    world.post()
    world.provider.on_submit["t1"].append(AcceptedBut(Killed()))
    world.tick()
    assert world.task().submit_phase is SubmitPhase.SENT
    assert world.tick_after(world.policy.submit_lease - 1)["claimed"] == 0
    world.tick_after(1)
    assert world.task().status is TaskStatus.POLLING
    assert world.provider.paid() == ["t1"]


def test_a_poller_killed_before_the_call_could_be_made_needs_no_look_up(world: World) -> None:
    """The look-up is out of order here; the task is submitted without it."""
    world.post()
    world.claim_pending()
    world.provider.on_find["t1"].extend([OUTAGE] * 9)
    world.tick_after(world.policy.lease)
    assert world.task().status is TaskStatus.POLLING
    assert world.task().retry_count == 0
    assert world.provider.paid() == ["t1"]


def test_an_absent_submission_is_made_again_after_three_look_ups_over_a_minute(world: World) -> None:
    sent = world.leave_sent()
    first_seen = world.clock.now()
    look_ups(world, 2)
    assert (world.task().status, world.provider.paid()) == (TaskStatus.PROCESSING, [])
    look_ups(world, 1)
    assert world.clock.now() - first_seen >= 60
    world.tick()
    task = world.task()
    assert (task.status, task.retry_count) == (TaskStatus.POLLING, 1)
    assert world.provider.acceptances() == {sent.internal_params.submit_id: 1}


def test_three_look_ups_within_a_minute_prove_nothing(world: World) -> None:
    sent = world.leave_sent()
    claimed = world.claim_running()
    now = world.clock.now()
    strikes = Strikes(kind="absent", count=2, since=now - 59)
    world.store.save(claimed, replace(claimed, claim_id=None, next_poll_at=now, strikes=strikes))
    world.tick()
    assert (world.task().status, world.task().retry_count) == (TaskStatus.PROCESSING, 0)
    assert world.provider.paid() == []
    look_ups(world, 2)
    assert world.provider.acceptances() == {sent.internal_params.submit_id: 1}


def test_a_look_up_that_fails_proves_nothing(world: World) -> None:
    world.leave_sent()
    look_ups(world, 2)
    world.provider.on_find[world.task().internal_params.submit_id or ""].extend([OUTAGE] * 5)
    look_ups(world, 5)
    assert (world.task().status, world.task().retry_count) == (TaskStatus.PROCESSING, 0)
    assert world.provider.paid() == []


def test_a_late_appearance_is_found_although_it_was_absent_twice(world: World) -> None:
    world.post()
    world.provider.on_submit["t1"].append(AcceptedBut(OutcomeUnknown("reset by peer")))
    world.provider.on_find["t1"].extend([MISSING, MISSING])
    world.tick()
    look_ups(world, 3)
    assert (world.task().status, world.task().retry_count) == (TaskStatus.POLLING, 0)
    assert world.provider.paid() == ["t1"]


def test_an_absent_submission_without_retries_left_fails(world: World) -> None:
    world.leave_sent(retry_count=3)
    look_ups(world, 3)
    task = world.task()
    assert (task.status, task.slot) == (TaskStatus.FAILED, None)
    assert task.error_message
    assert world.take_result().metadata.fail_reason
    assert world.provider.paid() == []


def test_a_second_submission_that_is_refused_goes_back_to_the_queue(world: World) -> None:
    sent = world.leave_sent()
    submit_id = sent.internal_params.submit_id or ""
    look_ups(world, 2)
    world.provider.on_submit["t1"].append(NotSent("no route"))
    look_ups(world, 2)
    assert (world.task().status, world.task().retry_count) == (TaskStatus.PENDING, 2)
    look_ups(world, 1)
    assert world.provider.acceptances() == {submit_id: 1}


def test_a_dead_account_is_believed_after_three_look_ups_over_a_minute(world: World) -> None:
    world.leave_sent()
    first_seen = world.clock.now()
    world.provider.on_find[world.task().internal_params.submit_id or ""].extend([LOGIN] * 3)
    look_ups(world, 2)
    assert world.task().status is TaskStatus.PROCESSING
    look_ups(world, 1)
    assert world.clock.now() - first_seen >= 60
    assert (world.task().status, world.task().fail_code) == (TaskStatus.FAILED, "1015")


def test_a_found_job_that_failed_fails_its_task(world: World) -> None:
    world.post()
    refusal = failed(ContentRejected("moderation", fail_code="2038"))
    world.provider.on_submit["t1"].append(AcceptedBut(OutcomeUnknown("reset")))
    world.provider.on_find["t1"].append(refusal)
    world.provider.on_poll["t1"].append(refusal)
    world.tick()
    look_ups(world, 2)
    assert (world.task().status, world.task().fail_code) == (TaskStatus.FAILED, "2038")
    assert world.provider.paid() == ["t1"]


def test_a_claim_lost_during_the_paid_call_writes_nothing_and_pays_once(world: World) -> None:
    world.post()
    taken: list[Task] = []

    def another_poller_takes_over() -> None:
        world.clock.advance(world.policy.submit_lease)
        taken.append(world.claim_running())

    world.provider.on_submit["t1"].append(another_poller_takes_over)
    summary = world.tick()
    assert (summary["claims_lost"], summary["submitted"]) == (1, 0)
    assert world.task() == taken[0]
    assert world.metrics.totals["claims_lost"] == 1
    world.tick_after(world.policy.lease)
    assert world.task().status is TaskStatus.POLLING
    assert world.provider.paid() == ["t1"]


def test_submissions_of_one_account_are_looked_up_in_one_request(world: World) -> None:
    tasks = [world.post(name, account=account) for name, account in (("t1", "a"), ("t2", "a"), ("t3", "b"))]
    for task in tasks:
        world.provider.on_submit[task.task_id].append(AcceptedBut(OutcomeUnknown("reset")))
    world.tick()
    world.tick_after(60)
    submit_ids = {name: world.provider.job(name).submit_id for name in ("t1", "t2", "t3")}
    assert sorted(world.provider.looks, key=lambda look: look[0]) == [
        ("a", frozenset({submit_ids["t1"], submit_ids["t2"]})),
        ("b", frozenset({submit_ids["t3"]})),
    ]
    assert world.states("t1", "t2", "t3") == ["polling"] * 3


def test_a_task_is_never_submitted_twice_however_often_its_pollers_are_killed(world: World) -> None:
    world.post()
    world.provider.on_prepare["t1"].extend([Killed(), Killed()])
    world.provider.on_submit["t1"].append(AcceptedBut(Killed()))
    world.provider.on_find["t1"].extend([Killed(), MISSING, Killed()])
    for _ in range(8):
        world.tick_after(world.policy.lease)
    assert world.task().status is TaskStatus.POLLING
    assert world.provider.paid() == ["t1"]
