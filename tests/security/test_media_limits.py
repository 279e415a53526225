"""What a host may cost: bytes, pixels, time and redirects are bounded, whatever it declares and however it sends."""

import struct
import time
import zlib
from collections.abc import Iterator

import psutil
import pytest

from jimeng_tasks.domain.catalog import ReferenceLimits
from jimeng_tasks.exceptions import FetchFailed, JimengTasksError, TooLarge, UnsupportedMedia
from jimeng_tasks.media.source import MAX_REDIRECTS, GuardedSource
from tests.integration.picture_bytes import png
from tests.integration.rogue_server import RogueServer, answer, redirect, trickle

LIMITS = ReferenceLimits(
    formats=frozenset({"png", "jpeg", "webp"}), max_bytes=200_000, min_side=16, max_side=4096, max_pixels=4_000_000
)
MEBIBYTE = 1024 * 1024


@pytest.fixture
def server() -> Iterator[RogueServer]:
    with RogueServer().running() as running:
        yield running


@pytest.fixture
def source() -> GuardedSource:
    return GuardedSource(True, LIMITS, timeout=1, media_timeout=1, max_media_bytes=MEBIBYTE)


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few hundred bytes that claims, and would unpack to, this many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10**5))) + chunk(b"IEND", b"")
    )


def copy(source: GuardedSource, url: str) -> None:
    """Read a generated file as a transfer does."""
    with source.open(url) as stream:
        while stream.read(65_536):
            pass


@pytest.mark.parametrize("size", [(30_000, 30_000), (2**31 - 1, 2**31 - 1), (4096, 4096), (4097, 16)])
def test_a_decompression_bomb_is_refused_by_its_header(
    server: RogueServer, source: GuardedSource, size: tuple[int, int]
) -> None:
    before = psutil.Process().memory_info().rss
    with pytest.raises(TooLarge, match=r"at most (4096|4000000)"):
        source.read_picture(server.on("/a", answer(bomb(*size))))
    assert psutil.Process().memory_info().rss - before < 20 * MEBIBYTE


@pytest.mark.parametrize(
    "data", [bomb(0, 0), bomb(1, 1), bomb(16, 16)[:20], b"\x89PNG\r\n\x1a\n", b"GIF89a" + bytes(9)]
)
def test_a_picture_without_sense_is_refused(server: RogueServer, source: GuardedSource, data: bytes) -> None:
    with pytest.raises(UnsupportedMedia):
        source.read_picture(server.on("/a", answer(data)))


def test_a_compressed_body_is_not_unpacked(server: RogueServer, source: GuardedSource) -> None:
    packed = zlib.compress(bytes(50 * MEBIBYTE))
    url = server.on("/a", answer(packed, Content_Encoding="deflate"))
    with pytest.raises(FetchFailed, match="compressed"):
        source.read_picture(url)


@pytest.mark.parametrize("declared", [None, 10**15])
def test_a_file_over_the_limit_ends_the_transfer(
    server: RogueServer, source: GuardedSource, declared: int | None
) -> None:
    body = png(64, 48) + bytes(2 * MEBIBYTE)
    url = server.on("/a", answer(body, declared=declared))
    with pytest.raises(FetchFailed, match="larger than"):
        copy(source, url)


def test_as_many_redirects_as_allowed_are_followed_and_no_more(server: RogueServer, source: GuardedSource) -> None:
    server.on("/0", answer(png(64, 48)))
    for step in range(1, 6):
        server.on(f"/{step}", redirect(f"/{step - 1}"))
    assert source.read_picture(server.url(f"/{MAX_REDIRECTS}")).width == 64
    server.requests.clear()
    with pytest.raises(FetchFailed, match=f"more than {MAX_REDIRECTS} times"):
        source.read_picture(server.url(f"/{MAX_REDIRECTS + 1}"))
    assert len(server.requests) == MAX_REDIRECTS + 1


def test_a_redirect_to_itself_ends(server: RogueServer, source: GuardedSource) -> None:
    with pytest.raises(FetchFailed, match="redirects more than"):
        source.read_picture(server.on("/a", redirect("/a")))


@pytest.mark.parametrize(
    "begin", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 302 Found\r\nLocation: /a\r\nX: "]
)
def test_a_host_that_trickles_costs_a_second(server: RogueServer, source: GuardedSource, begin: bytes) -> None:
    url = server.on("/a", trickle(server, begin, every=0.05))
    started = time.monotonic()
    with pytest.raises(JimengTasksError):
        source.read_picture(url)
    assert time.monotonic() - started < 4
