"""A pending task is submitted: accepted, surely not accepted, or refused for good."""

import pytest

from jimeng_tasks.domain.task import ResultStatus, TaskStatus
from jimeng_tasks.exceptions import (
    AccessDenied,
    ContentRejected,
    FetchFailed,
    JimengTasksError,
    LoginMissing,
    LoginRejected,
    NotSent,
    OutcomeUnknown,
    ParameterRejected,
    ProviderBlocked,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RegionMismatch,
    ServerRefused,
    TooLarge,
    UnsupportedMedia,
    UrlForbidden,
    VersionRejected,
)

from .stand_ins import BytesSource
from .world import INTERVAL, World


def test_an_accepted_task_is_polling_with_its_history_id(world: World) -> None:
    world.post()
    summary = world.tick()
    task, now = world.task(), world.clock.now()
    assert task.status is TaskStatus.POLLING
    assert task.internal_params.history_id == world.provider.job("t1").history_id
    assert task.internal_params.submit_id == world.provider.job("t1").submit_id
    assert task.internal_params.mapped_model == "high_aes"
    assert task.internal_params.component_id == "component-t1"
    assert (task.started_at, task.next_poll_at, task.claim_id) == (now, now + INTERVAL, None)
    assert task.deadline_at == now + task.task_timeout
    assert task.slot == 0
    assert (summary["claimed"], summary["submitted"], summary["polled"]) == (1, 1, 0)


def test_the_first_poll_comes_one_interval_later(world: World) -> None:
    world.post()
    world.tick()
    assert world.tick_after(INTERVAL - 1)["polled"] == 0
    assert world.tick_after(1)["polled"] == 1


def test_a_task_is_submitted_with_its_own_account(world: World) -> None:
    world.post("t1", account="us-token-b")
    world.tick()
    assert world.provider.job("t1").account == "us-token-b"


@pytest.mark.parametrize(
    ("error", "delay"),
    [
        (NotSent("connection refused"), 10),
        (NotSent("busy", retry_after=90), 90),
        (RateLimited("3 tasks run already"), 60),
        (RateLimited("slow down", retry_after=90), 90),
        (RateLimited("slow down", retry_after=1), 60),
        (ServerRefused("busy", fail_code="2002"), 10),
    ],
    ids=["not sent", "told when", "rate limit", "retry-after longer", "retry-after shorter", "server class"],
)
def test_surely_not_accepted_goes_back_to_pending(world: World, error: ProviderError, delay: int) -> None:
    world.post()
    world.provider.on_submit["t1"].append(error)
    summary = world.tick()
    task, now = world.task(), world.clock.now()
    assert task.status is TaskStatus.PENDING
    assert (task.retry_count, task.next_poll_at) == (1, now + delay)
    assert (task.slot, task.claim_id, task.started_at) == (None, None, None)
    assert task.deadline_at == task.created_at + task.task_timeout
    assert str(error) in (task.error_message or "")
    assert (summary["submitted"], summary["retried"], summary["failed"]) == (0, 1, 0)
    assert world.tick_after(delay - 1)["claimed"] == 0


def test_a_retry_keeps_the_submit_id_and_forgets_the_error(world: World) -> None:
    world.post()
    world.provider.on_submit["t1"].append(NotSent("no route"))
    world.tick()
    submit_id = world.task().internal_params.submit_id
    world.tick_after(10)
    task = world.task()
    assert world.provider.acceptances() == {submit_id: 1}
    assert (task.status, task.retry_count, task.error_message, task.fail_code) == (TaskStatus.POLLING, 1, None, None)


def test_retries_back_off_exponentially_and_end_with_the_last_error(world: World) -> None:
    world.post()
    errors = [NotSent("one"), NotSent("two"), NotSent("three"), ServerRefused("the last", fail_code="5001")]
    world.provider.on_submit["t1"].extend(errors)
    delays = []
    for _ in range(3):
        world.tick()
        due = world.task().next_poll_at or 0
        delays.append(due - world.clock.now())
        world.clock.advance(delays[-1])
    world.tick()
    task, result = world.task(), world.take_result()
    assert delays == [10, 20, 40]
    assert (task.status, task.retry_count, task.fail_code) == (TaskStatus.FAILED, 3, "5001")
    assert "the last" in (task.error_message or "")
    assert "the last" in (result.metadata.fail_reason or "")
    assert world.provider.paid() == []
    assert world.tick_after(1000)["claimed"] == 0


