"""Tasks past their deadline are looked at one last time and then end."""

from dataclasses import replace

import pytest

from jimeng_tasks.domain.task import ResultStatus, TaskStatus
from jimeng_tasks.exceptions import (
    ContentRejected,
    LoginMissing,
    LoginRejected,
    NotSent,
    OutcomeUnknown,
    StorageError,
)

from .scripted_provider import AcceptedBut, LookAnswer, done, failed, running
from .world import TIMEOUT, Context, World

REASON = f"Task timeout after {TIMEOUT} seconds"


def assert_timed_out(world: World, task_id: str = "t1") -> None:
    task, result = world.task(task_id), world.take_result(task_id)
    assert (task.status, task.error_message) == (TaskStatus.FAILED, "Task timeout")
    assert (task.completed_at, task.next_poll_at, task.slot) == (world.clock.now(), None, None)
    assert (result.status, result.metadata.fail_reason) == (ResultStatus.FAILED, REASON)
    assert (result.original_urls, result.tos_urls) == ((), ())


def test_a_pending_task_counts_from_its_creation(world: World) -> None:
    world.post("ahead")
    world.tick(capacity=1)
    world.post("t1")
    world.tick_after(TIMEOUT - 1, capacity=1)
    assert world.task("t1").status is TaskStatus.PENDING
    summary = world.tick_after(2, capacity=0)
    assert_timed_out(world)
    assert world.provider.paid() == ["ahead"]
    assert summary["timed_out"] == 2


def test_a_running_task_counts_from_its_start(world: World) -> None:
    world.post()
    world.tick_after(TIMEOUT - 10)
    started = world.clock.now()
    assert world.task().started_at == started
    world.tick_after(TIMEOUT - 1)
    assert world.task().status is TaskStatus.POLLING
    world.tick_after(2)
    assert_timed_out(world)


def test_a_retried_task_counts_from_its_creation_again(world: World) -> None:
    world.post()
    world.provider.on_submit["t1"].extend([NotSent("no route")] * 9)
    world.tick_after(TIMEOUT - 5)
    assert world.task().status is TaskStatus.PENDING
    world.tick_after(10)
    assert_timed_out(world)


def test_no_more_overdue_tasks_are_submitted_however_many_they_are(world: World) -> None:
    """After a long outage of the poller hundreds may wait past their deadline: none is worth paying for."""
    names = [f"t{number:02}" for number in range(60)]
    for name in names:
        world.post(name)
    world.tick_after(TIMEOUT + 1)
    assert world.provider.paid() == []
    world.tick()
    assert world.provider.paid() == []
    assert world.states(*names) == ["failed"] * 60


def test_an_overdue_task_is_not_started_by_a_kick(world: World) -> None:
    """A kick while another loop holds the service only starts pending tasks; an overdue one must not be among them."""
    world.post()
    world.clock.advance(TIMEOUT + 1)
    world.hold_service()
    world.handler()({"kick": "t1"}, Context())
    assert world.provider.paid() == []


def test_a_job_that_finished_at_the_last_moment_is_kept(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(done("https://j.example/1"))
    world.tick_after(TIMEOUT)
    result = world.take_result()
    assert (world.task().status, result.status) == (TaskStatus.COMPLETED, ResultStatus.SUCCESS)
    assert (result.metadata.successful_uploads, result.metadata.fail_reason) == (1, None)


def test_a_job_that_failed_meanwhile_fails_with_its_own_reason(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(failed(ContentRejected("moderation", fail_code="2038")))
    world.tick_after(TIMEOUT)
    assert (world.task().status, world.task().fail_code) == (TaskStatus.FAILED, "2038")


def test_items_that_are_there_at_the_deadline_become_the_result(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(running("https://j.example/1", "https://j.example/2"))
    world.tick_after(TIMEOUT)
    result = world.take_result()
    assert world.task().status is TaskStatus.COMPLETED
    assert (len(result.tos_urls), result.metadata.fail_reason) == (2, REASON)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(running(), id="still running"),
        pytest.param(done(), id="success without media"),
        pytest.param(None, id="record missing"),
        pytest.param(OutcomeUnknown("502"), id="outage"),
        pytest.param(LoginRejected("check login error"), id="login error"),
        pytest.param(LoginMissing("token of no known region"), id="token without region"),
        pytest.param(RuntimeError("a fault of our own"), id="unexpected error"),
    ],
)
def test_whatever_else_the_last_look_says_the_task_ends(world: World, answer: LookAnswer) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].extend([answer] * 9)
    summary = world.tick_after(TIMEOUT)
    assert_timed_out(world)
    assert (summary["timed_out"], summary["failed"]) == (1, 1)


def test_an_unknown_submission_is_looked_up_one_last_time(world: World) -> None:
    world.post("t1", task_timeout=60, deadline_at=world.clock.now() + 60)
    world.provider.on_submit["t1"].append(AcceptedBut(OutcomeUnknown("reset")))
    world.tick()
    world.provider.on_find["t1"].append(done("https://j.example/1"))
    world.tick_after(61)
    assert world.task().status is TaskStatus.COMPLETED
    assert world.task().internal_params.history_id == world.provider.job("t1").history_id
    assert world.take_result().original_urls == ("https://j.example/1",)


def test_an_unknown_submission_that_is_absent_times_out(world: World) -> None:
    world.leave_sent(task_timeout=60, deadline_at=world.clock.now() + 60)
    world.tick()
    assert world.task().error_message == "Task timeout"
    assert world.take_result().metadata.fail_reason == "Task timeout after 60 seconds"
    assert world.provider.paid() == []


def test_a_transfer_that_the_deadline_overtakes_ends_with_what_can_be_stored(world: World) -> None:
    world.post_accepted()
    assert world.storage
    world.provider.on_poll["t1"].append(done("https://j.example/1", "https://j.example/2"))
    world.storage.troubles["t1/1.png"].extend([StorageError("down")] * 9)
    world.clock.advance(TIMEOUT - 20)
    world.tick()
    assert world.task().status is TaskStatus.POLLING
    world.tick_after(20)
    result = world.take_result()
    assert (world.task().status, result.metadata.successful_uploads) == (TaskStatus.COMPLETED, 1)
    assert result.tos_urls[1] == "https://j.example/2"


def test_overdue_tasks_of_every_service_are_swept(world: World) -> None:
    world.post("t1", server_id="svc-gone")
    world.post("t2", server_id="svc-gone")
    world.tick(service="svc-gone", only=["t2"])
    summary = world.tick_after(TIMEOUT, service="svc-a")
    assert_timed_out(world, "t1")
    assert_timed_out(world, "t2")
    assert (summary["timed_out"], summary["failed"]) == (2, 2)


def test_a_task_that_somebody_works_on_is_not_swept(world: World) -> None:
    world.post_accepted()
    world.clock.advance(TIMEOUT - 20)
    held = world.claim_running()
    assert world.tick_after(30)["claimed"] == 0
    assert world.task() == held
    world.tick_after(world.policy.lease)
    assert_timed_out(world)


def test_a_sweep_that_was_killed_is_made_up_for(world: World) -> None:
    world.post()
    world.clock.advance(TIMEOUT + 1)
    [held] = world.store.claim_overdue(world.clock.now(), 10, world.policy.lease)
    assert world.tick()["claimed"] == 0
    assert replace(world.task(), updated_at=0) == replace(held, updated_at=0)
    world.tick_after(world.policy.lease)
    assert_timed_out(world)
    assert world.provider.paid() == []
