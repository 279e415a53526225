"""An S3 server that forgets what it is sent, for uploads too large to keep."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class S3Sink(ThreadingHTTPServer):
    """Takes one multipart upload at a time and counts its parts' bytes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SinkHandler)
        self.parts: list[int] = []
        self.completed = False

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
        self._drain()
        started = re.search(r"\?uploads", self.path)
        self.server.completed = not started
        name = "InitiateMultipartUploadResult" if started else "CompleteMultipartUploadResult"
        self._reply(f"<{name}><UploadId>one</UploadId></{name}>")

    def do_PUT(self) -> None:
        self.server.parts.append(self._drain())
        self._reply("")

    def _drain(self) -> int:
        left = total = int(self.headers["Content-Length"])
        while left:
            left -= len(self.rfile.read(min(left, 1 << 20)))
        return total

    def _reply(self, text: str) -> None:
        self.send_response(200)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass
