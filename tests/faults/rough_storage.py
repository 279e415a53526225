"""A proxy in front of a real S3 server that refuses, dawdles, cuts, lies and corrupts as a test wants."""

import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

HOP_HEADERS = {"connection", "transfer-encoding", "content-length", "server", "date"}


@dataclass
class Answer:
    """What the real server said, to be changed on its way."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Trouble:
    """What befalls a request: each part is off unless it is given.

    ``status`` (with ``code``) is answered in its place; ``cut_after`` bytes of its body the connection is reset;
    ``wait`` seconds it takes; ``corrupt`` changes the body before it is stored; ``change`` changes the answer.
    """

    status: int = 0
    code: str = "InternalError"
    cut_after: int | None = None
    wait: float = 0.0
    corrupt: Callable[[bytes], bytes] | None = None
    change: Callable[[Answer], None] | None = None


def kind_of(method: str, target: str) -> str:
    """``put``, ``create``, ``part``, ``complete``, ``abort`` or ``other``."""
    query = parse_qs(urlsplit(target).query, keep_blank_values=True)
    names = {
        ("PUT", False): "put",
        ("PUT", True): "part",
        ("POST", True): "complete",
        ("DELETE", True): "abort",
    }
    if method == "POST" and "uploads" in query:
        return "create"
    return names.get((method, "uploadId" in query), "other")


class RoughStorage:
    """``troubles[kind]`` befall the requests of a kind, the first so many times (see `befall`)."""

    def __init__(self, endpoint: str) -> None:
        self.seen: Counter[str] = Counter()
        self._target = urlsplit(endpoint)
        self._troubles: dict[str, tuple[Trouble, int]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def befall(self, trouble: Trouble, kinds: tuple[str, ...], times: int = 10_000) -> None:
        """The next so many requests of each kind have this trouble."""
        self._troubles |= dict.fromkeys(kinds, (trouble, times))

    def heal(self) -> None:
        """End every trouble."""
        self._troubles = {}
        self.seen.clear()

    @contextmanager
    def running(self) -> Iterator["RoughStorage"]:
        """Serve inside the block."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def trouble_for(self, kind: str) -> Trouble:
        """The trouble of the next request of a kind."""
        self.seen[kind] += 1
        trouble, times = self._troubles.get(kind, (Trouble(), 1))
        if kind in self._troubles:
            self._troubles[kind] = (trouble, times - 1)
        return trouble if times > 0 else Trouble()

    def forward(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        """Ask the real server."""
        connection = HTTPConnection(self._target.hostname or "", self._target.port, timeout=30)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        storage = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                self.close_connection = True
                with suppress(ConnectionError):
                    _answer(storage, self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve  # noqa: N815 - the names of the standard library

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


def _answer(storage: RoughStorage, request: BaseHTTPRequestHandler) -> None:
    trouble = storage.trouble_for(kind_of(request.command, request.path))
    length = int(request.headers.get("Content-Length", "0"))
    if trouble.cut_after is not None:
        request.rfile.read(min(length, trouble.cut_after))
        request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return
    body = request.rfile.read(length)
    time.sleep(trouble.wait)
    if trouble.status:
        text = f"<Error><Code>{trouble.code}</Code><Message>no</Message></Error>".encode()
        _send(request, Answer(trouble.status, {"Content-Type": "application/xml"}, text))
        return
    body = trouble.corrupt(body) if trouble.corrupt else body
    headers = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "expect")}
    answer = storage.forward(request.command, request.path, headers | {"Content-Length": str(len(body))}, body)
    if trouble.change:
        trouble.change(answer)
    _send(request, answer)


def _send(request: BaseHTTPRequestHandler, answer: Answer) -> None:
    request.send_response(answer.status)
    for name, value in answer.headers.items():
        if name.lower() not in HOP_HEADERS:
            request.send_header(name, value)
    told = answer.headers.get("Content-Length", "0") if request.command == "HEAD" else str(len(answer.body))
    request.send_header("Content-Length", told)
    request.send_header("Connection", "close")
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(answer.body)
