"""Step: copy delivered media to our own storage, file by file, so that a killed poller resumes with the rest."""

from threading import Lock

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.keys import media_key
from jimeng_tasks.domain.ports import MediaStorage
from jimeng_tasks.domain.task import FileProgress, Task
from jimeng_tasks.exceptions import FetchFailed, JimengTasksError, StorageError, UrlForbidden

from .context import JobContext, task_log


def transfer(ctx: JobContext, task: Task) -> None:
    """Store every missing file of a delivered task and complete it; files that failed are tried again on a later tick.

    Raises:
        ClaimLost: another poller owns the task now.
    """
    task = _store_missing(ctx, task)
    if all(_is_settled(ctx, file) for file in task.files):
        ctx.complete(task)
        return
    failures = max(file.attempts for file in task.files if not file.url)
    delay = ctx.backoff(failures, ctx.policy.retry_delay)
    ctx.save(task, lifecycle.postponed(task, ctx.clock.now(), delay))


def transfer_last(ctx: JobContext, task: Task) -> None:
    """One last try for a task past its deadline; what cannot be stored keeps its original address."""
    ctx.complete(_store_missing(ctx, task))


def _is_settled(ctx: JobContext, file: FileProgress) -> bool:
    return ctx.storage is None or file.url is not None or file.attempts >= ctx.policy.transfer_tries


def _store_missing(ctx: JobContext, task: Task) -> Task:
    for index, file in enumerate(task.files):
        if ctx.storage is not None and not _is_settled(ctx, file):
            task = _store_file(ctx, ctx.storage, task, index)
    return task


def _store_file(ctx: JobContext, storage: MediaStorage, task: Task, index: int) -> Task:
    """Try one file: the try is counted before it begins, so a file that kills its poller is not tried for ever."""
    begun = FileProgress(attempts=task.files[index].attempts + 1, error="the transfer was interrupted")
    task = ctx.save(task, lifecycle.with_file(task, index, begun, ctx.clock.now(), ctx.policy))
    try:
        url = _copy(ctx, storage, task, index)
    except (FetchFailed, StorageError, UrlForbidden) as error:
        return _note_failure(ctx, task, index, begun.attempts, error)
    done = FileProgress(url=url, attempts=begun.attempts)
    return ctx.save(task, lifecycle.with_file(task, index, done, ctx.clock.now(), ctx.policy))


def _copy(ctx: JobContext, storage: MediaStorage, task: Task, index: int) -> str:
    with ctx.source.open(task.original_urls[index]) as stream:
        key = media_key(ctx.key_prefix, task.task_type, task.task_id, index, stream.extension, task.created_at)
        return storage.store(key, stream.content_type, stream, _Lease(ctx, task).renew_when_due)


def _note_failure(ctx: JobContext, task: Task, index: int, attempts: int, error: JimengTasksError) -> Task:
    ctx.metrics.count("transfer_failures", error=error.name)
    task_log(task).warning("transfer failed", extra={"file": index, "attempt": attempts, "reason": str(error)})
    noted = FileProgress(attempts=attempts, error=f"file {index}: {error.name}: {error}")
    return ctx.save(task, lifecycle.with_file(task, index, noted, ctx.clock.now(), ctx.policy))


class _Lease:
    """Keeps the task's lease alive while its bytes move, however long that takes; threads may share it."""

    def __init__(self, ctx: JobContext, task: Task) -> None:
        self._ctx = ctx
        self._task = task
        self._renew_at = ctx.clock.now() + ctx.policy.lease // 3
        self._lock = Lock()

    def renew_when_due(self) -> None:
        with self._lock:
            now = self._ctx.clock.now()
            if now >= self._renew_at:
                self._ctx.save(self._task, lifecycle.renewed(self._task, now, self._ctx.policy.lease))
                self._renew_at = now + self._ctx.policy.lease // 3
