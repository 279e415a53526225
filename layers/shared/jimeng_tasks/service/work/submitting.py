"""Step: submit a claimed task, at most once per accepted submission.

The paid call is made only after a fenced write that says so. Whatever happens later, the next claim knows from
``submit_phase`` whether the call may have gone out: if so, it asks the provider for the ``submit_id`` instead.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.provider import Prepared, Progress
from jimeng_tasks.domain.task import SubmitPhase, Task
from jimeng_tasks.exceptions import (
    ClaimLost,
    FetchFailed,
    JimengTasksError,
    OutcomeUnknown,
    ProviderError,
    Refused,
    RequestError,
    SurelyNotAccepted,
    TaskFailure,
)

from .desk import Desk, task_log


def submit(desk: Desk, task: Task) -> None:
    """Carry a ``processing`` task in phase PREPARING to ``polling``, back to ``pending``, or to ``failed``.

    Raises:
        ClaimLost: another poller owns the task; if the paid call was made, that poller finds it by its submit id.
    """
    try:
        prepared, task = _prepare(desk, task)
        history_id = _call(desk, task, prepared)
    except SurelyNotAccepted as error:
        _requeue(desk, task, error)
    except (Refused, RequestError) as error:
        desk.metrics.count("provider_errors", error=error.name)
        desk.fail(task, error)
    except FetchFailed as error:
        desk.fail(task, TaskFailure(str(error), error.name))
    except TaskFailure as error:
        _requeue(desk, task, error)
    except OutcomeUnknown as error:
        if is_unsent(task):
            _requeue(desk, task, error)
        else:
            _leave_for_lookup(desk, task, error)
    else:
        _accept(desk, task, history_id)


def _prepare(desk: Desk, task: Task) -> tuple[Prepared, Task]:
    """Upload references and build the request; everything here is free and may be repeated."""
    with _nothing_paid(task):
        task, references = _upload_references(desk, task)
        submit_id = task.internal_params.submit_id or ""
        prepared = desk.provider.prepare(task.account, submit_id, task.task_type, task.original_params, references)
    after = lifecycle.sending(
        task,
        mapped_model=prepared.mapped_model,
        component_id=prepared.component_id,
        now=desk.clock.now(),
        policy=desk.policy,
    )
    return prepared, desk.save(task, after)


@contextmanager
def _nothing_paid(task: Task) -> Iterator[None]:
    """An error that nobody foresaw, before the paid call: it counts as a retry instead of holding the slot."""
    try:
        yield
    except JimengTasksError:
        raise
    except Exception as error:
        task_log(task).exception("an unexpected error before the submission")
        raise TaskFailure("an unexpected error of this service before the submission", "internal_error") from error


def _upload_references(desk: Desk, task: Task) -> tuple[Task, list[str]]:
    references = []
    for url in desk.store.references(task.task_id):
        picture = desk.source.read_picture(url)
        references.append(desk.provider.upload_reference(task.account, picture))
        task = desk.save(task, lifecycle.renewed(task, desk.clock.now(), desk.policy.lease))
    return task, references


def _call(desk: Desk, task: Task, prepared: Prepared) -> str:
    if not desk.holds(task):
        raise ClaimLost(f"the lease on task {task.task_id} ended before its submission")
    started = desk.clock.now()
    try:
        history_id = desk.provider.submit(task.account, prepared)
    finally:
        desk.metrics.seconds("submit_time", desk.clock.now() - started, task_type=task.task_type)
    return history_id


def _accept(desk: Desk, task: Task, history_id: str) -> None:
    desk.save(task, lifecycle.accepted(task, history_id, desk.clock.now()))
    desk.tally.add("submitted")
    desk.metrics.count("tasks_submitted", task_type=task.task_type)
    task_log(task).info("task submitted", extra={"history_id": history_id})


def _requeue(desk: Desk, task: Task, error: SurelyNotAccepted | OutcomeUnknown | TaskFailure) -> None:
    desk.metrics.count("provider_errors", error=error.name)
    delay = desk.backoff(task.retry_count + 1, desk.policy.retry_delay)
    after = lifecycle.requeued(task, error, desk.clock.now(), max(delay, error.retry_after or 0))
    if after is None:
        desk.fail(task, error)
        return
    desk.save(task, after)
    desk.tally.add("retried")
    task_log(task).warning("submission not accepted, back to the queue", extra={"reason": str(error)})


def _leave_for_lookup(desk: Desk, task: Task, error: OutcomeUnknown) -> None:
    desk.metrics.count("provider_errors", error=error.name)
    desk.save(task, lifecycle.waiting(task, desk.clock.now(), task.poll_interval))
    task_log(task).warning("outcome of the submission unknown, it will be looked up", extra={"reason": str(error)})


def look_up(desk: Desk, tasks: list[Task]) -> None:
    """Settle submissions of one account whose outcome is unknown, by their submit ids."""
    submit_ids = list({task.internal_params.submit_id: None for task in tasks if task.internal_params.submit_id})
    try:
        found = desk.provider.find(tasks[0].account, submit_ids) if submit_ids else {}
    except ProviderError as error:
        for task in tasks:
            with desk.guarding(task):
                inconclusive(desk, task, error)
        return
    for task in tasks:
        with desk.guarding(task):
            _settle_unknown(desk, task, found)


def _settle_unknown(desk: Desk, task: Task, found: Mapping[str, Progress]) -> None:
    submit_id = task.internal_params.submit_id
    seen = found.get(submit_id or "")
    if submit_id is None:
        message = "the submission's outcome is unknown and it has no submit id to look up"
        desk.fail(task, TaskFailure(message, "submission_lost"))
    elif seen and seen.history_id:
        _accept(desk, task, seen.history_id)
    elif seen:
        inconclusive(desk, task, OutcomeUnknown("Jimeng knows the submission but names no history id"))
    else:
        _absent(desk, task)


def _absent(desk: Desk, task: Task) -> None:
    """The provider does not show the submission: believed after several look-ups, then submitted again."""
    now = desk.clock.now()
    after = lifecycle.struck(task, "absent", now)
    if not lifecycle.is_out(after, now, desk.policy):
        desk.save(task, lifecycle.postponed(after, now, desk.policy.strike_delay))
        return
    again = lifecycle.resubmitting(task, now)
    if again is None:
        message = "the submission never reached Jimeng, and its retries are used up"
        desk.fail(task, TaskFailure(message, "submission_lost"))
        return
    desk.save(task, again)
    desk.tally.add("retried")
    task_log(task).warning("submission proved absent, it will be made again under the same submit id")


def inconclusive(desk: Desk, task: Task, error: ProviderError) -> None:
    """A look at the provider failed: a login error is believed after several, all others mean "ask again"."""
    desk.metrics.count("provider_errors", error=error.name)
    now = desk.clock.now()
    kind = "login" if error.name == "login_rejected" else "outage"
    after = lifecycle.struck(task, kind, now)
    if kind == "login" and lifecycle.is_out(after, now, desk.policy):
        desk.fail(task, error)
        return
    failures = after.strikes.count if after.strikes else 1
    delay = desk.policy.strike_delay if kind == "login" else desk.backoff(failures, task.poll_interval)
    desk.save(task, lifecycle.postponed(after, now, max(delay, error.retry_after or 0)))


def is_unsent(task: Task) -> bool:
    """Whether the paid call surely has not been made for this ``processing`` task."""
    return task.submit_phase is SubmitPhase.PREPARING
