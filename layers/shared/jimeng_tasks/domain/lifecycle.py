"""The life cycle of a task as pure functions: each takes a task and returns the next one, to be written by the store.

::

    pending ──claim──> processing ──accepted──> polling ──delivered, transferred──> completed
       ^                   │  │                    │
       └──requeued─────────┘  └──refused───────────┴──failed, timed out──────────> failed

Times are whole epoch seconds; delays are seconds.
"""

from dataclasses import dataclass, replace

from jimeng_tasks.exceptions import ProviderError, TaskFailure

from .provider import Progress
from .task import (
    FileProgress,
    Result,
    ResultMetadata,
    ResultStatus,
    Strikes,
    SubmitPhase,
    Task,
    TaskStatus,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Every limit of the life cycle, in seconds unless a name says otherwise."""

    lease: int = 120
    submit_lease: int = 120
    retry_delay: int = 10
    rate_limit_delay: int = 60
    retry_delay_cap: int = 300
    strikes_out: int = 3
    strike_window: int = 60
    transfer_tries: int = 3
    result_expire: int = 86_400

    @property
    def strike_delay(self) -> int:
        """How long to wait before a doubtful answer is asked for again."""
        return self.strike_window // (self.strikes_out - 1)

    def backoff(self, failures: int, base: int, jitter: float) -> int:
        """Exponential delay after ``failures`` failures in a row; ``jitter`` from 0 to 1 takes off up to half."""
        delay = min(base * (1 << min(failures - 1, 16)), max(base, self.retry_delay_cap))
        return max(1, round(delay * (1 - jitter / 2)))


def sending(task: Task, *, mapped_model: str, component_id: str, now: int, policy: Policy) -> Task:
    """The last write before the paid call: from here on its outcome counts as unknown."""
    internal = replace(task.internal_params, mapped_model=mapped_model, component_id=component_id)
    return replace(
        task,
        internal_params=internal,
        submit_phase=SubmitPhase.SENT,
        next_poll_at=now + policy.submit_lease,
        updated_at=now,
    )


def accepted(task: Task, history_id: str, now: int) -> Task:
    """The provider took the job."""
    return replace(
        task,
        internal_params=replace(task.internal_params, history_id=history_id),
        status=TaskStatus.POLLING,
        submit_phase=None,
        strikes=None,
        claim_id=None,
        error_message=None,
        fail_code=None,
        next_poll_at=now + task.poll_interval,
        updated_at=now,
    )


def requeued(task: Task, error: ProviderError | TaskFailure, now: int, delay: int) -> Task | None:
    """Back to the queue after a submission that surely was not accepted; None when its retries are used up."""
    if task.retry_count >= task.max_retries:
        return None
    return replace(
        task,
        status=TaskStatus.PENDING,
        retry_count=task.retry_count + 1,
        next_poll_at=now + delay,
        deadline_at=task.created_at + task.task_timeout,
        started_at=None,
        slot=None,
        claim_id=None,
        submit_phase=None,
        strikes=None,
        error_message=str(error),
        fail_code=error.fail_code,
        updated_at=now,
    )


def resubmitting(task: Task, now: int) -> Task | None:
    """Due at once to be submitted again under the same submit id, since it proved absent; None when the retries are
    used up."""
    if task.retry_count >= task.max_retries:
        return None
    return replace(
        task,
        retry_count=task.retry_count + 1,
        submit_phase=SubmitPhase.PREPARING,
        strikes=None,
        claim_id=None,
        next_poll_at=now,
        updated_at=now,
    )


def released(task: Task, now: int) -> Task:
    """Give back a claim on which nothing was begun; a pending task gets its place in the queue again."""
    if task.status is TaskStatus.PROCESSING and task.submit_phase is SubmitPhase.PREPARING:
        return replace(
            task,
            status=TaskStatus.PENDING,
            started_at=None,
            slot=None,
            submit_phase=None,
            claim_id=None,
            deadline_at=task.created_at + task.task_timeout,
            next_poll_at=task.created_at,
            updated_at=now,
        )
    return replace(task, claim_id=None, next_poll_at=now, updated_at=now)


def waiting(task: Task, now: int, delay: int) -> Task:
    """Nothing doubtful was said: look again in ``delay`` seconds."""
    return replace(task, claim_id=None, strikes=None, next_poll_at=now + delay, updated_at=now)


def polled(task: Task, now: int) -> Task:
    """The job is running: ask again after the task's poll interval."""
    return replace(waiting(task, now, task.poll_interval), poll_count=task.poll_count + 1)


def renewed(task: Task, now: int, lease: int) -> Task:
    """The same claim for ``lease`` more seconds."""
    return replace(task, next_poll_at=now + lease, updated_at=now)


def struck(task: Task, kind: str, now: int) -> Task:
    """Count one more doubtful answer of this kind in a row."""
    last = task.strikes if task.strikes and task.strikes.kind == kind else Strikes(kind=kind, count=0, since=now)
    return replace(task, strikes=replace(last, count=last.count + 1))


def is_out(task: Task, now: int, policy: Policy) -> bool:
    """Whether a doubtful answer came often and long enough to be believed."""
    strikes = task.strikes
    return strikes is not None and strikes.count >= policy.strikes_out and now - strikes.since >= policy.strike_window


def postponed(task: Task, now: int, delay: int) -> Task:
    """A doubtful answer: look again in ``delay`` seconds, with the strikes kept."""
    return replace(task, claim_id=None, next_poll_at=now + delay, updated_at=now)


def delivered(task: Task, progress: Progress, reason: str | None, now: int, policy: Policy) -> Task:
    """The provider is done: its addresses are kept before anything is copied, and the claim goes on."""
    return replace(
        task,
        internal_params=replace(
            task.internal_params, history_id=progress.history_id or task.internal_params.history_id
        ),
        status=TaskStatus.POLLING,
        submit_phase=None,
        strikes=None,
        original_urls=progress.urls,
        files=tuple(FileProgress() for _ in progress.urls),
        delivered_at=now,
        partial_reason=reason,
        next_poll_at=now + policy.lease,
        updated_at=now,
    )


def with_file(task: Task, index: int, progress: FileProgress, now: int, policy: Policy) -> Task:
    """The progress of one file, with the lease renewed."""
    files = (*task.files[:index], progress, *task.files[index + 1 :])
    return replace(task, files=files, next_poll_at=now + policy.lease, updated_at=now)


def _ended(task: Task, status: TaskStatus, now: int) -> Task:
    return replace(
        task,
        status=status,
        claim_id=None,
        slot=None,
        next_poll_at=None,
        submit_phase=None,
        strikes=None,
        completed_at=now,
        updated_at=now,
    )


def completed(task: Task, now: int, policy: Policy) -> tuple[Task, Result]:
    """The end of a task with media: a file that could not be stored keeps its original address."""
    pairs = list(zip(task.original_urls, task.files, strict=True))
    delivered_at = now if task.delivered_at is None else task.delivered_at
    started_at = delivered_at if task.started_at is None else task.started_at
    metadata = ResultMetadata(
        generation_time=(delivered_at - started_at) * 1000,
        tos_upload_time=(now - delivered_at) * 1000,
        total_files=len(pairs),
        successful_uploads=sum(1 for _, file in pairs if file.url),
        tos_upload_errors=tuple(file.error for _, file in pairs if file.error and not file.url),
        fail_reason=task.partial_reason,
    )
    ended = replace(_ended(task, TaskStatus.COMPLETED, now), error_message=None, fail_code=None)
    urls = tuple(file.url or original for original, file in pairs)
    return ended, _result(task, ResultStatus.SUCCESS, urls, metadata, now, policy)


def failed(
    task: Task, message: str, fail_code: str | None, now: int, policy: Policy, *, reason: str | None = None
) -> tuple[Task, Result]:
    """The end of a task without media; ``reason`` is the result's ``fail_reason`` where it differs from the message."""
    ended = replace(_ended(task, TaskStatus.FAILED, now), error_message=message, fail_code=fail_code)
    metadata = ResultMetadata(fail_reason=reason or message)
    return ended, _result(task, ResultStatus.FAILED, (), metadata, now, policy)


def timed_out(task: Task, now: int, policy: Policy) -> tuple[Task, Result]:
    """The end of a task that ran past its deadline, in the seed's words."""
    reason = f"Task timeout after {task.task_timeout} seconds"
    return failed(task, "Task timeout", None, now, policy, reason=reason)


def _result(
    task: Task, status: ResultStatus, urls: tuple[str, ...], metadata: ResultMetadata, now: int, policy: Policy
) -> Result:
    return Result(
        task_id=task.task_id,
        task_type=task.task_type,
        server_id=task.server_id,
        status=status,
        original_urls=task.original_urls if urls else (),
        tos_urls=urls,
        metadata=metadata,
        created_at=now,
        expires_at=now + policy.result_expire,
    )
