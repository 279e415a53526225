"""What every store does for the API: submit, get, hand out; and for a claim's owner: save, finish."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.domain.task import (
    FileProgress,
    ResultMetadata,
    ResultStatus,
    Strikes,
    SubmitPhase,
    Task,
    TaskStatus,
    TaskType,
)
from jimeng_tasks.exceptions import ClaimLost
from tests.contract.samples import HOUR, LEASE, NOW, claim, complete, ended, new_task, result_of, start_polling

# -- submit and get


def test_a_submitted_task_comes_back_as_it_was(store: TaskStore) -> None:
    image, video = new_task("image"), new_task("video", task_type=TaskType.VIDEO, task_timeout=24 * HOUR)

    stored = [store.submit(image), store.submit(video)]

    assert stored == [image, video]
    assert [store.get("image"), store.get("video")] == [image, video]


def test_an_unknown_id_has_no_task_and_no_result(store: TaskStore) -> None:
    assert store.get("nobody") is None
    assert store.hand_out("nobody", NOW, 0) is None


def test_submitting_a_taken_id_returns_the_first_task_even_for_another_kind(store: TaskStore) -> None:
    first = store.submit(new_task("same"))

    second = store.submit(new_task("same", task_type=TaskType.VIDEO, created_at=NOW + 5))

    assert second == first
    assert store.get("same") == first
    assert len(store.survey("s1", 10).pending) == 1


def test_simultaneous_submits_of_one_id_all_get_the_same_task(store: TaskStore) -> None:
    candidates = [new_task("same", request_hash=str(number)) for number in range(8)]

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(store.submit, candidates))

    assert {answer.request_hash for answer in answers} == {answers[0].request_hash}


def test_a_resubmitted_task_that_has_moved_on_is_returned_as_it_is_now(store: TaskStore) -> None:
    polling = start_polling(store, new_task())

    assert store.submit(new_task()) == polling


# -- save


def test_saved_progress_is_read_back_field_by_field(store: TaskStore) -> None:
    [before] = claim(store, new_task())
    after = replace(
        before,
        status=TaskStatus.POLLING,
        internal_params=replace(before.internal_params, history_id="1", component_id="2", mapped_model="m"),
        retry_count=2,
        next_poll_at=NOW + 10,
        updated_at=NOW + 1,
        error_message="slow",
        fail_code="1180",
        submit_phase=SubmitPhase.SENT,
        strikes=Strikes(kind="missing", count=2, since=NOW),
        poll_count=7,
        delivered_at=NOW + 2,
        partial_reason="two of four",
        original_urls=("a", "b"),
        files=(FileProgress(url="c"), FileProgress(attempts=2, error="timed out")),
    )

    store.save(before, after)

    assert store.get("t1") == after


def test_a_field_that_is_none_again_is_gone(store: TaskStore) -> None:
    [before] = claim(store, new_task())
    struck = replace(before, strikes=Strikes(kind="login", count=1, since=NOW), error_message="x", fail_code="1")
    store.save(before, struck)

    store.save(struck, replace(struck, strikes=None, error_message=None, fail_code=None))

    assert store.get("t1") == before


def test_a_task_sent_back_to_pending_gives_its_slot_to_another(store: TaskStore) -> None:
    [before] = claim(store, new_task("t1"), slots=[0])
    retry = replace(before, status=TaskStatus.PENDING, slot=None, claim_id=None, next_poll_at=NOW + 30)

    store.save(before, retry)

    assert [task.task_id for task in claim(store, new_task("t2"), slots=[0])] == ["t2"]


def _with_stolen_claim(store: TaskStore) -> tuple[Task, Task]:
    """A task as its first owner knows it and as its second owner does, after the lease ran out."""
    [first] = claim(store, new_task())
    [second] = store.claim_due(store.survey("s1", 0).running, NOW + LEASE, LEASE)
    return first, second


def test_saving_with_a_lost_claim_writes_nothing(store: TaskStore) -> None:
    first, second = _with_stolen_claim(store)

    with pytest.raises(ClaimLost):
        store.save(first, replace(first, error_message="late"))

    assert store.get("t1") == second


def test_saving_twice_from_the_same_state_fails_once_the_status_has_moved(store: TaskStore) -> None:
    [before] = claim(store, new_task())
    store.save(before, replace(before, status=TaskStatus.POLLING))

    with pytest.raises(ClaimLost):
        store.save(before, replace(before, error_message="late"))


def test_a_task_that_nobody_claimed_cannot_be_saved(store: TaskStore) -> None:
    unclaimed = store.submit(new_task())

    with pytest.raises(ClaimLost):
        store.save(unclaimed, replace(unclaimed, error_message="x"))


def test_a_task_that_does_not_exist_cannot_be_saved(store: TaskStore) -> None:
    stranger = new_task(claim_id="c")

    with pytest.raises(ClaimLost):
        store.save(stranger, replace(stranger, error_message="x"))

    assert store.get("t1") is None


def test_saving_many_writes_what_it_can_and_counts_the_lost_claims(store: TaskStore) -> None:
    stale, _ = _with_stolen_claim(store)
    [held] = claim(store, new_task("t2"), slots=[1])
    changes = [(task, replace(task, error_message="seen")) for task in (stale, held)]

    lost = store.save_many(changes)

    assert lost == 1
    assert [getattr(store.get(name), "error_message", None) for name in ("t1", "t2")] == [None, "seen"]
    assert store.save_many([]) == 0


# -- finish


def test_finishing_ends_the_task_frees_its_slot_and_keeps_its_result(store: TaskStore) -> None:
    [before] = claim(store, new_task(), slots=[0])
    result = result_of(before)

    store.finish(before, ended(before), result)

    assert store.get("t1") == replace(ended(before), claim_id=None, slot=None, next_poll_at=None)
    assert store.survey("s1", 10).free_slots(1) == [0]
    assert store.hand_out("t1", NOW, 0) == result


def test_a_failed_task_has_a_failed_result(store: TaskStore) -> None:
    [before] = claim(store, new_task())
    metadata = ResultMetadata(fail_reason="refused", tos_upload_errors=("e",))
    result = result_of(before, status=ResultStatus.FAILED, original_urls=(), tos_urls=(), metadata=metadata)

    store.finish(before, ended(before, TaskStatus.FAILED), result)

    assert store.hand_out("t1", NOW, 0) == result


def test_finishing_with_a_lost_claim_changes_neither_task_nor_result(store: TaskStore) -> None:
    first, second = _with_stolen_claim(store)

    with pytest.raises(ClaimLost):
        store.finish(first, ended(first), result_of(first))

    assert store.get("t1") == second
    assert store.hand_out("t1", NOW, 0) is None


@pytest.mark.parametrize("end", [TaskStatus.COMPLETED, TaskStatus.FAILED])
def test_a_terminal_task_never_changes_again(store: TaskStore, end: TaskStatus) -> None:
    [before] = claim(store, new_task())
    result = result_of(before)
    store.finish(before, ended(before, end), result)
    final = store.get("t1")
    assert final is not None

    for stale in (before, replace(before, status=end), final):
        with pytest.raises(ClaimLost):
            store.save(stale, replace(before, status=TaskStatus.POLLING))
        with pytest.raises(ClaimLost):
            store.finish(stale, ended(before, TaskStatus.FAILED), result_of(before, tos_urls=()))

    assert store.claim_overdue(NOW + 9 * HOUR, 10, LEASE) == []
    assert store.get("t1") == final
    assert store.hand_out("t1", NOW, 0) == result


# -- hand out


def test_an_unfinished_task_has_nothing_to_hand_out(store: TaskStore) -> None:
    claim(store, new_task())

    assert store.hand_out("t1", NOW, 0) is None
    assert getattr(store.get("t1"), "consumed_at", 0) is None


def test_a_result_is_handed_out_once_and_the_task_remembers_when(store: TaskStore) -> None:
    result = complete(store, new_task())

    answers = [store.hand_out("t1", NOW + 5, 0), store.hand_out("t1", NOW + 6, 0)]

    assert answers == [result, None]
    assert getattr(store.get("t1"), "consumed_at", 0) == NOW + 5


def test_of_simultaneous_readers_one_gets_the_result(store: TaskStore) -> None:
    result = complete(store, new_task())

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: store.hand_out("t1", NOW, 0), range(8)))

    assert [answer for answer in answers if answer] == [result]


def test_with_grace_a_result_is_repeated_for_that_long_from_the_first_time(store: TaskStore) -> None:
    result = complete(store, new_task())

    answers = [store.hand_out("t1", NOW + after, 30) for after in (0, 20, 30, 31)]

    assert [answer and answer.tos_urls for answer in answers] == [result.tos_urls] * 3 + [None]
    assert getattr(store.get("t1"), "consumed_at", 0) == NOW


def test_a_result_in_its_grace_is_cleaned_away_when_that_is_over(store: TaskStore) -> None:
    complete(store, new_task())
    store.hand_out("t1", NOW, 30)

    deleted = [store.clean(NOW + after, 7 * 24 * HOUR) for after in (30, 31)]

    assert deleted == [0, 1]


def test_grace_never_keeps_a_result_beyond_its_expiry(store: TaskStore) -> None:
    task = new_task()
    complete(store, task, result=result_of(task, expires_at=NOW + 10))
    store.hand_out("t1", NOW, 60)

    assert store.hand_out("t1", NOW + 11, 60) is None


def test_an_expired_result_is_not_handed_out(store: TaskStore) -> None:
    task = new_task()
    complete(store, task, result=result_of(task, expires_at=NOW + 10))

    assert store.hand_out("t1", NOW + 11, 0) is None
    assert getattr(store.get("t1"), "consumed_at", 0) is None
