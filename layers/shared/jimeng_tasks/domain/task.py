"""Tasks and results: the two documents of the product, field by field.

The seed's names and types are kept; fields below the line "ours" are additions. Times are whole epoch seconds.
"""

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jimeng_tasks.exceptions import TokenUnreadable

SEALED = "enc:"
"""Begins a session token that is encrypted at rest; it comes this far only when the store has no key that fits it."""

_UNREADABLE = (
    "the stored session token cannot be decrypted: TOKEN_ENCRYPTION_KEY is not set, or lacks the key that encrypted it"
)


def reference_urls(original_params: Mapping[str, Any]) -> list[str]:
    """Addresses of the input pictures, in order; an entry that holds none becomes an empty one, which nobody can read.

    Older writers left plain addresses instead of objects.
    """
    images = original_params.get("images") or []
    entries = images if isinstance(images, list | tuple) else [images]
    urls = (entry.get("url") if isinstance(entry, Mapping) else entry for entry in entries)
    return [url if isinstance(url, str) else "" for url in urls]


class TaskType(StrEnum):
    """What a task generates."""

    IMAGE = "image"
    VIDEO = "video"


class TaskStatus(StrEnum):
    """The five states of a task."""

    PENDING = "pending"
    PROCESSING = "processing"
    POLLING = "polling"
    COMPLETED = "completed"
    FAILED = "failed"


ACTIVE = (TaskStatus.PENDING, TaskStatus.PROCESSING, TaskStatus.POLLING)
RUNNING = (TaskStatus.PROCESSING, TaskStatus.POLLING)
TERMINAL = (TaskStatus.COMPLETED, TaskStatus.FAILED)


class ResultStatus(StrEnum):
    """How a result ended."""

    SUCCESS = "success"
    FAILED = "failed"


class SubmitPhase(StrEnum):
    """How far a ``processing`` task's submission got before the last write."""

    PREPARING = "preparing"  # claimed; the paid call surely has not begun
    SENT = "sent"  # the paid call may have been made


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalParams:
    """What the product needs while it generates (seed 1.1).

    ``refresh_token`` is the account: the session token as the client sent it, with its region prefix.
    """

    refresh_token: str = field(repr=False)
    component_id: str | None = None
    history_id: str | None = None
    mapped_model: str | None = None
    submit_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strikes:
    """A doubtful answer seen several times in a row; any other answer wipes it out."""

    kind: str
    count: int
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProgress:
    """How far one file of a delivery got: ``url`` once it is stored, else tries begun and the last error."""

    url: str | None = None
    attempts: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A document of ``jimeng_free_generation_tasks``."""

    task_id: str
    task_type: TaskType
    server_id: str
    original_params: Mapping[str, Any]
    internal_params: InternalParams
    status: TaskStatus
    retry_count: int = 0
    max_retries: int = 3
    next_poll_at: int | None
    poll_interval: int
    task_timeout: int
    created_at: int
    updated_at: int
    started_at: int | None = None
    completed_at: int | None = None
    error_message: str | None = None
    fail_code: str | None = None
    # -- ours
    deadline_at: int
    request_hash: str | None = None
    claim_id: str | None = None
    slot: int | None = None
    submit_phase: SubmitPhase | None = None
    strikes: Strikes | None = None
    poll_count: int = 0
    delivered_at: int | None = None
    partial_reason: str | None = None
    original_urls: tuple[str, ...] = ()
    files: tuple[FileProgress, ...] = ()
    consumed_at: int | None = None

    @property
    def account(self) -> str:
        """The session token that every call for this task uses.

        Raises:
            TokenUnreadable: the store could not decrypt it.
        """
        token = self.internal_params.refresh_token
        if token.startswith(SEALED):
            raise TokenUnreadable(_UNREADABLE)
        return token

    def belongs_to(self, accounts: Iterable[str]) -> bool:
        """Whether the task's session token is one of these; compared in constant time."""
        own = self.internal_params.refresh_token.encode()
        matches = [hmac.compare_digest(own, account.encode()) for account in accounts]
        return any(matches)

    @property
    def is_terminal(self) -> bool:
        """Whether the task has ended for good."""
        return self.status in TERMINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultMetadata:
    """How a result came about; durations in milliseconds."""

    generation_time: int | None = None
    tos_upload_time: int | None = None
    total_files: int = 0
    successful_uploads: int = 0
    tos_upload_errors: tuple[str, ...] = ()
    fail_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A document of ``jimeng_free_generation_results``.

    ``tos_urls`` is what a client gets: the stored copy of each file, or its original address where storing failed
    or no bucket is configured.
    """

    task_id: str
    task_type: TaskType
    server_id: str
    status: ResultStatus
    original_urls: tuple[str, ...]
    tos_urls: tuple[str, ...]
    metadata: ResultMetadata
    created_at: int
    expires_at: int
