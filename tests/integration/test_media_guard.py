"""Reference pictures and the guard over every address that a caller gives.

What a test on one machine cannot show is a fetch that succeeds under the guard: every address here is private.
"""

import base64

import pytest

from jimeng_tasks.exceptions import FetchFailed, TooLarge, UnsupportedMedia, UrlForbidden
from jimeng_tasks.media.source import GuardedSource
from tests.integration.media_cases import LIMITS, MEBIBYTE, SIGNED, png
from tests.integration.rogue_server import Behaviour, RogueServer, answer, redirect, trickle

MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42" + bytes(10_000)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def guarded() -> GuardedSource:
    return GuardedSource(False, LIMITS, timeout=1, media_timeout=1)


def fetched(source: GuardedSource, url: str) -> bytes:
    with source.open(url) as stream:
        return stream.read()


# -- reference pictures


def test_a_reference_picture_comes_with_kind_and_size(server: RogueServer, local: GuardedSource) -> None:
    data = png()
    url = server.on("/a", answer(data, Content_Type="text/plain"))

    picture = local.read_picture(url)

    assert (picture.data, picture.format, picture.width, picture.height) == (data, "png", 64, 48)


def test_a_data_uri_needs_no_server(guarded: GuardedSource) -> None:
    data = png()

    picture = guarded.read_picture("data:image/jpeg;base64," + base64.b64encode(data).decode())

    assert (picture.data, picture.format) == (data, "png")


@pytest.mark.parametrize(
    ("behaviour", "error", "says"),
    [
        (answer(png(600, 600)), TooLarge, r"the picture has \d{6} bytes; at most 200000"),
        (answer(png(600, 600), chunked=True), TooLarge, "at most 200000"),
        (answer(b"<html>canary</html>"), UnsupportedMedia, "of no known picture format; allowed are jpeg, png, webp"),
        (answer(MP4[:5000]), UnsupportedMedia, "a mp4 file; allowed are jpeg, png, webp"),
        (answer(png(8, 8)), UnsupportedMedia, "8x8 pixels; each side must have at least 16"),
        (answer(b"\xef\xbf\xbdPNG\r\n\x1a\n"), UnsupportedMedia, "decoded as text on the way"),
        (answer(b""), FetchFailed, "sent an empty body"),
        (answer(b"gone canary", status=410), FetchFailed, "answered with status 410"),
        (answer(png(), declared=5000 + len(png())), FetchFailed, "broke off before its end"),
    ],
)
def test_a_bad_reference_is_refused(
    server: RogueServer, local: GuardedSource, behaviour: Behaviour, error: type[Exception], says: str
) -> None:
    url = server.on("/a", behaviour)

    with pytest.raises(error, match=says) as caught:
        local.read_picture(url + SIGNED)

    assert "canary" not in str(caught.value)


def test_a_huge_reference_is_not_read_to_its_end(server: RogueServer, local: GuardedSource) -> None:
    sent = 0

    def endless(handler: object) -> None:
        nonlocal sent
        handler.wfile.write(CHUNKED)  # type: ignore[attr-defined]
        while not server.pause(0):
            handler.wfile.write(b"10000\r\n" + bytes(65536) + b"\r\n")  # type: ignore[attr-defined]
            sent += 65536

    with pytest.raises(TooLarge, match="at most 200000"):
        local.read_picture(server.on("/a", endless))

    assert sent < 32 * MEBIBYTE


# -- the guard


PRIVATE = [
    "http://127.0.0.1:{port}/v",
    "http://localhost:{port}/v",
    "http://127.1:{port}/v",
    "http://2130706433:{port}/v",
    "http://0x7f.0.0.1:{port}/v",
    "http://0177.0.0.1:{port}/v",
    "http://0:{port}/v",
    "http://[::ffff:127.0.0.1]:{port}/v",
    "https://127.0.0.1:{port}/v",
    "http://[::1]:{port}/v",
    "http://[::127.0.0.1]:{port}/v",
    "http://[fec0::1]:{port}/v",
    "http://[64:ff9b::7f00:1]:{port}/v",
    "http://169.254.169.254/latest/meta-data/iam/",
    "http://0.0.0.0:{port}/v",
    "http://user:canary@127.0.0.1:{port}/v",
    "file:///etc/passwd",
    "ftp://127.0.0.1/v",
]


@pytest.mark.parametrize("pattern", PRIVATE)
def test_a_private_address_is_refused_at_the_post_and_never_asked(
    server: RogueServer, guarded: GuardedSource, pattern: str
) -> None:
    server.on("/v", answer(png()))
    url = pattern.format(port=server.url("").rpartition(":")[2])

    for attempt in (guarded.check, guarded.read_picture, lambda url: fetched(guarded, url)):
        with pytest.raises(UrlForbidden) as caught:
            attempt(url + SIGNED)
        assert "canary" not in str(caught.value)

    assert server.requests == []


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/v", "http://u:p@127.0.0.1/v", "http://[::1/v"]
)
def test_a_redirect_to_a_forbidden_address_is_refused(server: RogueServer, local: GuardedSource, target: str) -> None:
    url = server.on("/v", redirect(target))

    with pytest.raises(UrlForbidden, match=f"^{url} redirects to an address that is not allowed$"):
        local.read_picture(url)


def test_the_body_of_a_redirect_is_not_read(server: RogueServer, local: GuardedSource) -> None:
    server.on("/v", answer(MP4))
    url = server.on("/r", trickle(server, b"HTTP/1.1 302 Found\r\nLocation: /v\r\n\r\n", every=0.01, drop=bytes(65536)))

    assert fetched(local, url) == MP4


def test_check_lets_a_name_pass_that_does_not_resolve_now(guarded: GuardedSource) -> None:
    guarded.check("https://nowhere.invalid/a.png")

    with pytest.raises(FetchFailed, match="could not be reached"):
        guarded.read_picture("https://nowhere.invalid/a.png")


def test_check_reads_nothing(server: RogueServer, local: GuardedSource) -> None:
    local.check(server.url("/v"))

    assert server.requests == []


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        ("data:image/png;base64,*", UrlForbidden),
        ("data:image/png;base64,AAAA", UnsupportedMedia),
        ("data:image/png;base64," + "A" * 400_000, TooLarge),
    ],
)
def test_check_refuses_a_bad_data_uri(guarded: GuardedSource, uri: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        guarded.check(uri)
