"""Inline pictures are decoded strictly and checked against the provider's limits."""

import base64
import struct
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jimeng_tasks.domain.catalog import ReferenceLimits
from jimeng_tasks.exceptions import JimengTasksError, RequestError, TooLarge, UnsupportedMedia, UrlForbidden
from jimeng_tasks.media.pictures import decode_inline, picture_from_bytes

LIMITS = ReferenceLimits(
    formats=frozenset({"png", "jpeg", "webp"}), max_bytes=50_000, min_side=16, max_side=4096, max_pixels=4_000_000
)


def png(width: int, height: int, padding: int = 0) -> bytes:
    """A PNG header that claims a size, whatever its pixels are."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)) + b"\x55" * padding
    )


def test_a_good_picture_comes_with_format_and_size() -> None:
    data = png(640, 480)

    picture = picture_from_bytes(data, LIMITS)

    assert (picture.format, picture.width, picture.height, picture.data) == ("png", 640, 480, data)


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (b"", RequestError, "0 bytes"),
        (png(64, 64, padding=60_000), TooLarge, "60033 bytes; at most 50000"),
        (
            b"GIF89a" + struct.pack("<HH", 64, 64) + bytes(20),
            UnsupportedMedia,
            "a gif file; allowed are jpeg, png, webp",
        ),
        (b"<html>", UnsupportedMedia, "of no known picture format; allowed are jpeg, png, webp"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42" + bytes(9), UnsupportedMedia, "a mp4 file"),
        (png(15, 400), UnsupportedMedia, "15x400 pixels; each side must have at least 16"),
        (png(5000, 20), TooLarge, "5000x20 pixels; each side may have at most 4096"),
        (png(4000, 4000), TooLarge, "16000000 in all; at most 4000000"),
        (png(2**31 - 1, 2**31 - 1), TooLarge, "at most 4096"),
        (png(0, 64), UnsupportedMedia, "damaged"),
        (b"\x89PNG\r\n\x1a\n", UnsupportedMedia, "damaged"),
        (
            b"\xef\xbf\xbdPNG\r\n\x1a\n\x00\x00",
            UnsupportedMedia,
            "decoded as text on the way: send the picture as base64",
        ),
    ],
)
def test_a_bad_picture_is_refused_with_limit_and_actual(data: bytes, error: type[RequestError], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        picture_from_bytes(data, LIMITS)

    assert type(caught.value) is error


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png;base64,{}",
        "data:image/jpeg;base64,{}",  # the type lies
        "data:;base64,{}",
        "DATA:image/png;name=a.png;BASE64,{}",
        "  data:image/png;base64, {}\n",
        "{}",
        "\n{}\r\n",
    ],
)
def test_inline_pictures_are_decoded_whatever_type_they_declare(text: str) -> None:
    data = png(64, 64)
    encoded = base64.b64encode(data).decode()
    in_lines = "\r\n".join(encoded[start : start + 20] for start in range(0, len(encoded), 20))

    assert decode_inline(text.format(encoded)) == data
    assert decode_inline(text.format(in_lines)) == data


def test_a_percent_encoded_data_uri_is_decoded() -> None:
    assert decode_inline("data:image/png;base64,%2B%2F8%3D") == b"\xfb\xff"


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("", RequestError, "it is empty"),
        ("not base64 at all!", RequestError, "not valid base64"),
        ("iVBORw0KGg", RequestError, "padding"),
        ("AA==AA==", RequestError, "not valid base64"),
        ("图片", RequestError, "not valid base64"),
        ("https://example.com/a.png", RequestError, "not valid base64"),
        ("data:image/png;base64", UrlForbidden, "no comma"),
        ("data:image/png,iVBORw0KGgo=", UrlForbidden, "must be base64"),
        ("data:image/png;base64,", UrlForbidden, "it is empty"),
        ("data:image/png;base64,*", UrlForbidden, "valid base64"),
    ],
)
def test_bad_inline_text_is_refused_and_says_why(text: str, error: type[RequestError], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        decode_inline(text)

    assert type(caught.value) is error


@given(st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"RIFF\x00\x10\x00\x00WEBPVP8 "]), st.binary())
def test_no_bytes_break_the_check(signature: bytes, rest: bytes) -> None:
    status = status_of(lambda: picture_from_bytes(signature + rest, LIMITS))

    assert status in (200, 400, 413, 415)


@given(st.text())
def test_no_text_breaks_the_decoding(text: str) -> None:
    assert status_of(lambda: decode_inline(text)) in (200, 400)


def status_of(attempt: Callable[[], object]) -> int:
    try:
        attempt()
    except JimengTasksError as error:
        return error.http_status
    return 200
