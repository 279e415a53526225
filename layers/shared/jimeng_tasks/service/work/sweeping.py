"""Step: end tasks that ran past their deadline, whichever service they belong to."""

from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.domain.task import Task, TaskStatus
from jimeng_tasks.exceptions import ProviderError

from .context import JobContext, task_log
from .polling import deliver


def look_last(ctx: JobContext, task: Task) -> list[Task]:
    """Look at an overdue, claimed task one last time; ends it, or returns it when it has media to transfer.

    Media that were delivered, even in part, are paid for and become the result.

    Raises:
        ClaimLost: another poller owns the task now.
    """
    if task.original_urls:
        return [task]
    seen = _last_look(ctx, task)
    if seen and seen.urls:
        return [deliver(ctx, task, seen, _reason(task, seen))]
    if seen and seen.error:
        ctx.fail(task, seen.error)
    else:
        ctx.time_out(task)
    return []


def _reason(task: Task, seen: Progress) -> str | None:
    if seen.state is ProgressState.RUNNING:
        return f"Task timeout after {task.task_timeout} seconds"
    return f"{seen.error.name}: {seen.error}" if seen.error else None


def _last_look(ctx: JobContext, task: Task) -> Progress | None:
    """What the provider says now, by history id or, if the submission's outcome is unknown, by submit id."""
    history_id, submit_id = task.internal_params.history_id, task.internal_params.submit_id
    try:
        if history_id:
            return ctx.provider.poll(task.account, [history_id]).get(history_id)
        if submit_id and task.status is TaskStatus.PROCESSING:
            return ctx.provider.find(task.account, [submit_id]).get(submit_id)
    except ProviderError as error:
        ctx.metrics.count("provider_errors", error=error.name)
    except Exception:
        # Whatever it is, it must not keep the task, and its slot, past the deadline for ever.
        ctx.metrics.count("poller_errors")
        task_log(task).exception("the last look at an overdue task failed")
    return None
