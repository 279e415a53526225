"""Surveying and claiming: who gets which task, when, on which slot."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.domain.task import SubmitPhase, Task, TaskStatus, TaskType
from jimeng_tasks.domain.workload import TaskRef
from tests.contract.samples import HOUR, LEASE, NOW, claim, complete, new_task, start_polling


def _ids(tasks: list[Task] | tuple[TaskRef, ...]) -> list[str]:
    return [task.task_id for task in tasks]


# -- survey


def test_an_empty_store_has_no_work(store: TaskStore) -> None:
    work = store.survey("s1", 10)

    assert (work.running, work.pending) == ((), ())


def test_a_survey_shows_running_and_pending_tasks_of_one_service_only(store: TaskStore) -> None:
    claim(store, new_task("processing"), slots=[2])
    start_polling(store, new_task("polling"), next_poll_at=NOW + 10)
    complete(store, new_task("done"))
    store.submit(new_task("waiting"))
    store.submit(new_task("elsewhere", server_id="s2"))

    work = store.survey("s1", 10)

    assert {ref.task_id: (ref.status, ref.next_poll_at, ref.slot) for ref in work.running} == {
        "processing": (TaskStatus.PROCESSING, NOW + LEASE, 2),
        "polling": (TaskStatus.POLLING, NOW + 10, 0),
    }
    assert [(ref.task_id, ref.next_poll_at, ref.slot) for ref in work.pending] == [("waiting", NOW, None)]


def test_pending_tasks_come_first_in_first_out_over_both_kinds_even_within_a_second(store: TaskStore) -> None:
    kinds = [TaskType.VIDEO, TaskType.IMAGE, TaskType.VIDEO, TaskType.IMAGE]
    for number, kind in enumerate(kinds):
        store.submit(new_task(f"same-second-{number}", task_type=kind))
    store.submit(new_task("older", created_at=NOW - 1))
    store.submit(new_task("retried", created_at=NOW - 100, next_poll_at=NOW + 20))

    work = store.survey("s1", 10)

    assert _ids(work.pending) == ["older", *(f"same-second-{number}" for number in range(4)), "retried"]


@pytest.mark.parametrize("limit", [0, 2])
def test_a_survey_shows_at_most_the_asked_number_of_pending_tasks(store: TaskStore, limit: int) -> None:
    for number in range(4):
        store.submit(new_task(f"t{number}", created_at=NOW + number))

    assert _ids(store.survey("s1", limit).pending) == ["t0", "t1"][:limit]


def test_a_survey_of_chosen_tasks_still_shows_every_running_one(store: TaskStore) -> None:
    claim(store, new_task("running"), new_task("other-running"))
    store.submit(new_task("waiting"))
    store.submit(new_task("other-waiting"))

    work = store.survey("s1", 10, ["running", "waiting", "nobody"])

    assert (set(_ids(work.running)), _ids(work.pending)) == ({"running", "other-running"}, ["waiting"])
    assert store.survey("s1", 10, []).pending == ()


# -- claim_pending


def test_a_task_past_its_deadline_is_not_started(store: TaskStore) -> None:
    assert claim(store, new_task("late", created_at=NOW - HOUR), new_task("in-time"))[0].task_id == "in-time"
    assert _ids(store.survey("s1", 10).pending) == ["late"]


def test_a_claimed_task_is_processing_with_slot_lease_deadline_and_ids(store: TaskStore) -> None:
    task = new_task(created_at=NOW - 600)

    [claimed] = claim(store, task, now=NOW, slots=[4])

    assert claimed == store.get("t1")
    assert claimed.claim_id
    assert claimed.internal_params.submit_id
    assert claimed.claim_id != claimed.internal_params.submit_id
    assert claimed == replace(
        task,
        status=TaskStatus.PROCESSING,
        slot=4,
        submit_phase=SubmitPhase.PREPARING,
        started_at=NOW,
        deadline_at=NOW + HOUR,
        next_poll_at=NOW + LEASE,
        updated_at=NOW,
        claim_id=claimed.claim_id,
        internal_params=replace(task.internal_params, submit_id=claimed.internal_params.submit_id),
    )


def test_tasks_claimed_together_have_their_own_slots_and_submit_ids(store: TaskStore) -> None:
    claimed = claim(store, *(new_task(f"t{number}") for number in range(3)), slots=[5, 1, 3])

    assert [(task.task_id, task.slot) for task in claimed] == [("t0", 5), ("t1", 1), ("t2", 3)]
    assert len({task.internal_params.submit_id for task in claimed}) == 3


def test_a_retried_task_keeps_its_submit_id_but_gets_a_fresh_claim(store: TaskStore) -> None:
    [first] = claim(store, new_task())
    store.save(first, replace(first, status=TaskStatus.PENDING, slot=None, claim_id=None, next_poll_at=NOW + 30))

    [second] = store.claim_pending("s1", store.survey("s1", 1).pending, [0], NOW + 30, LEASE)

    assert second.internal_params.submit_id == first.internal_params.submit_id
    assert second.claim_id != first.claim_id
    assert (second.started_at, second.deadline_at) == (NOW + 30, NOW + 30 + HOUR)


def test_fewer_slots_than_tasks_claim_the_first_tasks(store: TaskStore) -> None:
    claimed = claim(store, *(new_task(f"t{number}", created_at=NOW - 9 + number) for number in range(4)), slots=[0, 1])

    assert _ids(claimed) == ["t0", "t1"]
    assert store.claim_pending("s1", [], [7], NOW, LEASE) == []


def test_a_task_is_not_claimed_before_its_time(store: TaskStore) -> None:
    store.submit(new_task(next_poll_at=NOW + 30))
    refs = store.survey("s1", 1).pending

    assert store.claim_pending("s1", refs, [0], NOW + 29, LEASE) == []
    assert _ids(store.claim_pending("s1", refs, [0], NOW + 30, LEASE)) == ["t1"]


def test_a_task_is_claimed_once_and_only_by_its_own_service(store: TaskStore) -> None:
    store.submit(new_task())
    refs = store.survey("s1", 1).pending

    assert store.claim_pending("s2", refs, [0], NOW, LEASE) == []
    assert len(store.claim_pending("s1", refs, [0], NOW, LEASE)) == 1
    assert store.claim_pending("s1", refs, [1], NOW + 2 * LEASE, LEASE) == []


def test_at_a_taken_slot_the_younger_tasks_wait_too(store: TaskStore) -> None:
    claim(store, new_task("holder", task_type=TaskType.VIDEO), slots=[1])
    waiting = [store.submit(new_task(f"t{number}", created_at=NOW - 9 + number)) for number in range(3)]
    refs = store.survey("s1", 3).pending

    claimed = store.claim_pending("s1", refs, [0, 1, 2], NOW, LEASE)

    assert _ids(claimed) == ["t0"]
    assert store.get("t1") == waiting[1]


def test_each_service_has_slots_of_its_own(store: TaskStore) -> None:
    claim(store, new_task("t1"), slots=[0])

    assert len(claim(store, new_task("t2", server_id="s2"), slots=[0])) == 1


def test_after_the_capacity_was_lowered_nothing_starts_until_enough_tasks_ended(store: TaskStore) -> None:
    first, second, third = claim(store, *(new_task(f"t{number}") for number in range(3)), slots=[0, 1, 2])

    free = []
    for task in (first, second, third):
        free.append(store.survey("s1", 0).free_slots(1))
        store.save(task, replace(task, status=TaskStatus.PENDING, slot=None, claim_id=None))

    assert free == [[], [], []]
    assert store.survey("s1", 0).free_slots(1) == [0]


def test_simultaneous_pollers_share_the_tasks_without_overlap(store: TaskStore) -> None:
    for number in range(20):
        store.submit(new_task(f"t{number}"))
    refs = store.survey("s1", 20).pending

    with ThreadPoolExecutor(4) as threads:
        claims = list(threads.map(lambda _: store.claim_pending("s1", refs, range(5), NOW, LEASE), range(4)))

    claimed = [task for tasks in claims for task in tasks]
    assert sorted(task.slot for task in claimed if task.slot is not None) == [0, 1, 2, 3, 4]
    assert len(set(_ids(claimed))) == 5


# -- claim_due


def test_a_due_task_is_claimed_afresh_until_its_lease_ends(store: TaskStore) -> None:
    polling = start_polling(store, new_task(), next_poll_at=NOW + 10)
    refs = store.survey("s1", 0).running

    assert store.claim_due(refs, NOW + 9, LEASE) == []
    [first] = store.claim_due(refs, NOW + 10, LEASE)
    assert store.claim_due(refs, NOW + 10 + LEASE - 1, LEASE) == []
    [second] = store.claim_due(refs, NOW + 10 + LEASE, LEASE)

    assert first == replace(polling, claim_id=first.claim_id, next_poll_at=NOW + 10 + LEASE, updated_at=NOW + 10)
    assert second.claim_id not in (None, first.claim_id)
    assert store.get("t1") == second


def test_several_due_tasks_are_claimed_in_the_asked_order(store: TaskStore) -> None:
    for name in ("t1", "t2", "t3"):
        start_polling(store, new_task(name, server_id=name))
    refs = [store.survey(name, 0).running[0] for name in ("t3", "t1", "t2")]

    assert _ids(store.claim_due(refs, NOW, LEASE)) == ["t3", "t1", "t2"]
    assert store.claim_due([], NOW, LEASE) == []


def test_a_processing_task_is_due_when_its_poller_died(store: TaskStore) -> None:
    [dead] = claim(store, new_task(), slots=[3])

    [rescued] = store.claim_due(store.survey("s1", 0).running, NOW + LEASE, LEASE)

    assert (rescued.status, rescued.slot, rescued.started_at) == (TaskStatus.PROCESSING, 3, NOW)
    assert rescued.internal_params.submit_id == dead.internal_params.submit_id


def test_a_task_that_ended_or_went_back_to_pending_is_not_due(store: TaskStore) -> None:
    [retried] = claim(store, new_task("retried"))
    refs = store.survey("s1", 0).running
    store.save(retried, replace(retried, status=TaskStatus.PENDING, slot=None, claim_id=None, next_poll_at=NOW))
    complete(store, new_task("done"))
    done = TaskRef(task_id="done", status=TaskStatus.POLLING, next_poll_at=NOW)

    assert store.claim_due([*refs, done], NOW + LEASE, LEASE) == []


# -- claim_overdue


def test_overdue_tasks_of_every_service_and_state_are_claimed(store: TaskStore) -> None:
    store.submit(new_task("pending", server_id="s3", next_poll_at=NOW + 9 * HOUR))
    claim(store, new_task("processing", server_id="s2"))
    start_polling(store, new_task("polling"), next_poll_at=NOW + 9 * HOUR)
    complete(store, new_task("done"))
    late = NOW + HOUR

    claimed = store.claim_overdue(late, 10, LEASE)

    assert {task.task_id: task.status.value for task in claimed} == {
        name: name for name in ("pending", "processing", "polling")
    }
    assert {(task.next_poll_at, task.claim_id is None) for task in claimed} == {(late + LEASE, False)}
    assert store.claim_overdue(late, 10, LEASE) == []


def test_a_task_is_not_overdue_before_its_deadline(store: TaskStore) -> None:
    start_polling(store, new_task())

    assert store.claim_overdue(NOW + HOUR - 1, 10, LEASE) == []
    assert _ids(store.claim_overdue(NOW + HOUR, 10, LEASE)) == ["t1"]


def test_a_running_lease_is_not_stolen_from_an_overdue_task(store: TaskStore) -> None:
    late = NOW + HOUR
    start_polling(store, new_task(), next_poll_at=late - 1)
    store.claim_due(store.survey("s1", 0).running, late - 1, LEASE)

    assert store.claim_overdue(late, 10, LEASE) == []
    assert _ids(store.claim_overdue(late - 1 + LEASE, 10, LEASE)) == ["t1"]


def test_an_overdue_pending_task_under_claim_is_not_started(store: TaskStore) -> None:
    store.submit(new_task())
    refs = store.survey("s1", 1).pending
    [overdue] = store.claim_overdue(NOW + HOUR, 10, LEASE)

    assert store.claim_pending("s1", refs, [0], NOW + HOUR, LEASE) == []
    assert store.get("t1") == overdue


def test_the_sweep_claims_no_more_than_asked_and_only_chosen_tasks(store: TaskStore) -> None:
    for number in range(5):
        store.submit(new_task(f"t{number}"))

    assert _ids(store.claim_overdue(NOW + HOUR, 10, LEASE, ["t3", "nobody"])) == ["t3"]
    assert [len(store.claim_overdue(NOW + HOUR, 3, LEASE)) for _ in range(3)] == [3, 1, 0]
