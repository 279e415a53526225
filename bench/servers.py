"""HTTP servers that benchmarks talk to, each in a process of its own: a slow Jimeng, media, a storage that forgets."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from tempfile import TemporaryFile
from threading import Lock
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from .workers import CONTEXT

MP4_HEAD = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom" + bytes(1 << 12)
RUNNING_STATUS = 20
START_SECONDS = 30


class Link:
    """A network link that lets so many bytes through per second, whatever the number of connections.

    ``QUEUE_SECONDS`` of bytes wait in it, as in a router's queue: it does not stand still when a sender wakes late.
    """

    PIECE = 1 << 18
    QUEUE_SECONDS = 0.05

    def __init__(self, bytes_per_second: float) -> None:
        self._bytes_per_second = bytes_per_second
        self._free_at = 0.0
        self._lock = Lock()

    def carry(self, size: int) -> None:
        """Return when this many bytes have passed."""
        with self._lock:
            begins_at = max(self._free_at, time.monotonic() - self.QUEUE_SECONDS)
            self._free_at = begins_at + size / self._bytes_per_second
            delay = self._free_at - time.monotonic()
        time.sleep(max(0.0, delay))


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections open and says nothing; ``link`` is what bodies pass through."""

    link: Link | None = None
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def take(self, *, keep: bool, seen: Callable[[memoryview], object] = len) -> bytes:
        """Read the body; without ``keep`` it is thrown away piece by piece, each of which ``seen`` is shown."""
        left = int(self.headers.get("Content-Length", 0))
        if keep:
            return self.rfile.read(left)
        bucket = memoryview(bytearray(min(left, Link.PIECE if self.link else 1 << 20)))
        while left:
            size = self.rfile.readinto(bucket[:left])
            left -= size
            seen(bucket[:size])
            if self.link:
                self.link.carry(size)
        return b""

    def answer(self, body: bytes = b"", **headers: str) -> None:
        """Send a good answer."""
        self.send_response(200)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class SlowJimeng(QuietHandler):
    """Answers get_history_by_ids after 200 ms: every job is running (jimeng-wire 5.2)."""

    seconds = 0.2

    def do_POST(self) -> None:
        """One look at any number of jobs."""
        asked = json.loads(self.take(keep=True))
        time.sleep(self.seconds)
        records = {name: {"history_record_id": name, "status": RUNNING_STATUS} for name in asked["history_ids"]}
        self.answer(json.dumps({"ret": "0", "errmsg": "success", "data": records}).encode())


class Media(QuietHandler):
    """``/video.mp4?bytes=N``: a file of N bytes that begins like a video."""

    def do_GET(self) -> None:
        """Send it as fast as it is taken."""
        left = int(parse_qs(urlsplit(self.path).query)["bytes"][0])
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.end_headers()
        self.wfile.write(MP4_HEAD)
        # A file of holes sent by the kernel costs almost nothing, so that this server is not what one waits for.
        with TemporaryFile() as file:
            left -= len(MP4_HEAD)
            file.truncate(left)
            piece = Link.PIECE if self.link else left
            for offset in range(0, left, piece):
                self.connection.sendfile(file, offset, min(piece, left - offset))
                if self.link:
                    self.link.carry(piece)


class Sink(QuietHandler):
    """An S3 server that reads all bytes and keeps only what tells whether they arrived: sizes and MD5 sums."""

    parts: ClassVar[dict[str, dict[int, tuple[int, bytes]]]] = {}

    def do_POST(self) -> None:
        """Begin or end a multipart upload."""
        self.take(keep=False)
        started = re.search(r"\?uploads", self.path)
        if started:
            self.parts[self._object] = {}
        name = "InitiateMultipartUploadResult" if started else "CompleteMultipartUploadResult"
        self.answer(f"<{name}><UploadId>one</UploadId></{name}>".encode(), ETag=self._etag())

    def do_PUT(self) -> None:
        """Take an object or a part."""
        number = re.search(r"[?&]partNumber=(\d+)", self.path)
        size = int(self.headers["Content-Length"])
        digest = md5(usedforsecurity=False)
        self.take(keep=False, seen=digest.update)
        parts = self.parts.setdefault(self._object, {}) if number else {}
        parts[int(number[1]) if number else 0] = size, digest.digest()
        self.parts[self._object] = parts
        self.answer(ETag=f'"{digest.hexdigest()}"')

    def do_HEAD(self) -> None:
        """Size and ETag of an object."""
        self.send_response(200)
        self.send_header("Content-Length", str(sum(size for size, _ in self.parts[self._object].values())))
        self.send_header("ETag", self._etag())
        self.end_headers()

    @property
    def _object(self) -> str:
        return urlsplit(self.path).path

    def _etag(self) -> str:
        parts = self.parts.get(self._object, {})
        if list(parts) == [0]:
            return f'"{parts[0][1].hex()}"'
        digests = b"".join(digest for _, (_, digest) in sorted(parts.items()))
        return f'"{md5(digests, usedforsecurity=False).hexdigest()}-{len(parts)}"'


@contextmanager
def serving(handler: type[QuietHandler], bytes_per_second: float | None = None) -> Iterator[str]:
    """Run a server with this handler inside the block, behind a link if one is wanted; yields its address."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_serve, args=(theirs, handler, bytes_per_second), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(START_SECONDS):
            raise TimeoutError(f"the server for {handler.__name__} did not start")
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()
        process.join()


def _serve(pipe: Connection, handler: type[QuietHandler], bytes_per_second: float | None) -> None:
    handler.link = Link(bytes_per_second) if bytes_per_second else None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    pipe.send(server.server_port)
    server.serve_forever()
