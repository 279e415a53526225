"""Tasks and results as clients see them."""

from collections.abc import Sequence
from typing import Any

from jimeng_tasks.domain.task import Result, ResultStatus, Task, TaskStatus, TaskType
from jimeng_tasks.service.query import Answer

from .answers import QueryAnswer, Status, SubmitAnswer, Submitted, TaskReport
from .fields import TASK_ID_PATTERN
from .services import ApiServices

STATUS: dict[TaskStatus, Status] = {TaskStatus.COMPLETED: -1, TaskStatus.FAILED: -2}
RESULT_STATES = {ResultStatus.SUCCESS: TaskStatus.COMPLETED, ResultStatus.FAILED: TaskStatus.FAILED}
NOT_ECHOED = ("prompt", "negative_prompt", "images")


def submit_answer(task: Task, now: int) -> SubmitAnswer:
    """The answer to an order: the task that it became, or already was."""
    params = task.original_params
    return SubmitAnswer(
        created=now,
        data=Submitted(
            task_id=task.task_id,
            status=STATUS.get(task.status, 0),
            state=task.status,
            server_id=task.server_id,
            references=len(params.get("images") or ()),
            params={name: value for name, value in params.items() if name not in NOT_ECHOED},
        ),
    )


def query_answer(
    services: ApiServices, task_type: TaskType, task_id: str, accounts: Sequence[str] | None
) -> QueryAnswer:
    """What is known of a task, among those of ``accounts`` if given; an id that no task can have is asked of nobody.

    Raises:
        StoreUnavailable: the store cannot be asked now.
    """
    known = services.query(task_type, task_id, accounts) if TASK_ID_PATTERN.fullmatch(task_id) else Answer()
    report = _report(task_id, known)
    if known.task and report.urls and known.task.original_params.get("response_format") == "b64_json":
        inlined = services.inline(report.urls)
        report = report.model_copy(update={"b64_json": inlined.pictures, "notice": inlined.notice})
    return QueryAnswer(created=services.clock.now(), data=report)


def _report(task_id: str, known: Answer) -> TaskReport:
    task = known.task
    if task is None:
        return TaskReport(task_id=task_id, **_outcome(known.result), **_orphan(known.result))
    return TaskReport(
        task_id=task.task_id,
        status=STATUS.get(task.status, 0),
        state=task.status,
        consumed=known.is_consumed,
        server_id=task.server_id,
        error_message=task.error_message,
        fail_code=task.fail_code,
        created_at=task.created_at,
        updated_at=task.updated_at,
        **_outcome(known.result),
    )


def _orphan(result: Result | None) -> dict[str, Any]:
    """What a result says of itself when its task is gone."""
    if result is None:
        return {}
    state = RESULT_STATES[result.status]
    return {"state": state, "status": STATUS[state], "server_id": result.server_id, "created_at": result.created_at}


def _outcome(result: Result | None) -> dict[str, Any]:
    if result is None:
        return {}
    return {
        "url": ",".join(result.tos_urls),
        "urls": list(result.tos_urls),
        "fail_reason": result.metadata.fail_reason,
        "generation_time": result.metadata.generation_time,
    }
