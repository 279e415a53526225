"""A real HTTP server on this machine that behaves exactly as badly as a test wants."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

type Behaviour = Callable[[BaseHTTPRequestHandler], None]


class RogueServer:
    """Answers each path by the behaviour that was set for it; the query is ignored."""

    def __init__(self) -> None:
        self.routes: dict[str, Behaviour] = {}
        self.requests: list[str] = []
        self.headers: dict[str, str] = {}
        self._stopping = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    def on(self, path: str, behaviour: Behaviour) -> str:
        """Set the behaviour of a path; returns its address."""
        self.routes[path] = behaviour
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def pause(self, seconds: float) -> bool:
        """Sleep, but not past the end of the test; True when the server is being stopped."""
        return self._stopping.wait(seconds)

    @contextmanager
    def running(self) -> Iterator["RogueServer"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        rogue = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.close_connection = True
                rogue.requests.append(self.path)
                rogue.headers = {name.lower(): value for name, value in self.headers.items()}
                with suppress(ConnectionError):
                    rogue.routes[self.path.partition("?")[0]](self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


def answer(
    body: bytes,
    *,
    status: int = 200,
    declared: int | None = None,
    chunked: bool = False,
    sized: bool = True,
    **headers: str,
) -> Behaviour:
    """Answer with ``body``; ``declared`` is a Content-Length that may lie, ``sized=False`` leaves it out."""

    def behave(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        if chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        elif sized:
            handler.send_header("Content-Length", str(len(body) if declared is None else declared))
        handler.send_header("Connection", "close")
        handler.end_headers()
        if chunked:
            handler.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
        else:
            handler.wfile.write(body)

    return behave


def redirect(target: str, status: int = 302) -> Behaviour:
    return answer(b"moved", status=status, Location=target)


def raw(*pieces: bytes) -> Behaviour:
    """Write these bytes as they are, status line and all, and close."""

    def behave(handler: BaseHTTPRequestHandler) -> None:
        for piece in pieces:
            handler.wfile.write(piece)

    return behave


def trickle(server: RogueServer, before: bytes, every: float, drop: bytes = b"a") -> Behaviour:
    """Write ``before``, then one more small piece every so many seconds, for ever."""

    def behave(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(before)
        while not server.pause(every):
            handler.wfile.write(drop)

    return behave
