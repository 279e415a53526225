"""What a fault of the connection means: surely not accepted, or nobody knows. Real sockets on both sides."""

import gzip
import json
import socket
import threading
import time
import zlib
from pathlib import Path

import pytest
import requests

from jimeng_tasks.domain.provider import Picture
from jimeng_tasks.exceptions import NotSent, OutcomeUnknown, ProviderError, RateLimited, ServerRefused
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.jimeng.connections import new_session
from jimeng_tasks.settings import Settings
from tests.unit.jimeng_server import Behaviour, Request, answer, answering, client, hang_up, ok, raw, reset, submit

ACCEPTED = {"aigc_data": {"history_record_id": "90010002000300"}}


def cut_short(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b'{"ret": "0", "data": {}}')
    peer.close()


def cut_in_chunks(peer: socket.socket) -> None:
    peer.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"ret\r\n')
    reset(peer)


def silent(peer: socket.socket) -> None:
    time.sleep(3)


def trickling_body(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    trickle(peer, b" ")


def trickling_head(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\n")
    trickle(peer, b"X-More: 1\r\n")


def trickle(peer: socket.socket, piece: bytes) -> None:
    for _ in range(50):
        peer.sendall(piece)
        time.sleep(0.1)


def redirect(peer: socket.socket) -> None:
    raw("302 Found", b"", "Location: /elsewhere")(peer)


def huge(peer: socket.socket) -> None:
    bomb = gzip.compress(b'{"ret":"0","x":"' + b"0" * 20_000_000 + b'"}')
    raw("200 OK", bomb, "Content-Encoding: gzip")(peer)


HTML = b"<!DOCTYPE html><html><body>Bad Gateway</body></html>"
UNKNOWN: dict[str, Behaviour] = {
    "reset": reset,
    "closed without an answer": hang_up,
    "shorter than announced": cut_short,
    "cut in the middle of chunks": cut_in_chunks,
    "502 with HTML": raw("502 Bad Gateway", HTML, "Content-Type: text/html"),
    "500 with an envelope": answer({"ret": "1010", "errmsg": "busy"}, "500 Internal Server Error"),
    "503 empty": raw("503 Service Unavailable", b""),
    "504": raw("504 Gateway Timeout", HTML),
    "408": raw("408 Request Timeout", b""),
    "425": answer({"ret": "1000"}, "425 Too Early"),
    "redirect": redirect,
    "200 with HTML": raw("200 OK", HTML, "Content-Type: text/html"),
    "200 empty": raw("200 OK", b""),
    "204": raw("204 No Content", b""),
    "200 with a list": answer([1]),
    "200 without ret": answer({"message": "success"}),
    "ret is null": answer({"ret": None, "data": ACCEPTED}),
    "ret is true": answer({"ret": True, "data": ACCEPTED}),
    "ret is a word": answer({"ret": "ok", "data": ACCEPTED}),
    "too deep to read": raw("200 OK", b'{"ret":' + b"[" * 200_000),
    "not UTF-8": raw("200 OK", b'{"ret": "0\xff\xfe"}'),
    "too large": huge,
    "broken compression": raw("200 OK", b"no gzip at all", "Content-Encoding: gzip"),
    "accepted without an id": ok({"aigc_data": {"status": 20}}),
    "accepted without data": ok(None),
    "400 that says success": answer({"ret": "0", "data": ACCEPTED}, "400 Bad Request"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_submission_may_have_been_accepted(name: str) -> None:
    with answering(UNKNOWN[name]) as server:
        with pytest.raises(OutcomeUnknown):
            submit(client(server.address))
        assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [silent, trickling_body, trickling_head])
def test_a_slow_answer_is_given_up_in_time(behaviour: Behaviour) -> None:
    with answering(behaviour) as server:
        web = client(server.address, timeout=1)
        started = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            submit(web)
        assert time.monotonic() - started < 2
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", ["400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found"])
def test_a_client_error_without_a_reason_was_surely_not_accepted(status: str) -> None:
    with answering(raw(status, HTML)) as server, pytest.raises(ServerRefused, match=status[:3]):
        submit(client(server.address))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Retry-After: 5", 5),
        ("Retry-After: Thu, 01 Jan 2026 00:00:30 GMT", 30),
        ("Retry-After: Wed, 31 Dec 2025 00:00:00 GMT", 0),
        ("Retry-After: soon", None),
        ("Retry-After: " + "9" * 5000, None),
        ("X-Other: 1", None),
    ],
)
def test_a_rate_limit_tells_how_long_to_wait(header: str, seconds: int | None) -> None:
    with answering(raw("429 Too Many Requests", HTML, header)) as server, pytest.raises(RateLimited) as refusal:
        submit(client(server.address, now=1767225600.0))
    assert refusal.value.retry_after == seconds


def test_a_refused_connection_was_surely_not_accepted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(NotSent):
        submit(client(address))


def test_an_unknown_host_was_surely_not_accepted() -> None:
    with pytest.raises(NotSent):
        submit(client("http://no-such-host.invalid"))


def test_a_proxy_that_is_not_there_was_surely_not_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"
    session = new_session([])
    session.proxies = {"http": proxy, "https": proxy}
    for scheme in ("http", "https"):
        web = JimengWeb(Settings(jimeng_base_url=f"{scheme}://jimeng.invalid"), session)
        with pytest.raises(NotSent):
            submit(web)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_answers_are_read(encoding: str) -> None:
    body = json.dumps({"ret": 0, "data": ACCEPTED}).encode()
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    with answering(raw("200 OK", packed, f"Content-Encoding: {encoding}")) as server:
        assert submit(client(server.address)) == "90010002000300"
        assert server.requests[0].header("Accept-Encoding") == ["gzip, deflate"]


def test_the_paid_call_gets_a_connection_of_its_own() -> None:
    with answering(ok({}), ok({}), ok(ACCEPTED), ok(ACCEPTED)) as server:
        web = client(server.address)
        web.poll("tok", ["1"])
        web.poll("tok", ["1"])
        submit(web)
        submit(web)
        first, second, third, fourth = server.requests
    assert first.connection == second.connection
    assert len({first.connection, third.connection, fourth.connection}) == 3


def test_a_paid_call_survives_that_idle_connections_died() -> None:
    def answer_once_and_die_later(peer: socket.socket) -> None:
        ok({})(peer)
        threading.Timer(0.1, reset, (peer,)).start()

    with answering(answer_once_and_die_later, ok(ACCEPTED)) as server:
        web = client(server.address)
        web.poll("tok", ["1"])
        time.sleep(0.3)
        assert submit(web) == "90010002000300"


def _sent(request: Request, name: str) -> str:
    return ",".join(request.header(name))


def test_nothing_of_one_account_reaches_another() -> None:
    setting = answer({"ret": "0", "data": {}}, "200 OK", "Set-Cookie: sessionid=stolen; Path=/")
    with answering(setting) as server:
        web = client(server.address)
        web.poll("first", ["1"])
        web.poll("us-second", ["1"])
        cookies = [_sent(request, "Cookie") for request in server.requests]
    assert "sessionid=first;" in cookies[0]
    assert "sessionid=second;" in cookies[1]
    assert "stolen" not in cookies[1]
    assert "first" not in cookies[1]


def test_a_netrc_entry_does_not_replace_a_signature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else")
    monkeypatch.setenv("NETRC", str(netrc))
    keys = {"access_key_id": "AK", "secret_access_key": "SK", "session_token": "ST", "service_id": "svc"}
    with answering(ok(keys), answer({})) as server, pytest.raises(ServerRefused):
        client(server.address).upload_reference("tok", Picture(data=b"x", format="png", width=1, height=1))
    assert server.requests[1].header("Authorization")[0].startswith("AWS4-HMAC-SHA256 Credential=AK/")


def test_one_client_serves_many_threads() -> None:
    with answering(ok(ACCEPTED)) as server:
        web = client(server.address)
        found: list[str] = []
        threads = [threading.Thread(target=lambda: found.append(submit(web))) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == ["90010002000300"] * 16


def test_a_session_of_the_callers_is_used() -> None:
    with answering(ok(ACCEPTED)) as server, requests.Session() as session:
        session.headers["X-Mine"] = "yes"
        web = JimengWeb(Settings(jimeng_base_url=server.address), session)
        assert submit(web) == "90010002000300"
        assert server.requests[0].header("X-Mine") == ["yes"]


def test_errors_tell_the_kind_of_fault_but_no_address() -> None:
    with answering(reset) as server, pytest.raises(ProviderError) as fault:
        submit(client(server.address))
    assert "127.0.0.1" not in str(fault.value)
    assert "webId" not in str(fault.value)
