"""Generated files are read from real servers, good and bad: all of a file or an error, never half of it."""

import gzip
import hashlib
import socket
import threading
import traceback
from pathlib import Path

import pytest

from jimeng_tasks.exceptions import FetchFailed
from jimeng_tasks.media.source import GuardedSource
from tests.integration.media_cases import LIMITS, MEBIBYTE, SIGNED, png
from tests.integration.rogue_server import Behaviour, RogueServer, answer, raw, redirect

MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42" + bytes(range(256)) * 4000


def fetched(source: GuardedSource, url: str, size: int = 100_000) -> bytes:
    with source.open(url) as stream:
        return b"".join(iter(lambda: stream.read(size), b""))


# -- good servers


@pytest.mark.parametrize("size", [1, 7, 8192, 8193, 100_000, 10 * MEBIBYTE, -1])
@pytest.mark.parametrize("framing", [{"chunked": True}, {"chunked": False}, {"sized": False}])
def test_a_stream_gives_every_byte_whatever_size_is_asked_for(
    server: RogueServer, local: GuardedSource, size: int, framing: dict[str, bool]
) -> None:
    body = MP4[:20_000] if size < 10 else MP4
    url = server.on("/v", answer(body, **framing))  # type: ignore[arg-type]

    assert fetched(local, url, size) == body


def test_a_read_is_short_only_at_the_end(server: RogueServer, local: GuardedSource) -> None:
    """A multipart upload takes a short part for the last one."""
    url = server.on("/v", answer(MP4, chunked=True))

    with local.open(url) as stream:
        lengths = [len(stream.read(300_000)) for _ in range(5)]

    assert lengths == [300_000, 300_000, 300_000, len(MP4) - 900_000, 0]


def test_type_and_extension_come_from_the_bytes(server: RogueServer, local: GuardedSource) -> None:
    url = server.on("/photo.jpg", answer(png(), Content_Type="image/jpeg"))

    with local.open(url + SIGNED) as stream:
        assert (stream.content_type, stream.extension) == ("image/png", "png")
    assert server.requests == ["/photo.jpg" + SIGNED]
    assert server.headers["accept-encoding"] == "identity"


def test_three_redirects_are_followed_and_four_are_not(server: RogueServer, local: GuardedSource) -> None:
    server.on("/4", answer(MP4))
    for hop, status in enumerate((301, 302, 307, 308)):
        server.on(f"/{hop}", redirect(f"/{hop + 1}", status))

    assert fetched(local, server.url("/1")) == MP4
    with pytest.raises(FetchFailed, match="redirects more than 3 times"):
        fetched(local, server.url("/0"))


def test_no_login_or_proxy_of_the_environment_is_used(
    server: RogueServer, local: GuardedSource, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    logins = tmp_path / "netrc"
    logins.write_text("machine 127.0.0.1 login canary password canary\n")
    monkeypatch.setenv("NETRC", str(logins))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    assert fetched(local, server.on("/v", answer(MP4))) == MP4
    assert "authorization" not in server.headers


# -- bad servers


BAD_ANSWERS: list[tuple[str, Behaviour, str]] = [
    ("404", answer(MP4, status=404), "answered with status 404"),
    ("500", answer(MP4, status=500), "answered with status 500"),
    ("206", answer(MP4, status=206), "answered with status 206"),
    ("204", answer(b"", status=204), "answered with status 204"),
    ("redirect without target", answer(b"", status=302), "answered with status 302"),
    ("html", answer(b"<html><h1>canary</h1></html>" * 99, Content_Type="video/mp4"), "is not an image or a video"),
    ("json", answer(b'{"error": "canary"}', Content_Type="image/png"), "is not an image or a video"),
    ("empty", answer(b""), "is not an image or a video"),
    ("gzip", answer(gzip.compress(MP4), Content_Encoding="gzip"), "compressed body"),
    ("br", answer(MP4, Content_Encoding="identity, br"), "compressed body"),
    ("cut off", answer(MP4, declared=len(MP4) + 1), "broke off before its end"),
    ("cut off early", answer(MP4[:100], declared=len(MP4)), "broke off before its end"),
    (
        "cut off chunk",
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n", MP4[:70_000]),
        "broke off",
    ),
    (
        "no last chunk",
        raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n", MP4[:256], b"\r\n"),
        "broke off",
    ),
    ("bad chunk", raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", MP4[:70]), "broke off"),
    (
        "two lengths",
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\n", MP4),
        "could not be reached",
    ),
    ("no answer", raw(), "could not be reached"),
    ("no http", raw(b"SSH-2.0-OpenSSH_9.6\r\n"), "could not be reached"),
    ("endless header", raw(b"HTTP/1.1 200 OK\r\nX: ", b"a" * 200_000), "could not be reached"),
    ("too large by header", answer(MP4, declared=4 * 1024**3 + 1), "is larger than 4294967296 bytes"),
]


@pytest.mark.parametrize(
    ("behaviour", "says"), [case[1:] for case in BAD_ANSWERS], ids=[case[0] for case in BAD_ANSWERS]
)
def test_a_bad_answer_is_no_media_file(
    server: RogueServer, local: GuardedSource, behaviour: Behaviour, says: str
) -> None:
    url = server.on("/v", behaviour)

    with pytest.raises(FetchFailed, match=says) as caught:
        fetched(local, url + SIGNED)

    assert str(caught.value).startswith(url + " ")
    assert "canary" not in str(caught.value)
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_a_body_that_turns_out_too_large_is_cut(server: RogueServer) -> None:
    source = GuardedSource(True, LIMITS, timeout=5, max_media_bytes=500_000)
    url = server.on("/v", answer(MP4, chunked=True))

    for size in (100_000, -1):
        with pytest.raises(FetchFailed, match="larger than 500000 bytes"):
            fetched(source, url, size)


def test_a_server_without_tls_is_a_failure_of_its_own(local: GuardedSource) -> None:
    def refuse() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(FetchFailed, match="does not speak TLS"):
            fetched(local, f"https://127.0.0.1:{listener.getsockname()[1]}/v")
        thread.join()


def test_nobody_listening_is_a_failure(server: RogueServer, local: GuardedSource) -> None:
    with RogueServer().running() as gone:
        url = gone.url("/v")

    with pytest.raises(FetchFailed, match="could not be reached"):
        fetched(local, url)


def test_several_threads_share_a_source(server: RogueServer, local: GuardedSource) -> None:
    url = server.on("/v", answer(MP4))
    digests: list[str] = []

    def work() -> None:
        digests.append(hashlib.sha256(fetched(local, url)).hexdigest())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert digests == [hashlib.sha256(MP4).hexdigest()] * 8
