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
    RateLimited,
    Refused,
    RequestError,
    SurelyNotAccepted,
    TaskFailure,
)

from .context import JobContext, task_log


def submit(ctx: JobContext, task: Task) -> None:
    """Carry a ``processing`` task in phase PREPARING to ``polling``, back to ``pending``, or to ``failed``.

    Raises:
        ClaimLost: another poller owns the task; if the paid call was made, that poller finds it by its submit id.
    """
    try:
        prepared, task = _prepare(ctx, task)
        history_id = _call(ctx, task, prepared)
    except SurelyNotAccepted as error:
        _requeue(ctx, task, error)
    except (Refused, RequestError) as error:
        ctx.metrics.count("provider_errors", error=error.name)
        ctx.fail(task, error)
    except FetchFailed as error:
        ctx.fail(task, TaskFailure(str(error), error.name))
    except TaskFailure as error:
        _requeue(ctx, task, error)
    except OutcomeUnknown as error:
        if is_unsent(task):
            _requeue(ctx, task, error)
        else:
            _leave_for_lookup(ctx, task, error)
    else:
        _accept(ctx, task, history_id)


def _prepare(ctx: JobContext, task: Task) -> tuple[Prepared, Task]:
    """Upload references and build the request; everything here is free and may be repeated."""
    with _nothing_paid(task):
        task, references = _upload_references(ctx, task)
        submit_id = task.internal_params.submit_id or ""
        prepared = ctx.provider.prepare(task.account, submit_id, task.task_type, task.original_params, references)
    after = lifecycle.sending(
        task,
        mapped_model=prepared.mapped_model,
        component_id=prepared.component_id,
        now=ctx.clock.now(),
        policy=ctx.policy,
    )
    return prepared, ctx.save(task, after)


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


def _upload_references(ctx: JobContext, task: Task) -> tuple[Task, list[str]]:
    references = []
    for url in ctx.store.references(task.task_id):
        picture = ctx.source.read_picture(url)
        references.append(ctx.provider.upload_reference(task.account, picture))
        task = ctx.save(task, lifecycle.renewed(task, ctx.clock.now(), ctx.policy.lease))
    return task, references


def _call(ctx: JobContext, task: Task, prepared: Prepared) -> str:
    if not ctx.holds(task):
        raise ClaimLost(f"the lease on task {task.task_id} ended before its submission")
    started = ctx.clock.now()
    try:
        history_id = ctx.provider.submit(task.account, prepared)
    finally:
        ctx.metrics.seconds("submit_time", ctx.clock.now() - started, task_type=task.task_type)
    return history_id


def _accept(ctx: JobContext, task: Task, history_id: str) -> None:
    ctx.save(task, lifecycle.accepted(task, history_id, ctx.clock.now()))
    ctx.counters.add("submitted")
    ctx.metrics.count("tasks_submitted", task_type=task.task_type)
    task_log(task).info("task submitted", extra={"history_id": history_id})


def _requeue(ctx: JobContext, task: Task, error: SurelyNotAccepted | OutcomeUnknown | TaskFailure) -> None:
    ctx.metrics.count("provider_errors", error=error.name)
    # The account's other jobs need longer to end than a fault needs to pass.
    base = ctx.policy.rate_limit_delay if isinstance(error, RateLimited) else ctx.policy.retry_delay
    delay = ctx.backoff(task.retry_count + 1, base)
    after = lifecycle.requeued(task, error, ctx.clock.now(), max(delay, error.retry_after or 0))
    if after is None:
        ctx.fail(task, error)
        return
    ctx.save(task, after)
    ctx.counters.add("retried")
    task_log(task).warning("submission not accepted, back to the queue", extra={"reason": str(error)})


def _leave_for_lookup(ctx: JobContext, task: Task, error: OutcomeUnknown) -> None:
    ctx.metrics.count("provider_errors", error=error.name)
    ctx.save(task, lifecycle.waiting(task, ctx.clock.now(), task.poll_interval))
    task_log(task).warning("outcome of the submission unknown, it will be looked up", extra={"reason": str(error)})


def look_up(ctx: JobContext, tasks: list[Task]) -> None:
    """Settle submissions of one account whose outcome is unknown, by their submit ids."""
    submit_ids = list({task.internal_params.submit_id: None for task in tasks if task.internal_params.submit_id})
    try:
        found = ctx.provider.find(tasks[0].account, submit_ids) if submit_ids else {}
    except ProviderError as error:
        for task in tasks:
            with ctx.guarding(task):
                inconclusive(ctx, task, error)
        return
    for task in tasks:
        with ctx.guarding(task):
            _settle_unknown(ctx, task, found)


def _settle_unknown(ctx: JobContext, task: Task, found: Mapping[str, Progress]) -> None:
    submit_id = task.internal_params.submit_id
    seen = found.get(submit_id or "")
    if submit_id is None:
        message = "the submission's outcome is unknown and it has no submit id to look up"
        ctx.fail(task, TaskFailure(message, "submission_lost"))
    elif seen and seen.history_id:
        _accept(ctx, task, seen.history_id)
    elif seen:
        inconclusive(ctx, task, OutcomeUnknown("Jimeng knows the submission but names no history id"))
    else:
        _absent(ctx, task)


def _absent(ctx: JobContext, task: Task) -> None:
    """The provider does not show the submission: believed after several look-ups, then submitted again."""
    now = ctx.clock.now()
    after = lifecycle.struck(task, "absent", now)
    if not lifecycle.is_out(after, now, ctx.policy):
        ctx.save(task, lifecycle.postponed(after, now, ctx.policy.strike_delay))
        return
    again = lifecycle.resubmitting(task, now)
    if again is None:
        message = "the submission never reached Jimeng, and its retries are used up"
        ctx.fail(task, TaskFailure(message, "submission_lost"))
        return
    ctx.save(task, again)
    ctx.counters.add("retried")
    task_log(task).warning("submission proved absent, it will be made again under the same submit id")


def inconclusive(ctx: JobContext, task: Task, error: ProviderError) -> None:
    """A look at the provider failed: a login error is believed after several, all others mean "ask again"."""
    ctx.metrics.count("provider_errors", error=error.name)
    now = ctx.clock.now()
    kind = "login" if error.name == "login_rejected" else "outage"
    after = lifecycle.struck(task, kind, now)
    if kind == "login" and lifecycle.is_out(after, now, ctx.policy):
        ctx.fail(task, error)
        return
    failures = after.strikes.count if after.strikes else 1
    delay = ctx.policy.strike_delay if kind == "login" else ctx.backoff(failures, task.poll_interval)
    ctx.save(task, lifecycle.postponed(after, now, max(delay, error.retry_after or 0)))


def is_unsent(task: Task) -> bool:
    """Whether the paid call surely has not been made for this ``processing`` task."""
    return task.submit_phase is SubmitPhase.PREPARING
