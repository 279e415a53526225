"""Servers that are slow on purpose hold no thread beyond the deadline."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from jimeng_tasks.exceptions import FetchFailed
from jimeng_tasks.media.source import GuardedSource
from tests.integration.media_cases import LIMITS
from tests.integration.rogue_server import Behaviour, RogueServer, trickle

MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42" + bytes(10_000)
HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SLOW_SERVERS: dict[str, Callable[[RogueServer], Behaviour]] = {
    "silent": lambda server: trickle(server, b"", every=60),
    "silent after the headers": lambda server: trickle(server, HEADERS + b"\r\n", every=60),
    "silent in the body": lambda server: trickle(server, HEADERS + b"\r\n" + MP4[:9000], every=60),
    "trickles the status line": lambda server: trickle(server, b"HTTP/1.1 2", every=0.05),
    "trickles a header": lambda server: trickle(server, HEADERS + b"X-A: ", every=0.05),
    "goes on to say continue": lambda server: trickle(server, b"", 0.05, b"HTTP/1.1 100 Continue\r\n\r\n"),
    "trickles the first bytes": lambda server: trickle(server, HEADERS + b"\r\n", every=0.05),
    "trickles the body": lambda server: trickle(server, HEADERS + b"\r\n" + MP4[:9000], every=0.05),
    "trickles a body without length": lambda server: trickle(server, b"HTTP/1.1 200 OK\r\n\r\n" + MP4[:9000], 0.05),
    "trickles a chunk's length": lambda server: trickle(server, CHUNKED + b"1", every=0.05, drop=b"0"),
    "trickles chunks": lambda server: trickle(server, CHUNKED, every=0.05, drop=b"1\r\na\r\n"),
}


@pytest.fixture
def source() -> GuardedSource:
    return GuardedSource(True, LIMITS, timeout=0.4, media_timeout=0.4)


def fetched(source: GuardedSource, url: str) -> bytes:
    with source.open(url) as stream:
        return stream.read()


@pytest.mark.parametrize("name", SLOW_SERVERS)
@pytest.mark.parametrize("kind", ["media", "reference"])
def test_a_slow_server_holds_nobody_beyond_the_deadline(
    server: RogueServer, source: GuardedSource, name: str, kind: str
) -> None:
    url = server.on("/v", SLOW_SERVERS[name](server)) + "?signature=canary"
    threads_before = threading.active_count()
    began = time.monotonic()

    with pytest.raises(FetchFailed, match=r"took longer than 0\.4 s|did not answer in time") as caught:
        fetched(source, url) if kind == "media" else source.read_picture(url)

    assert time.monotonic() - began < 1.2
    assert "canary" not in str(caught.value)
    assert threading.active_count() <= threads_before + 1  # the server's own


def test_a_trickling_tls_handshake_ends_with_the_deadline(source: GuardedSource) -> None:
    stopping = threading.Event()

    def trickle_server_hello() -> None:
        peer, _ = listener.accept()
        with peer, suppress(OSError):
            peer.sendall(bytes.fromhex("160303400002003ffc"))
            while not stopping.wait(0.05):
                peer.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle_server_hello)
        thread.start()
        began = time.monotonic()
        with pytest.raises(FetchFailed, match=r"took longer than 0\.4 s"):
            fetched(source, f"https://127.0.0.1:{listener.getsockname()[1]}/v")
        took = time.monotonic() - began
        stopping.set()
        thread.join()

    assert took < 1.2
