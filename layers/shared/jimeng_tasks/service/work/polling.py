"""Step: ask the provider for the jobs of one account, in one request, and act on each answer."""

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.domain.task import Task
from jimeng_tasks.exceptions import ProviderError, TaskFailure

from .context import JobContext, task_log
from .submitting import inconclusive

NO_MEDIA = "Jimeng reported success without any media address"
NOT_SHOWN = "Jimeng no longer shows the job"


def poll(ctx: JobContext, tasks: list[Task]) -> list[Task]:
    """Look at ``polling`` tasks of one account; returns those that are delivered, still claimed, ready to transfer."""
    history_ids = list({_history_id(task): None for task in tasks if _history_id(task)})
    ctx.counters.add("polled", len(tasks))
    ctx.metrics.count("polls", len(tasks))
    try:
        progress = ctx.provider.poll(tasks[0].account, history_ids) if history_ids else {}
    except ProviderError as error:
        for task in tasks:
            with ctx.guarding(task):
                inconclusive(ctx, task, error)
        return []
    seen = [(task, progress.get(_history_id(task))) for task in tasks]
    _reschedule(ctx, [task for task, answer in seen if _is_running(answer)])
    ready: list[Task] = []
    for task, answer in seen:
        if not _is_running(answer):
            with ctx.guarding(task):
                ready += settle(ctx, task, answer)
    return ready


def _history_id(task: Task) -> str:
    return task.internal_params.history_id or ""


def _is_running(progress: Progress | None) -> bool:
    return progress is not None and progress.state is ProgressState.RUNNING


def _reschedule(ctx: JobContext, running: list[Task]) -> None:
    now = ctx.clock.now()
    ctx.lost(ctx.store.save_many([(task, lifecycle.polled(task, now)) for task in running]))


def settle(ctx: JobContext, task: Task, seen: Progress | None) -> list[Task]:
    """Act on an answer that is not "running"; returns the task if it is delivered, nothing if it waits or ended.

    Raises:
        ClaimLost: another poller owns the task now.
    """
    if seen is None:
        _doubt(ctx, task, "missing", TaskFailure(NOT_SHOWN, "not_found"))
    elif seen.urls:
        reason = f"{seen.error.name}: {seen.error}" if seen.error else None
        return [deliver(ctx, task, seen, reason)]
    elif seen.error:
        task_log(task).warning("generation failed", extra={"history_id": seen.history_id, "reason": str(seen.error)})
        ctx.fail(task, seen.error)
    else:
        _doubt(ctx, task, "no_media", TaskFailure(NO_MEDIA, "result_missing"))
    return []


def deliver(ctx: JobContext, task: Task, seen: Progress, reason: str | None) -> Task:
    """Keep the provider's addresses before anything is copied; ``reason`` says why a delivery is partial."""
    now = ctx.clock.now()
    task_log(task).info("media delivered", extra={"history_id": seen.history_id, "files": len(seen.urls)})
    return ctx.save(task, lifecycle.delivered(task, seen, reason, now, ctx.policy))


def _doubt(ctx: JobContext, task: Task, kind: str, failure: TaskFailure) -> None:
    """Believe a doubtful answer only after several in a row."""
    now = ctx.clock.now()
    after = lifecycle.struck(task, kind, now)
    if lifecycle.is_out(after, now, ctx.policy):
        ctx.fail(task, failure)
    else:
        ctx.save(task, lifecycle.postponed(after, now, ctx.policy.strike_delay))
