"""One invocation of the poller: what it returns, when it leaves, how it shares a service with another loop."""

import threading
from collections import Counter
from dataclasses import dataclass

import pytest

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.domain.workload import Server
from jimeng_tasks.service.work.worker import REQUEST_THREADS

from .scripted_provider import done
from .world import INTERVAL, SERVICE, Context, World

SUMMARY = [
    "server_id",
    "ticks",
    "claimed",
    "submitted",
    "polled",
    "completed",
    "failed",
    "retried",
    "timed_out",
    "claims_lost",
    "cleaned",
    "stop_reason",
    "duration_ms",
]


@dataclass
class RunningOut:
    """A context of which every look takes a second."""

    seconds: float

    def get_remaining_time_in_millis(self) -> int:
        self.seconds -= 1
        return max(0, int(self.seconds * 1000))


def server(world: World) -> Server:
    [server] = world.store.servers()
    return server


def test_the_summary_has_exactly_these_fields(world: World) -> None:
    world.post()
    summary = world.handler()({"ticks": 1}, Context())
    assert list(summary) == SUMMARY
    assert (summary["server_id"], summary["ticks"], summary["claimed"], summary["submitted"]) == (SERVICE, 1, 1, 1)
    assert summary["stop_reason"] == "ticks_done"
    assert isinstance(summary["duration_ms"], int)


def test_every_invocation_counts_for_itself(world: World) -> None:
    world.post()
    handler = world.handler()
    assert handler({"ticks": 1}, Context())["submitted"] == 1
    assert handler({"ticks": 1}, Context())["submitted"] == 0


@pytest.mark.parametrize(
    "event",
    [{}, {"source": "aws.events", "detail-type": "Scheduled Event"}, {"source": "aws.scheduler"}, {"kick": "t1"}],
    ids=["empty", "rule", "scheduler", "kick"],
)
def test_with_nothing_to_do_it_leaves_at_once(world: World, event: dict[str, str]) -> None:
    summary = world.handler()(event, Context())
    assert (summary["stop_reason"], summary["ticks"]) == ("idle", 1)
    assert summary["duration_ms"] < 1000


def test_it_leaves_when_nothing_is_due_before_the_end(world: World) -> None:
    world.post()
    world.tick()
    summary = world.handler()({}, Context(seconds=8))
    assert (summary["stop_reason"], summary["ticks"]) == ("nothing_due", 1)


def test_it_ticks_again_until_its_ticks_are_done(world: World) -> None:
    world.post()
    world.tick()
    summary = world.handler()({"ticks": 2}, Context())
    assert (summary["ticks"], summary["stop_reason"]) == (2, "ticks_done")


def test_it_stops_in_time(world: World) -> None:
    world.post()
    world.tick()
    summary = world.handler(margin=5)({}, RunningOut(seconds=30))
    assert summary["stop_reason"] in ("out_of_time", "nothing_due")
    assert summary["ticks"] >= 1


def test_what_still_waits_for_a_thread_at_the_end_is_given_back(world: World) -> None:
    """All threads hang in a slow call when the time runs out; the tasks behind them have not been begun."""
    context, end = Context(), threading.Event()
    all_hang = threading.Barrier(REQUEST_THREADS, action=lambda: setattr(context, "seconds", 1))
    names = [f"t{number}" for number in range(REQUEST_THREADS + 4)]
    for name in names:
        world.post(name)
        world.provider.on_submit[name].append(lambda: (all_hang.wait(timeout=10), end.wait(timeout=20)))
    try:
        world.handler(capacity=len(names))({}, context)
        states = Counter(world.states(*names))
    finally:
        end.set()
        for thread in threading.enumerate():
            if thread.name.startswith("request"):
                thread.join(timeout=20)
    assert states == {"processing": REQUEST_THREADS, "pending": 4}


def test_a_margin_longer_than_the_invocation_does_not_keep_it_from_working(world: World) -> None:
    world.post()
    summary = world.handler(margin=55)({"ticks": 1}, Context(seconds=30))
    assert summary["submitted"] == 1


def test_the_heartbeat_says_who_lives_and_since_when(world: World) -> None:
    world.handler()({}, Context())
    beat = server(world)
    assert (beat.server_id, beat.status, beat.last_heartbeat_at) == (SERVICE, "online", world.clock.now())
    assert beat.version
    assert beat.is_online(world.clock.now() + 149)
    assert not beat.is_online(world.clock.now() + 150)


def test_the_heartbeat_of_an_invocation_tells_the_load(world: World) -> None:
    """The least loaded service gets the next task, so an invocation that leaves early must not look empty."""
    world.post("t1")
    world.post("t2")
    world.tick()
    world.handler()({"ticks": 1}, Context())
    assert server(world).load == 2


def test_a_second_loop_leaves_at_once(world: World) -> None:
    world.hold_service()
    before = world.post()
    summary = world.handler()({}, Context())
    assert (summary["stop_reason"], summary["ticks"], summary["claimed"]) == ("service_held", 0, 0)
    assert world.task() == before


def test_a_loop_that_died_holds_its_service_for_half_a_minute(world: World) -> None:
    world.hold_service(seconds=30)
    world.clock.advance(30)
    assert world.handler()({"ticks": 1}, Context())["stop_reason"] == "ticks_done"


def test_a_loop_that_leaves_gives_the_service_back(world: World) -> None:
    assert world.handler()({}, Context())["stop_reason"] == "idle"
    assert world.handler()({}, Context())["stop_reason"] == "idle"


