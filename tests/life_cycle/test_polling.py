"""A running job is polled until the provider says how it ended."""

from threading import Barrier

import pytest

from jimeng_tasks.domain.task import ResultStatus, TaskStatus
from jimeng_tasks.exceptions import (
    ContentRejected,
    NotSent,
    OutcomeUnknown,
    ProviderError,
    RateLimited,
    ServerRefused,
)

from .scripted_provider import done, failed, running
from .world import INTERVAL, World

MODERATION = ContentRejected("output moderation", fail_code="2038")


def polls(world: World, times: int) -> None:
    """Tick whenever the task is due, so many times."""
    for _ in range(times):
        world.tick_after(max(0, (world.task().next_poll_at or 0) - world.clock.now()))


def test_a_running_job_is_asked_for_again_after_its_interval(world: World) -> None:
    world.post_accepted()
    for polled in (1, 2, 3):
        summary = world.tick()
        task, now = world.task(), world.clock.now()
        assert (task.status, task.poll_count) == (TaskStatus.POLLING, polled)
        assert (task.next_poll_at, task.claim_id, task.updated_at) == (now + INTERVAL, None, now)
        assert summary["polled"] == 1
        world.clock.advance(INTERVAL)


def test_a_video_is_asked_for_at_its_own_interval(world: World) -> None:
    world.post_accepted(poll_interval=15)
    world.clock.advance(5)
    world.tick()
    assert world.task().next_poll_at == world.clock.now() + 15


def test_partial_items_are_not_the_result(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].extend([running("https://j.example/1"), done("https://j.example/1", "https://j/2")])
    world.tick()
    assert (world.task().status, world.task().original_urls) == (TaskStatus.POLLING, ())
    polls(world, 1)
    assert world.take_result().original_urls == ("https://j.example/1", "https://j/2")


def test_a_finished_job_completes_in_the_same_tick(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(done("https://j.example/1.png"))
    summary = world.tick()
    task, result, now = world.task(), world.take_result(), world.clock.now()
    assert (task.status, task.completed_at, task.next_poll_at, task.slot) == (TaskStatus.COMPLETED, now, None, None)
    assert result.status is ResultStatus.SUCCESS
    assert (result.metadata.total_files, result.metadata.successful_uploads) == (1, 1)
    assert result.metadata.generation_time == INTERVAL * 1000
    assert (summary["completed"], summary["failed"]) == (1, 0)


def test_jobs_of_one_account_are_asked_for_in_one_request(world: World) -> None:
    for name, account in (("t1", "a"), ("t2", "a"), ("t3", "b")):
        world.post(name, account=account)
    world.tick()
    summary = world.tick_after(INTERVAL)
    history_ids = {name: world.provider.job(name).history_id for name in ("t1", "t2", "t3")}
    assert sorted(world.provider.looks, key=lambda look: look[0]) == [
        ("a", frozenset({history_ids["t1"], history_ids["t2"]})),
        ("b", frozenset({history_ids["t3"]})),
    ]
    assert summary["polled"] == 3


def test_accounts_are_served_side_by_side(world: World) -> None:
    """Each request is answered once the other has come; one after the other, neither would be."""
    both_asked = Barrier(2)
    for account in ("a", "b"):
        world.post(f"of-{account}", account=account)
        world.provider.before_poll[account] = lambda: both_asked.wait(timeout=10)
    world.tick()
    world.tick_after(INTERVAL)
    assert [world.task(name).poll_count for name in ("of-a", "of-b")] == [1, 1]


def test_one_failed_job_leaves_the_rest_of_its_request_alone(world: World) -> None:
    for name in ("t1", "t2", "t3"):
        world.post(name)
    world.tick()
    world.provider.on_poll["t1"].append(failed(MODERATION))
    world.provider.on_poll["t2"].append(done("https://j.example/2"))
    summary = world.tick_after(INTERVAL)
    assert world.states("t1", "t2", "t3") == ["failed", "completed", "polling"]
    assert (summary["failed"], summary["completed"]) == (1, 1)


def test_a_failure_ends_polling_on_first_sight(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(failed(MODERATION))
    world.tick()
    task, result = world.task(), world.take_result()
    assert (task.status, task.fail_code, task.retry_count) == (TaskStatus.FAILED, "2038", 0)
    assert "content_rejected" in (task.error_message or "")
    assert task.internal_params.history_id == world.provider.job("t1").history_id
    assert result.status is ResultStatus.FAILED
    assert "output moderation" in (result.metadata.fail_reason or "")
    looks = len(world.provider.looks)
    world.tick_after(1000)
    assert len(world.provider.looks) == looks
    assert world.provider.paid() == ["t1"]


def test_a_failure_that_delivered_items_is_completed_with_them(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(failed(MODERATION, "https://j.example/1", "https://j.example/2"))
    world.tick()
    result = world.take_result()
    assert world.task().status is TaskStatus.COMPLETED
    assert (result.status, len(result.tos_urls)) == (ResultStatus.SUCCESS, 2)
    assert "output moderation" in (result.metadata.fail_reason or "")


@pytest.mark.parametrize(
    "error",
    [NotSent("no route"), OutcomeUnknown("502"), ServerRefused("busy"), RateLimited("slow down")],
    ids=lambda error: error.name,
)
def test_an_outage_means_ask_again_later_and_later_until_the_deadline(world: World, error: ProviderError) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].extend([error] * 9)
    delays = []
    for _ in range(9):
        polls(world, 1)
        delays.append((world.task().next_poll_at or 0) - world.clock.now())
    assert delays == [10, 20, 40, 80, 160, 300, 300, 300, 300]
    assert world.clock.now() < world.task().deadline_at
    polls(world, 1)
    assert (world.task().status, world.task().next_poll_at) == (TaskStatus.POLLING, world.clock.now() + INTERVAL)
    assert world.task().internal_params.history_id == world.provider.job("t1").history_id


def test_jitter_spreads_the_looks_after_an_outage(world: World) -> None:
    world.jitter = 0.5
    world.post_accepted()
    world.provider.on_poll["t1"].extend([OutcomeUnknown("502")] * 2)
    polls(world, 2)
    assert world.task().next_poll_at == world.clock.now() + 15


def test_a_rate_limit_while_polling_is_given_the_time_it_asks_for(world: World) -> None:
    world.post_accepted()
    world.provider.on_poll["t1"].append(RateLimited("slow down", retry_after=120))
    world.tick()
    assert world.task().next_poll_at == world.clock.now() + 120


def test_an_outage_of_one_account_leaves_the_others_alone(world: World) -> None:
    world.post("t1", account="a")
    world.post("t2", account="b")
    world.tick()
    world.provider.on_poll["t1"].append(OutcomeUnknown("connection reset"))
    world.provider.on_poll["t2"].append(done("https://j.example/2"))
    world.tick_after(INTERVAL)
    assert world.states("t1", "t2") == ["polling", "completed"]


def test_a_claim_lost_while_polling_writes_nothing(world: World) -> None:
    world.post_accepted("t1")
    stale = world.claim_running("t1")
    world.clock.advance(world.policy.lease)
    fresh = world.claim_running("t1")
    assert world.store.save_many([(stale, stale)]) == 1
    assert world.task("t1") == fresh
