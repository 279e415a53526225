"""From a history record to `Progress` (jimeng-wire 5.3 to 5.7)."""

from collections.abc import Mapping, Sequence
from typing import Any

from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.exceptions import ContentRejected, ProviderError, ServerRefused

from .answers import MAX_CODE, explain, first_text, mapping_of, text_of
from .codes import ErrorClass, Stage, classify, moderation_stage
from .media_urls import image_url, is_video, preview_url
from .records import Record
from .regions import Account

REJECTED_BEFORE_GENERATION = 10
OLD_SUCCESS = 21
REJECTED_AFTER_GENERATION = 40
PARTIAL = 45
SUCCESS = 50

FAILURES: dict[int, ErrorClass] = {
    30: ServerRefused,
    REJECTED_AFTER_GENERATION: ContentRejected,
    60: ServerRefused,
    70: ServerRefused,
    80: ServerRefused,
    100: ServerRefused,
}
"""Terminal failures and the class of one that says no more than its status (jimeng-wire 5.4)."""

STAGES = {REJECTED_BEFORE_GENERATION: Stage.INPUT, REJECTED_AFTER_GENERATION: Stage.OUTPUT}
"""What moderation looked at, where no more than the status tells it (jimeng-wire 5.4)."""


def progress_of(record: Record, history_id: str, log_id: str | None, account: Account) -> Progress:
    """What a record says of its job. Anything odd in it means that the job is still running."""
    urls = _item_urls(record)
    state, default = _state(record, urls)
    error = _failure(record, default, log_id, account) if state is ProgressState.FAILED else None
    if state is ProgressState.SUCCEEDED and not urls:
        urls = _moved_url(record)
    return Progress(history_id=history_id, state=state, urls=urls, error=error)


def _item_urls(record: Record) -> tuple[str, ...]:
    """The addresses of the items in order; items without one are left out."""
    found = (preview_url(item) if is_video(item) else image_url(item) for item in items_of(record))
    return tuple(url for url in found if url)


def _moved_url(record: Record) -> tuple[str, ...]:
    """A video whose address stands in no known place still has it somewhere in the record."""
    url = None if any(mapping_of(item.get("image")) for item in items_of(record)) else preview_url(record)
    return (url,) if url else ()


def items_of(record: Record) -> list[Mapping[str, Any]]:
    """The items of a record, without what is no object."""
    items = record.get("item_list")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _state(record: Record, urls: Sequence[str]) -> tuple[ProgressState, ErrorClass]:
    status = _number(_status(record))
    if status in FAILURES:
        return ProgressState.FAILED, FAILURES[status]
    if status == REJECTED_BEFORE_GENERATION and not urls:
        return ProgressState.FAILED, ContentRejected
    promised = _number(record.get("total_image_count")) or 0
    complete = status == PARTIAL and 0 < promised <= len(urls)
    delivered = status in (REJECTED_BEFORE_GENERATION, OLD_SUCCESS) and bool(urls)
    done = status == SUCCESS or complete or delivered
    return (ProgressState.SUCCEEDED if done else ProgressState.RUNNING), ServerRefused


def _status(record: Record) -> Any:
    own = record.get("status")
    return mapping_of(record.get("task")).get("status") if own is None else own


def _number(value: Any) -> int | None:
    text = text_of(value)
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _failure(record: Record, default: ErrorClass, log_id: str | None, account: Account) -> ProviderError:
    fail_code = first_text(record, "fail_code", "error_code")[:MAX_CODE]
    key = text_of(record.get("fail_starling_key"))
    error = classify(fail_code=fail_code, starling_key=key, default=default)
    status = text_of(_status(record))
    by_status = STAGES.get(_number(status) or 0, Stage.UNKNOWN)
    stage = moderation_stage(fail_code=fail_code, starling_key=key, default=by_status)
    facts = {"status": status, "code": fail_code, "key": key, "logid": log_id}
    message = first_text(record, "fail_starling_message", "fail_msg", "error_msg")
    shown = explain("Jimeng failed the job", message, facts, account, stage if error is ContentRejected else None)
    return error(shown, fail_code=fail_code or None, log_id=log_id)
