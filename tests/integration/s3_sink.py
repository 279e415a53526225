"""An S3 server that forgets what it is sent, for uploads too large to keep."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Thread
from urllib.parse import urlsplit


class S3Sink(ThreadingHTTPServer):
    """Counts the bytes of all parts, and remembers of an object its size and ETag.

    Parts of keys that begin with ``hang`` are not answered before ``let_go``.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SinkHandler)
        self.parts: list[int] = []
        self.completed = False
        self.objects: defaultdict[str, dict[int, tuple[int, bytes]]] = defaultdict(dict)
        self.let_go = Event()
        self.forbids_reading = False
        self.sends_etags = True
        self._hanging = 0
        self._changed = Condition()

    def hang(self) -> None:
        """Hold a request back until ``let_go``."""
        with self._changed:
            self._hanging += 1
            self._changed.notify_all()
        self.let_go.wait(60)

    def wait_for_hanging(self, number: int) -> None:
        """Return when so many requests are held back."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._hanging >= number, 30)

    @contextmanager
    def running(self) -> Iterator["S3Sink"]:
        thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()
            thread.join()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _SinkHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: S3Sink

    @property
    def _object(self) -> dict[int, tuple[int, bytes]]:
        """Sizes and MD5s of the parts of the object that the request is about."""
        return self.server.objects[urlsplit(self.path).path]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        started = re.search(r"\?uploads", self.path)
        if started:
            self._object.clear()
        self.server.completed = not started
        name = "InitiateMultipartUploadResult" if started else "CompleteMultipartUploadResult"
        self._reply(f"<{name}><UploadId>one</UploadId></{name}>")

    def do_PUT(self) -> None:
        number = re.search(r"partNumber=(\d+)", self.path)
        if number is None:
            self._object.clear()
        size, digest = self._drain()
        self.server.parts.append(size)
        self._object[int(number[1]) if number else 1] = size, digest
        if "/hang" in self.path:
            self.server.hang()
        self._reply("")

    def do_DELETE(self) -> None:
        self.send_response(204)
        self.end_headers()

    def do_HEAD(self) -> None:
        if self.server.forbids_reading:
            self.send_response(403)
            self.end_headers()
            return
        md5s = b"".join(digest for _, (_, digest) in sorted(self._object.items()))
        etag = f"{md5(md5s).hexdigest()}-{len(self._object)}"
        self._reply("", etag, sum(size for size, _ in self._object.values()))

    def _drain(self) -> tuple[int, bytes]:
        left = total = int(self.headers["Content-Length"])
        digest = md5()
        while left:
            data = self.rfile.read(min(left, 1 << 20))
            digest.update(data)
            left -= len(data)
        return total, digest.digest()

    def _reply(self, text: str, etag: str = "e", size: int | None = None) -> None:
        self.send_response(200)
        if self.server.sends_etags:
            self.send_header("ETag", f'"{etag}"')
        self.send_header("Content-Length", str(len(text) if size is None else size))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass
