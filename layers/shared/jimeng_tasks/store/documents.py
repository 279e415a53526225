"""Tasks, results and servers as MongoDB documents, both ways.

Writing keeps the seed's names and types and leaves fields that are None out. Reading also takes what the Node service
wrote: numbers as doubles, ``_id`` and ``__v``, and none of our own fields.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import Any

from jimeng_tasks.domain.task import (
    FileProgress,
    InternalParams,
    Result,
    ResultMetadata,
    ResultStatus,
    Strikes,
    SubmitPhase,
    Task,
    TaskStatus,
    TaskType,
)
from jimeng_tasks.domain.workload import Server, TaskRef

from .tokens import PLAIN, TokenVault

logger = logging.getLogger(__name__)

type Document = dict[str, Any]

_FIXED = frozenset({"task_id", "task_type", "server_id", "original_params", "created_at", "request_hash"})
MUTABLE_FIELDS = tuple(spec.name for spec in fields(Task) if spec.name not in _FIXED)
DEFAULT_TIMEOUTS = {TaskType.IMAGE: 3600, TaskType.VIDEO: 86_400}
DEFAULT_MAX_RETRIES = 3
DEFAULT_POLL_INTERVAL = 10
WITHOUT_PICTURES = {"original_params.images": 0}
REF_FIELDS = ("task_id", "status", "next_poll_at", "slot")


def stored_number(name: str, default: Any) -> Document:
    """A number of the stored document inside an update, or the default where there is none."""
    return {"$convert": {"input": f"${name}", "to": "long", "onError": default, "onNull": default}}


STORED_TIMEOUT = stored_number(
    "task_timeout",
    {
        "$cond": [
            {"$eq": ["$task_type", "video"]},
            *(DEFAULT_TIMEOUTS[kind] for kind in (TaskType.VIDEO, TaskType.IMAGE)),
        ]
    },
)


def to_document(record: Task | Result | Server, vault: TokenVault = PLAIN) -> Document:
    """The document of a record; ``vault`` seals the session token of a task."""
    document: Document = _plain(record)
    if isinstance(record, Task):
        sealed = vault.seal(record.internal_params.refresh_token, record.task_id)
        document["internal_params"]["refresh_token"] = sealed
    return document


def task_update(after: Task, vault: TokenVault = PLAIN) -> Document:
    """The update that writes every field that may change in a task's life."""
    document = to_document(after, vault)
    present = {name: document[name] for name in MUTABLE_FIELDS if name in document}
    absent = {name: "" for name in MUTABLE_FIELDS if name not in document}
    return {"$set": present, "$unset": absent} if absent else {"$set": present}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        members = ((spec.name, getattr(value, spec.name)) for spec in fields(value))
        return {name: _plain(member) for name, member in members if member is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half a surrogate pair could not be written at all
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return value


def tasks_from(documents: Iterable[Mapping[str, Any]], vault: TokenVault = PLAIN) -> Iterator[Task]:
    """The tasks of documents; one that cannot be read is reported and left out, so that it harms no other."""
    for document in documents:
        try:
            yield task_from(document, vault)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            logger.error("task %s is malformed: %s", document.get("task_id"), type(error).__name__)


def task_from(document: Mapping[str, Any], vault: TokenVault = PLAIN) -> Task:
    """The task of a document; what the seed requires and an older writer left out gets the seed's default."""
    task_id = document["task_id"]
    task_type = TaskType(document["task_type"])
    created_at = _number(document, "created_at", 0)
    started_at = _whole(document, "started_at")
    task_timeout = _number(document, "task_timeout", DEFAULT_TIMEOUTS[task_type])
    deadline_at = _whole(document, "deadline_at")
    return Task(
        task_id=task_id,
        task_type=task_type,
        server_id=document["server_id"],
        original_params=_mapping(document, "original_params"),
        internal_params=_internal_params(_mapping(document, "internal_params"), task_id, vault),
        status=TaskStatus(document["status"]),
        retry_count=_number(document, "retry_count", 0),
        max_retries=_number(document, "max_retries", DEFAULT_MAX_RETRIES),
        next_poll_at=_whole(document, "next_poll_at"),
        poll_interval=_number(document, "poll_interval", DEFAULT_POLL_INTERVAL),
        task_timeout=task_timeout,
        created_at=created_at,
        updated_at=_number(document, "updated_at", created_at),
        started_at=started_at,
        completed_at=_whole(document, "completed_at"),
        error_message=_text(document, "error_message"),
        fail_code=_text(document, "fail_code"),
        deadline_at=(started_at or created_at) + task_timeout if deadline_at is None else deadline_at,
        request_hash=_text(document, "request_hash"),
        claim_id=_text(document, "claim_id"),
        slot=_whole(document, "slot"),
        submit_phase=SubmitPhase(document["submit_phase"]) if document.get("submit_phase") else None,
        strikes=_strikes(document.get("strikes")),
        poll_count=_number(document, "poll_count", 0),
        delivered_at=_whole(document, "delivered_at"),
        partial_reason=_text(document, "partial_reason"),
        original_urls=tuple(document.get("original_urls") or ()),
        files=tuple(_file_progress(entry) for entry in document.get("files") or ()),
        consumed_at=_whole(document, "consumed_at"),
    )


def ref_from(document: Mapping[str, Any]) -> TaskRef:
    """The planning fields of a task; one of the Node service without a due time counts as due."""
    return TaskRef(
        task_id=document["task_id"],
        status=TaskStatus(document["status"]),
        next_poll_at=_number(document, "next_poll_at", 0),
        slot=_whole(document, "slot"),
    )


def result_from(document: Mapping[str, Any]) -> Result:
    """The result of a document."""
    return Result(
        task_id=document["task_id"],
        task_type=TaskType(document["task_type"]),
        server_id=document["server_id"],
        status=ResultStatus(document["status"]),
        original_urls=tuple(document.get("original_urls") or ()),
        tos_urls=tuple(document.get("tos_urls") or ()),
        metadata=_metadata(document.get("metadata") or {}),
        created_at=int(document["created_at"]),
        expires_at=int(document["expires_at"]),
    )


def server_from(document: Mapping[str, Any]) -> Server:
    """The server of a document; one that the Node service wrote may have no more than its name."""
    return Server(
        server_id=document["server_id"],
        status=_text(document, "status") or "unknown",
        last_heartbeat_at=_number(document, "last_heartbeat_at", 0),
        load=_number(document, "load", 0),
        version=_text(document, "version") or "unknown",
    )


def _internal_params(document: Mapping[str, Any], task_id: str, vault: TokenVault) -> InternalParams:
    return InternalParams(
        refresh_token=vault.unseal(_text(document, "refresh_token") or "", task_id),
        component_id=_text(document, "component_id"),
        history_id=_text(document, "history_id"),
        mapped_model=_text(document, "mapped_model"),
        submit_id=_text(document, "submit_id"),
    )


def _strikes(document: Mapping[str, Any] | None) -> Strikes | None:
    if document is None:
        return None
    return Strikes(kind=document["kind"], count=int(document["count"]), since=int(document["since"]))


def _file_progress(document: Mapping[str, Any]) -> FileProgress:
    return FileProgress(url=_text(document, "url"), attempts=int(document["attempts"]), error=_text(document, "error"))


def _metadata(document: Mapping[str, Any]) -> ResultMetadata:
    return ResultMetadata(
        generation_time=_whole(document, "generation_time"),
        tos_upload_time=_whole(document, "tos_upload_time"),
        total_files=_number(document, "total_files", 0),
        successful_uploads=_number(document, "successful_uploads", 0),
        tos_upload_errors=tuple(document.get("tos_upload_errors") or ()),
        fail_reason=_text(document, "fail_reason"),
    )


def _mapping(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def _whole(document: Mapping[str, Any], name: str) -> int | None:
    """A number; None where there is none, or something that is no number."""
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return int(value)


def _number(document: Mapping[str, Any], name: str, default: int) -> int:
    value = _whole(document, name)
    return default if value is None else value


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    return None if value is None else str(value)