def test_a_kick_submits_although_another_loop_holds_the_service(world: World) -> None:
    world.post_accepted("t1")
    world.post("t2")
    world.hold_service()
    summary = world.handler()({"kick": "t2"}, Context())
    assert (summary["stop_reason"], summary["submitted"], summary["polled"]) == ("service_held", 1, 0)
    assert world.states("t1", "t2") == ["polling", "polling"]
    assert world.task("t1").poll_count == 0


def test_a_kick_respects_the_capacity(world: World) -> None:
    world.post_accepted("t1")
    world.post("t2")
    world.hold_service()
    world.handler(capacity=1)({"kick": "t2"}, Context())
    assert world.states("t2") == ["pending"]


def test_a_loop_whose_service_was_taken_leaves_it(world: World) -> None:
    """While it waits, its lease ends (as in a frozen container) and another loop takes over."""
    world.post()

    def frozen() -> None:
        world.clock.advance(31)
        world.hold_service()

    world.provider.on_submit["t1"].append(frozen)
    assert world.handler()({"ticks": 3}, Context())["stop_reason"] == "service_taken"


def test_a_replay_touches_only_its_tasks_and_no_lease(world: World) -> None:
    world.hold_service()
    beat = server(world)
    for name in ("t1", "t2"):
        world.post(name)
    summary = world.handler()({"task_ids": ["t2"], "ticks": 1}, Context())
    assert (summary["ticks"], summary["claimed"], summary["stop_reason"]) == (1, 1, "ticks_done")
    assert world.states("t1", "t2") == ["pending", "polling"]
    assert server(world) == beat


def test_a_replay_takes_a_task_to_its_end(world: World) -> None:
    world.post_accepted("t1")
    world.provider.on_poll["t1"].append(done("https://j.example/1"))
    summary = world.handler()({"task_ids": ["t1"], "ticks": 1}, Context())
    assert summary["completed"] == 1
    assert world.task("t1").status is TaskStatus.COMPLETED


def test_a_replay_sweeps_only_its_tasks(world: World) -> None:
    world.post("t1")
    world.post("t2")
    world.clock.advance(3601)
    world.handler()({"task_ids": ["t1"], "ticks": 1}, Context())
    assert world.states("t1", "t2") == ["failed", "pending"]


def complete(world: World, name: str) -> None:
    world.post_accepted(name)
    world.provider.on_poll[name].append(done("https://j.example/1"))
    world.tick()


def test_housekeeping_is_done_once_an_hour_for_all_pollers(world: World) -> None:
    """A second result runs out ten seconds after a clean-up: no other poller may look for it within the hour."""
    one, other = world.handler(service="svc-a"), world.handler(service="svc-b")
    complete(world, "t1")
    complete(world, "t2")
    world.clock.advance(86_400 - 5)
    assert one({"ticks": 1}, Context())["cleaned"] == 1
    world.clock.advance(INTERVAL)
    assert [poller({"ticks": 1}, Context())["cleaned"] for poller in (one, other)] == [0, 0]
    world.clock.advance(3600)
    assert sum(poller({"ticks": 1}, Context())["cleaned"] for poller in (one, other)) == 1
    assert world.store.hand_out("t2", world.clock.now(), 0) is None
    assert world.states("t1", "t2") == ["completed", "completed"]


def test_housekeeping_forgets_ended_tasks_after_their_retention(world: World) -> None:
    complete(world, "t1")
    poller = world.handler(retention=90_000)
    world.clock.advance(90_000)
    poller({"ticks": 1}, Context())
    assert world.states("t1") == ["completed"]
    world.clock.advance(3600)
    poller({"ticks": 1}, Context())
    assert world.store.get("t1") is None


def test_housekeeping_spares_what_is_active(world: World) -> None:
    world.post_accepted("t1", task_timeout=10**6, deadline_at=world.clock.now() + 10**6)
    world.clock.advance(8 * 86_400)
    assert world.handler()({"ticks": 1}, Context())["cleaned"] == 0
    assert world.states("t1") == ["polling"]


@pytest.mark.parametrize("event", [{"warmer": True, "concurrency": 3}, {"warmer": True}])
def test_a_warmer_costs_nothing(world: World, event: dict[str, object]) -> None:
    before = world.post()
    assert world.handler()(event, Context()) == {"ok": True, "kind": "warmer"}
    assert world.task() == before
    assert world.store.servers() == []


def test_an_unknown_event_is_refused_without_any_work(world: World) -> None:
    before = world.post()
    answer = world.handler()({"Records": [{"body": "canary-secret"}]}, Context())
    assert answer["ok"] is False
    assert "Records" in answer["message"]
    assert "canary-secret" not in str(answer)
    assert world.task() == before
    assert world.store.servers() == []


def test_an_overlapping_invocation_submits_nothing_twice(world: World) -> None:
    """A second poller runs to its end inside the first one's paid call."""
    for name in ("t1", "t2", "t3"):
        world.post(name)
    world.provider.on_submit["t1"].append(lambda: world.handler()({"kick": "t1"}, Context()))
    world.handler()({"ticks": 1}, Context())
    assert sorted(world.provider.paid()) == ["t1", "t2", "t3"]
    world.clock.advance(INTERVAL)
    assert world.states("t1", "t2", "t3") == ["polling"] * 3
