"""Who is served, how many at once, in which order; and what happens to claimed work when time is short."""

import pytest

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.exceptions import ContentRejected, NotSent, OutcomeUnknown

from .scripted_provider import AcceptedBut, done, failed
from .world import INTERVAL, SERVICE, World

REFUSED = ContentRejected("moderation", fail_code="2038")


def running(world: World) -> int:
    return len(world.store.survey(SERVICE, 100).running)


def test_no_more_than_the_capacity_runs_at_once(world: World) -> None:
    names = [f"t{number}" for number in range(7)]
    for name in names:
        world.post(name)
    for _ in range(4):
        world.tick(capacity=3)
        assert running(world) == 3
        world.clock.advance(1)
    assert sorted(world.provider.paid()) == names[:3]


def test_a_task_of_unknown_outcome_keeps_its_place(world: World) -> None:
    world.post("t1")
    world.provider.on_submit["t1"].append(AcceptedBut(OutcomeUnknown("reset")))
    world.tick(capacity=1)
    world.post("t2")
    world.tick(capacity=1)
    assert world.states("t1", "t2") == ["processing", "pending"]


@pytest.mark.parametrize("end", ["completed", "failed", "back in the queue"])
def test_a_place_is_free_again_when_its_task_leaves(world: World, end: str) -> None:
    world.post("t1")
    world.clock.advance(1)
    world.post("t2")
    if end == "back in the queue":
        world.provider.on_submit["t1"].append(NotSent("no route"))
    world.tick(capacity=1)
    world.provider.on_poll["t1"].append(done("https://j.example/1") if end == "completed" else failed(REFUSED))
    world.tick_after(INTERVAL - 1, capacity=1)
    world.tick_after(1, capacity=1)
    world.tick(capacity=1)
    assert world.task("t2").status is TaskStatus.POLLING
    assert running(world) == 1


def test_tasks_start_in_the_order_of_their_creation(world: World) -> None:
    for name in ("zulu", "alpha", "mike"):
        world.post(name)
        world.clock.advance(1)
    for name in ("zulu", "alpha", "mike"):
        world.provider.on_poll[name].append(failed(REFUSED))
    started = []
    for _ in range(3):
        world.tick(capacity=1)
        started = world.provider.paid()
        world.tick_after(INTERVAL, capacity=1)
    assert started == ["zulu", "alpha", "mike"]


def test_a_task_waiting_for_its_retry_does_not_block_the_queue(world: World) -> None:
    world.post("t1")
    world.provider.on_submit["t1"].append(NotSent("no route"))
    world.tick(capacity=1)
    world.post("t2")
    world.tick(capacity=1)
    assert world.states("t1", "t2") == ["pending", "polling"]


def test_tasks_of_other_services_are_left_alone(world: World) -> None:
    before = world.post("t1", server_id="svc-b")
    world.tick()
    assert world.task("t1") == before


def test_work_that_has_not_begun_is_given_back_when_time_is_short(world: World) -> None:
    world.post_accepted("t1")
    polling = world.task("t1")
    pending = world.post("t2")
    world.tick(may_begin=lambda: False)
    now = world.clock.now()
    assert world.provider.paid() == ["t1"]
    assert (world.task("t1").status, world.task("t1").next_poll_at) == (TaskStatus.POLLING, now)
    assert (world.task("t1").claim_id, world.task("t1").poll_count) == (None, polling.poll_count)
    given_back = world.task("t2")
    assert (given_back.status, given_back.slot, given_back.claim_id) == (TaskStatus.PENDING, None, None)
    assert (given_back.started_at, given_back.deadline_at) == (None, pending.deadline_at)
    assert given_back.retry_count == 0
    world.tick()
    assert world.provider.paid() == ["t1", "t2"]


def test_an_unknown_outcome_is_not_forgotten_when_time_is_short(world: World) -> None:
    sent = world.leave_sent()
    world.tick(may_begin=lambda: False)
    assert (world.task().status, world.task().submit_phase) == (TaskStatus.PROCESSING, sent.submit_phase)
    assert world.task().internal_params.submit_id == sent.internal_params.submit_id
    assert world.provider.paid() == []


def test_a_delivery_is_not_forgotten_when_time_is_short(world: World) -> None:
    """Time runs short between the poll and the transfer."""
    world.post_accepted()
    world.provider.on_poll["t1"].append(done("https://j.example/1"))
    answers = iter([True])
    world.tick(may_begin=lambda: next(answers, False))
    assert world.task().original_urls == ("https://j.example/1",)
    world.tick()
    assert world.task().status is TaskStatus.COMPLETED
    assert len(world.provider.looks) == 1


def test_a_task_that_is_given_back_keeps_its_place_in_the_queue(world: World) -> None:
    """`next_poll_at` of a pending task is its creation or retry time: giving it back must not send it to the end."""
    world.post("first")
    world.clock.advance(1)
    world.post("second")
    world.tick_after(60, capacity=1, may_begin=lambda: False)
    world.tick(capacity=1)
    assert world.provider.paid() == ["first"]


def test_nothing_is_begun_on_a_lease_that_ended_while_it_waited_for_a_thread(world: World) -> None:
    world.post()

    def after_a_long_wait() -> bool:
        world.clock.advance(world.policy.lease)
        return True

    summary = world.tick(may_begin=after_a_long_wait)
    assert summary["claims_lost"] == 1
    assert world.provider.paid() == []
    world.tick()
    assert world.provider.paid() == ["t1"]


def test_a_restricted_tick_touches_only_its_tasks(world: World) -> None:
    for name in ("t1", "t2", "t3"):
        world.post(name)
    world.tick(only=["t3"])
    assert world.states("t1", "t2", "t3") == ["pending", "pending", "polling"]


def test_a_restricted_tick_finds_the_free_place_beside_others(world: World) -> None:
    """Places of tasks outside the restriction are taken all the same."""
    world.post("t1")
    world.tick(capacity=3)
    world.post("t2")
    world.tick(capacity=3, only=["t2"])
    assert world.states("t1", "t2") == ["polling", "polling"]


def test_a_restricted_tick_does_not_exceed_the_capacity(world: World) -> None:
    world.post("t1")
    world.tick(capacity=1)
    world.post("t2")
    world.tick(capacity=1, only=["t2"])
    assert world.states("t1", "t2") == ["polling", "pending"]
