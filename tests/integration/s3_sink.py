"""An S3 server that forgets what it is sent, for uploads too large to keep."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class S3Sink(ThreadingHTTPServer):
    """Takes one upload at a time, counts its parts' bytes, and remembers of an object its size and ETag."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SinkHandler)
        self.parts: list[int] = []
        self.completed = False
        self.object: dict[int, tuple[int, bytes]] = {}

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

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        started = re.search(r"\?uploads", self.path)
        if started:
            self.server.object = {}
        self.server.completed = not started
        name = "InitiateMultipartUploadResult" if started else "CompleteMultipartUploadResult"
        self._reply(f"<{name}><UploadId>one</UploadId></{name}>")

    def do_PUT(self) -> None:
        number = re.search(r"partNumber=(\d+)", self.path)
        if number is None:
            self.server.object = {}
        size, digest = self._drain()
        self.server.parts.append(size)
        self.server.object[int(number[1]) if number else 1] = size, digest
        self._reply("")

    def do_HEAD(self) -> None:
        md5s = b"".join(digest for _, (_, digest) in sorted(self.server.object.items()))
        etag = f"{md5(md5s).hexdigest()}-{len(self.server.object)}"
        self._reply("", etag, sum(size for size, _ in self.server.object.values()))

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
        self.send_header("ETag", f'"{etag}"')
        self.send_header("Content-Length", str(len(text) if size is None else size))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass
