"""The pure functions of the life cycle: what they promise for every task."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.lifecycle import Policy
from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.domain.task import (
    ACTIVE,
    RUNNING,
    TERMINAL,
    FileProgress,
    InternalParams,
    ResultStatus,
    Strikes,
    SubmitPhase,
    Task,
    TaskStatus,
    TaskType,
)
from jimeng_tasks.exceptions import NotSent

POLICY = Policy()
ERROR = NotSent("no route")
PROGRESS = Progress(history_id="h1", state=ProgressState.SUCCEEDED, urls=("https://j.example/1", "https://j/2"))

times = st.integers(min_value=1_500_000_000, max_value=2_500_000_000)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)


@st.composite
def tasks(draw: st.DrawFn, *statuses: TaskStatus) -> Task:
    """A task in one of the given states, with everything that belongs to that state."""
    created_at = draw(times)
    status = draw(st.sampled_from(statuses))
    timeout = draw(st.integers(1, 604_800))
    is_running = status in RUNNING
    started_at = created_at + draw(st.integers(0, 10_000)) if status is not TaskStatus.PENDING else None
    return Task(
        task_id=draw(st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)),
        task_type=draw(st.sampled_from(TaskType)),
        server_id="svc-a",
        original_params={"prompt": draw(texts)},
        internal_params=InternalParams(refresh_token="us-token", submit_id="sub" if started_at else None),
        status=status,
        retry_count=draw(st.integers(0, 3)),
        next_poll_at=draw(times),
        poll_interval=draw(st.integers(1, 60)),
        task_timeout=timeout,
        created_at=created_at,
        updated_at=created_at,
        started_at=started_at,
        deadline_at=(started_at or created_at) + timeout,
        claim_id=draw(st.none() | st.just("claim")) if status in ACTIVE else None,
        slot=draw(st.integers(0, 9)) if is_running else None,
        submit_phase=draw(st.sampled_from(SubmitPhase)) if status is TaskStatus.PROCESSING else None,
        strikes=draw(st.none() | st.builds(Strikes, kind=st.just("missing"), count=st.integers(1, 5), since=times)),
    )


type Step = Callable[[Task, int], Task | None]

# Every transition that keeps a task active.
ONWARD: dict[str, Step] = {
    "sending": lambda task, now: lifecycle.sending(task, mapped_model="m", component_id="c", now=now, policy=POLICY),
    "accepted": lambda task, now: lifecycle.accepted(task, "h1", now),
    "requeued": lambda task, now: lifecycle.requeued(task, ERROR, now, 10),
    "resubmitting": lifecycle.resubmitting,
    "released": lifecycle.released,
    "waiting": lambda task, now: lifecycle.waiting(task, now, 10),
    "polled": lifecycle.polled,
    "renewed": lambda task, now: lifecycle.renewed(task, now, 60),
    "struck": lambda task, now: lifecycle.struck(task, "missing", now),
    "postponed": lambda task, now: lifecycle.postponed(task, now, 30),
    "delivered": lambda task, now: lifecycle.delivered(task, PROGRESS, None, now, POLICY),
}
onward = pytest.mark.parametrize("step", ONWARD.values(), ids=ONWARD)


@onward
@given(task=tasks(*RUNNING), now=times)
def test_an_active_task_always_has_a_due_time(step: Step, task: Task, now: int) -> None:
    after = step(task, now)
    assert after is None or (after.status in ACTIVE and after.next_poll_at is not None)


@onward
@given(task=tasks(*RUNNING), now=times)
def test_a_step_leaves_alone_what_the_client_gave(step: Step, task: Task, now: int) -> None:
    after = step(task, now)
    assume(after is not None)
    assert after is not None
    kept = ("task_id", "task_type", "server_id", "original_params", "account", "created_at", "task_timeout")
    assert all(getattr(after, name) == getattr(task, name) for name in kept)
    assert after.internal_params.submit_id == task.internal_params.submit_id


@onward
@given(task=tasks(*RUNNING), now=times)
def test_only_a_pending_task_has_no_slot(step: Step, task: Task, now: int) -> None:
    after = step(task, now)
    assert after is None or (after.slot is None) == (after.status is TaskStatus.PENDING)


@onward
@given(task=tasks(*TERMINAL), now=times)
def test_no_step_brings_a_task_back_that_nobody_can_claim(step: Step, task: Task, now: int) -> None:
    """A terminal task has no claim, and a step never makes one up: the store's fence lets none of them through."""
    after = step(task, now)
    assert after is None or after.claim_id is None


@given(failures=st.integers(1, 10_000), base=st.integers(1, 3600), jitter=st.floats(0, 1))
def test_backoff_stays_within_its_bounds(failures: int, base: int, jitter: float) -> None:
    delay = POLICY.backoff(failures, base, jitter)
    longest = max(base, POLICY.retry_delay_cap)
    assert 1 <= delay <= longest
    assert delay >= min(base, longest) // 2


@given(failures=st.integers(1, 100), base=st.integers(1, 3600))
def test_backoff_doubles_until_its_cap(failures: int, base: int) -> None:
    now, later = POLICY.backoff(failures, base, 0), POLICY.backoff(failures + 1, base, 0)
    assert later == min(2 * now, max(base, POLICY.retry_delay_cap))


@given(failures=st.integers(1, 20), base=st.integers(1, 300))
def test_jitter_only_shortens(failures: int, base: int) -> None:
    delays = [POLICY.backoff(failures, base, jitter) for jitter in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert delays == sorted(delays, reverse=True)


@given(task=tasks(TaskStatus.POLLING), gaps=st.lists(st.integers(0, 100), min_size=1, max_size=8), start=times)
def test_doubt_is_believed_exactly_when_it_came_often_and_long_enough(task: Task, gaps: list[int], start: int) -> None:
    task, now = replace(task, strikes=None), start
    for count, gap in enumerate(gaps, 1):
        now += gap if count > 1 else 0
        task = lifecycle.struck(task, "missing", now)
        assert lifecycle.is_out(task, now, POLICY) == (count >= 3 and now - start >= 60)


@given(task=tasks(TaskStatus.POLLING), kinds=st.lists(st.sampled_from(["missing", "login"]), min_size=1), now=times)
def test_strikes_count_only_the_last_kind_in_a_row(task: Task, kinds: list[str], now: int) -> None:
    task = replace(task, strikes=None)
    for kind in kinds:
        task = lifecycle.struck(task, kind, now)
    row = next((index for index, kind in enumerate(reversed(kinds)) if kind != kinds[-1]), len(kinds))
    assert task.strikes == Strikes(kind=kinds[-1], count=row, since=now)


@given(task=tasks(TaskStatus.PROCESSING), now=times)
def test_retries_are_counted_and_bounded(task: Task, now: int) -> None:
    for after in (lifecycle.requeued(task, ERROR, now, 10), lifecycle.resubmitting(task, now)):
        if task.retry_count < task.max_retries:
            assert after is not None
            assert after.retry_count == task.retry_count + 1
        else:
            assert after is None


@given(task=tasks(TaskStatus.PROCESSING), now=times)
def test_only_a_submission_that_surely_did_not_begin_is_given_back_to_the_queue(task: Task, now: int) -> None:
    after = lifecycle.released(task, now)
    expected = TaskStatus.PENDING if task.submit_phase is SubmitPhase.PREPARING else TaskStatus.PROCESSING
    assert (after.status, after.claim_id) == (expected, None)
    assert after.submit_phase == (None if expected is TaskStatus.PENDING else SubmitPhase.SENT)


@given(task=tasks(*ACTIVE), now=times, fail_code=st.none() | st.just("2038"))
def test_a_failed_end(task: Task, now: int, fail_code: str | None) -> None:
    ended, result = lifecycle.failed(task, "message", fail_code, now, POLICY)
    assert (ended.status, ended.error_message, ended.fail_code) == (TaskStatus.FAILED, "message", fail_code)
    assert (ended.next_poll_at, ended.claim_id, ended.slot, ended.completed_at) == (None, None, None, now)
    assert (result.status, result.metadata.fail_reason) == (ResultStatus.FAILED, "message")
    assert (result.created_at, result.expires_at) == (now, now + POLICY.result_expire)
    assert (result.task_id, result.task_type, result.server_id) == (task.task_id, task.task_type, task.server_id)


@given(task=tasks(*ACTIVE), now=times)
def test_a_time_out_speaks_the_words_of_the_seed(task: Task, now: int) -> None:
    ended, result = lifecycle.timed_out(task, now, POLICY)
    assert ended.error_message == "Task timeout"
    assert result.metadata.fail_reason == f"Task timeout after {task.task_timeout} seconds"
    assert (result.original_urls, result.tos_urls, result.metadata.total_files) == ((), (), 0)


@given(
    task=tasks(TaskStatus.POLLING), stored=st.lists(st.booleans(), min_size=1, max_size=8), waits=st.integers(0, 999)
)
def test_a_completed_end_has_one_address_for_each_file(task: Task, stored: list[bool], waits: int) -> None:
    urls = tuple(f"https://j.example/{index}" for index in range(len(stored)))
    started_at = task.started_at or 0
    done = lifecycle.delivered(task, replace(PROGRESS, urls=urls), None, started_at + waits, POLICY)
    for index, is_stored in enumerate(stored):
        file = FileProgress(url=f"https://cdn/{index}" if is_stored else None, attempts=3, error="down")
        done = lifecycle.with_file(done, index, file, started_at + waits, POLICY)
    ended, result = lifecycle.completed(done, started_at + waits + 7, POLICY)
    assert ended.status is TaskStatus.COMPLETED
    assert result.original_urls == urls
    expected = [f"https://cdn/{i}" if is_stored else urls[i] for i, is_stored in enumerate(stored)]
    assert list(result.tos_urls) == expected
    assert (result.metadata.total_files, result.metadata.successful_uploads) == (len(stored), sum(stored))
    assert len(result.metadata.tos_upload_errors) == len(stored) - sum(stored)
    assert (result.metadata.generation_time, result.metadata.tos_upload_time) == (waits * 1000, 7000)


@given(task=tasks(TaskStatus.PROCESSING), now=times)
def test_the_write_before_the_paid_call_says_that_it_may_be_made(task: Task, now: int) -> None:
    after = lifecycle.sending(task, mapped_model="m", component_id="c", now=now, policy=POLICY)
    assert (after.submit_phase, after.claim_id) == (SubmitPhase.SENT, task.claim_id)
    assert after.next_poll_at == now + POLICY.submit_lease


def test_the_policy_waits_long_enough_between_doubtful_looks() -> None:
    """Three looks, each after the delay, must cover the window; else a fourth would be needed every time."""
    assert POLICY.strike_delay * (POLICY.strikes_out - 1) >= POLICY.strike_window
