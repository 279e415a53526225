"""Step: ask the provider for the jobs of one account, in one request, and act on each answer."""

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.domain.task import Task
from jimeng_tasks.exceptions import ProviderError, TaskFailure

from .desk import Desk, task_log
from .submitting import inconclusive

NO_MEDIA = "Jimeng reported success without any media address"
NOT_SHOWN = "Jimeng no longer shows the job"


def poll(desk: Desk, tasks: list[Task]) -> list[Task]:
    """Look at ``polling`` tasks of one account; returns those that are delivered, still claimed, ready to transfer."""
    history_ids = list({_history_id(task): None for task in tasks if _history_id(task)})
    desk.tally.add("polled", len(tasks))
    desk.metrics.count("polls", len(tasks))
    try:
        progress = desk.provider.poll(tasks[0].account, history_ids) if history_ids else {}
    except ProviderError as error:
        for task in tasks:
            with desk.guarding(task):
                inconclusive(desk, task, error)
        return []
    seen = [(task, progress.get(_history_id(task))) for task in tasks]
    _reschedule(desk, [task for task, answer in seen if _is_running(answer)])
    ready: list[Task] = []
    for task, answer in seen:
        if not _is_running(answer):
            with desk.guarding(task):
                ready += settle(desk, task, answer)
    return ready


def _history_id(task: Task) -> str:
    return task.internal_params.history_id or ""


def _is_running(progress: Progress | None) -> bool:
    return progress is not None and progress.state is ProgressState.RUNNING


def _reschedule(desk: Desk, running: list[Task]) -> None:
    now = desk.clock.now()
    desk.lost(desk.store.save_many([(task, lifecycle.polled(task, now)) for task in running]))


def settle(desk: Desk, task: Task, seen: Progress | None) -> list[Task]:
    """Act on an answer that is not "running"; returns the task if it is delivered, nothing if it waits or ended.

    Raises:
        ClaimLost: another poller owns the task now.
    """
    if seen is None:
        _doubt(desk, task, "missing", TaskFailure(NOT_SHOWN, "not_found"))
    elif seen.urls:
        reason = f"{seen.error.name}: {seen.error}" if seen.error else None
        return [deliver(desk, task, seen, reason)]
    elif seen.error:
        task_log(task).warning("generation failed", extra={"history_id": seen.history_id, "reason": str(seen.error)})
        desk.fail(task, seen.error)
    else:
        _doubt(desk, task, "no_media", TaskFailure(NO_MEDIA, "result_missing"))
    return []


def deliver(desk: Desk, task: Task, seen: Progress, reason: str | None) -> Task:
    """Keep the provider's addresses before anything is copied; ``reason`` says why a delivery is partial."""
    now = desk.clock.now()
    task_log(task).info("media delivered", extra={"history_id": seen.history_id, "files": len(seen.urls)})
    return desk.save(task, lifecycle.delivered(task, seen, reason, now, desk.policy))


def _doubt(desk: Desk, task: Task, kind: str, failure: TaskFailure) -> None:
    """Believe a doubtful answer only after several in a row."""
    now = desk.clock.now()
    after = lifecycle.struck(task, kind, now)
    if lifecycle.is_out(after, now, desk.policy):
        desk.fail(task, failure)
    else:
        desk.save(task, lifecycle.postponed(after, now, desk.policy.strike_delay))
