"""What a caller asks for, typed but not yet checked against the provider's catalog."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An input picture: an http(s) address or a data URI, with its size in pixels if the caller knows it."""

    url: str = field(repr=False)
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """What image and video generations have in common; ``accounts`` are the session tokens that may be used."""

    prompt: str
    accounts: Sequence[str] = field(repr=False)
    model: str | None = None
    ratio: str | None = None
    resolution: str | None = None
    images: Sequence[Reference] = ()
    response_format: str = "url"
    task_id: str | None = None
    idempotency_key: str | None = None
    server_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRequest(GenerationRequest):
    """A picture: its size is given as ``width`` and ``height``, as ``size``, or as ``ratio`` and ``resolution``."""

    negative_prompt: str = ""
    width: int | None = None
    height: int | None = None
    size: str | None = None
    sample_strength: float = 0.5
    n: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoRequest(GenerationRequest):
    """A video of ``duration`` milliseconds; ``is_pro`` asks for the better model, or states that ``model`` is one."""

    is_pro: bool | None = None
    duration: int | None = None
