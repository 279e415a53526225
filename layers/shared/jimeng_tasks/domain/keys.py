"""Object keys: deterministic, so that a repeated transfer overwrites its own object and never adds another."""

from datetime import UTC, datetime

from .task import TaskType


def media_key(prefix: str, task_type: TaskType, task_id: str, index: int, extension: str, created_at: int) -> str:
    """The key of one generated file, ``{prefix}/{task_type}/{yyyy}/{mm}/{dd}/{task_id}/{index}.{extension}``.

    The date is the UTC date of ``created_at`` (epoch seconds): the task's own, so a transfer that goes on after
    midnight keeps the key.
    """
    day = datetime.fromtimestamp(created_at, UTC).strftime("%Y/%m/%d")
    return _joined(prefix, f"{task_type}/{day}/{task_id}/{index}.{extension}")


def upload_key(prefix: str, digest: str, extension: str) -> str:
    """The key of an uploaded picture, ``{prefix}/uploads/{digest}.{extension}``; ``digest`` is its SHA-256 in hex."""
    return _joined(prefix, f"uploads/{digest}.{extension}")


def _joined(prefix: str, rest: str) -> str:
    return f"{prefix}/{rest}" if prefix else rest