def test_a_task_queues_for_minutes_behind_the_running_jobs_of_its_account(world: World) -> None:
    world.post()
    world.provider.on_submit["t1"].extend([RateLimited("3 tasks run already", fail_code="1010")] * 3)
    delays = []
    for _ in range(3):
        world.tick()
        delays.append((world.task().next_poll_at or 0) - world.clock.now())
        world.clock.advance(delays[-1])
    world.tick()
    assert delays == [60, 120, 240]
    assert (world.task().status, world.task().retry_count) == (TaskStatus.POLLING, 3)


def test_jitter_shortens_a_delay_by_at_most_half(world: World) -> None:
    world.jitter = 1.0
    world.post()
    world.provider.on_submit["t1"].append(NotSent("no route"))
    world.tick()
    assert world.task().next_poll_at == world.clock.now() + 5


@pytest.mark.parametrize(
    "error",
    [
        ContentRejected("moderation", fail_code="2038"),
        ParameterRejected("bad", fail_code="1000"),
        LoginRejected("dead token", fail_code="1015"),
        QuotaExhausted("no credits", fail_code="1006"),
        ProviderBlocked("shark not pass", fail_code="1019"),
        ProviderBlocked("shark check reject", fail_code="-4"),
        VersionRejected("too old", fail_code="3018"),
        AccessDenied("not yours", fail_code="3017"),
        RegionMismatch("region not allow", fail_code="3000"),
    ],
    ids=lambda error: f"{error.name} {error.fail_code}",
)
def test_a_final_refusal_fails_at_once_with_its_code(world: World, error: ProviderError) -> None:
    world.post()
    world.provider.on_submit["t1"].append(error)
    summary = world.tick()
    task, result, now = world.task(), world.take_result(), world.clock.now()
    assert (task.status, task.fail_code, task.retry_count) == (TaskStatus.FAILED, error.fail_code, 0)
    assert (task.completed_at, task.next_poll_at, task.slot, task.claim_id) == (now, None, None, None)
    assert result.status is ResultStatus.FAILED
    assert (result.original_urls, result.tos_urls) == ((), ())
    assert str(error) in (result.metadata.fail_reason or "")
    assert result.expires_at == now + 86_400
    assert (summary["failed"], summary["retried"]) == (1, 0)
    assert world.tick_after(5000)["claimed"] == 0


@pytest.mark.parametrize(
    ("error", "fail_code"),
    [(ParameterRejected("no such size"), "parameter_rejected"), (LoginMissing("unknown region xx-"), "login_required")],
)
def test_parameters_that_cannot_be_prepared_cost_nothing(world: World, error: JimengTasksError, fail_code: str) -> None:
    world.post()
    world.provider.on_prepare["t1"].append(error)
    world.tick()
    assert (world.task().status, world.task().fail_code) == (TaskStatus.FAILED, fail_code)
    assert world.provider.paid() == []


def test_reference_pictures_are_handed_over_in_order(world: World) -> None:
    urls = ["https://a.example/1.png", "https://a.example/2.png"]
    world.post(images=[{"url": url, "width": 1, "height": 1} for url in urls])
    world.tick()
    assert world.provider.uploads == [BytesSource.content(url) for url in urls]
    assert world.provider.references["t1"] == ("uri-1", "uri-2")
    assert world.provider.paid() == ["t1"]


@pytest.mark.parametrize(
    "error",
    [FetchFailed("404"), TooLarge("12 MB of 4.7 MB"), UnsupportedMedia("a PDF"), UrlForbidden("a private address")],
    ids=lambda error: error.name,
)
def test_an_unusable_reference_fails_the_task_before_anything_is_submitted(
    world: World, error: JimengTasksError
) -> None:
    world.post(images=[{"url": "https://a.example/1.png"}, {"url": "https://a.example/2.png"}])
    world.source.troubles["https://a.example/2.png"].append(error)
    world.tick()
    task = world.task()
    assert (task.status, task.fail_code) == (TaskStatus.FAILED, error.name)
    assert world.take_result().status is ResultStatus.FAILED
    assert world.provider.paid() == []


@pytest.mark.parametrize(
    "error", [NotSent("no route"), ServerRefused("busy"), OutcomeUnknown("read timed out")], ids=lambda e: e.name
)
def test_a_failed_hand_over_of_a_reference_is_surely_no_submission(world: World, error: ProviderError) -> None:
    """Whatever became of a free upload, the paid call was not made: back to the queue, counted, with backoff."""
    world.post(images=[{"url": "https://a.example/1.png"}])
    world.provider.on_upload.append(error)
    world.tick()
    task = world.task()
    assert (task.status, task.retry_count, task.slot) == (TaskStatus.PENDING, 1, None)
    assert task.next_poll_at == world.clock.now() + 10
    world.tick_after(10)
    assert world.provider.paid() == ["t1"]
