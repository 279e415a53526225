"""Reference pictures that are in memory: decoding what a client sent inline, and checking them."""

import base64
import re
from urllib.parse import unquote

from jimeng_tasks.domain.catalog import ReferenceLimits
from jimeng_tasks.domain.provider import Picture
from jimeng_tasks.exceptions import RequestError, TooLarge, UnsupportedMedia, UrlForbidden

from .sniff import is_mangled, picture_size, sniff

_MANGLED = (
    "binary bytes were decoded as text on the way: send the picture as base64 in JSON, "
    "or declare multipart/form-data as a binary media type at the gateway"
)


def is_data_uri(text: str) -> bool:
    """Whether ``text`` is a data URI."""
    return text[:5].lower() == "data:"


def decode_inline(text: str) -> bytes:
    """The bytes of a picture sent inline, as a data URI or as plain base64; white space in the base64 is allowed.

    The type that a data URI declares is not believed, nor returned.

    Raises:
        UrlForbidden: a data URI that is malformed or empty.
        RequestError: plain text that is no base64 or is empty.
    """
    text = text.strip()
    if is_data_uri(text):
        return _decode_data_uri(text)
    try:
        return _decode_base64(text)
    except ValueError as fault:
        raise RequestError(f"the picture is not valid base64: {fault}") from None


def picture_from_bytes(data: bytes, limits: ReferenceLimits) -> Picture:
    """Check a picture's bytes, format, sides and pixels; its header is read, its pixels never decoded.

    Raises:
        RequestError: no bytes at all.
        TooLarge: over ``limits`` in bytes, along a side or in pixels: the limit and the actual value.
        UnsupportedMedia: no picture of an allowed format, damaged, or smaller than ``limits`` allow.
    """
    if not data:
        raise RequestError("the picture is empty: it has 0 bytes")
    check_bytes(len(data), limits)
    picture_format = _allowed_format(data, limits)
    size = picture_size(data)
    if size is None:
        raise UnsupportedMedia(f"the {picture_format} picture is damaged: its width and height cannot be read")
    _check_size(*size, limits)
    return Picture(data=data, format=picture_format, width=size[0], height=size[1])


def check_bytes(count: int, limits: ReferenceLimits) -> None:
    """Refuse a picture of ``count`` bytes if that is too many.

    Raises:
        TooLarge: names the limit and ``count``.
    """
    if count > limits.max_bytes:
        raise TooLarge(f"the picture has {count} bytes; at most {limits.max_bytes} are allowed")


def _decode_data_uri(text: str) -> bytes:
    head, comma, body = text[5:].partition(",")
    if not comma:
        raise UrlForbidden("the data URI has no comma between its type and its data")
    if not head.strip().lower().endswith(";base64"):
        raise UrlForbidden("the data URI must be base64: data:image/png;base64,...")
    try:
        return _decode_base64(unquote(body))
    except ValueError as fault:
        raise UrlForbidden(f"the data URI does not hold valid base64: {fault}") from None


def _decode_base64(text: str) -> bytes:
    compact = re.sub(r"\s+", "", text, flags=re.ASCII)
    if not compact:
        raise ValueError("it is empty")
    return base64.b64decode(compact, validate=True)


def _allowed_format(data: bytes, limits: ReferenceLimits) -> str:
    if is_mangled(data):
        raise UnsupportedMedia(_MANGLED)
    kind = sniff(data)
    if kind is not None and kind.format in limits.formats:
        return kind.format
    actual = f"a {kind.format} file" if kind is not None else "of no known picture format"
    raise UnsupportedMedia(f"the picture is {actual}; allowed are {', '.join(sorted(limits.formats))}")


def _check_size(width: int, height: int, limits: ReferenceLimits) -> None:
    actual = f"the picture is {width}x{height} pixels"
    if min(width, height) < limits.min_side:
        raise UnsupportedMedia(f"{actual}; each side must have at least {limits.min_side}")
    if max(width, height) > limits.max_side:
        raise TooLarge(f"{actual}; each side may have at most {limits.max_side}")
    if width * height > limits.max_pixels:
        raise TooLarge(f"{actual}, {width * height} in all; at most {limits.max_pixels} are allowed")
