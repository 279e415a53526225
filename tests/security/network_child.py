"""`python -m tests.security.network_child`, in a network namespace of its own: tries addresses on the guard.

Every address of `ADDRESSES` belongs to this machine here, private and public ones alike, and one HTTP server answers
on all of them, so whatever the guard lets through is really reached, and seen. JSON cases in, JSON outcomes out.
"""

import io
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from PIL import Image

from jimeng_tasks.domain.catalog import ReferenceLimits
from jimeng_tasks.domain.provider import Picture
from jimeng_tasks.exceptions import JimengTasksError
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.media.source import GuardedSource
from jimeng_tasks.settings import Settings
from tests.security.tiny_dns import TinyDns

PUBLIC, PUBLIC_V6 = "93.184.216.34", "2606:2800:220:1::34"
ADDRESSES = (PUBLIC, PUBLIC_V6, "10.0.0.5", "100.64.0.5", "169.254.169.254", "192.168.7.7", "172.31.0.9", "fd00::5")
PORT = 8080
LIMITS = ReferenceLimits(
    formats=frozenset({"png"}), max_bytes=200_000, min_side=16, max_side=4096, max_pixels=4_000_000
)
ZONE = {
    "public.test": [[PUBLIC]],
    "public6.test": [[PUBLIC_V6]],
    "loopback.test": [["127.0.0.1"]],
    "lan.test": [["10.0.0.5"]],
    "shared.test": [["100.64.0.5"]],
    "metadata.test": [["169.254.169.254"]],
    "loopback6.test": [["::1"]],
    "unique6.test": [["fd00::5"]],
    "mapped.test": [["::ffff:10.0.0.5"]],
    "mixed.test": [[PUBLIC, "127.0.0.1"]],
    "mixed6.test": [[PUBLIC, "::1"]],
    **{f"turns{index}.test": [[PUBLIC], ["127.0.0.1"]] for index in range(8)},
}
hits: list[str] = []


class Everywhere(BaseHTTPRequestHandler):
    """A picture at every path, but /to/TARGET redirects, and a lying Jimeng whose store host is in the token."""

    def do_GET(self) -> None:
        host = self.connection.getsockname()[0].removeprefix("::ffff:")
        hits.append(host)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", unquote(self.path.removeprefix("/to/")))
            self._end(b"")
        else:
            self.send_response(200)
            self._end(_png())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        hits.append(f"POST {self.connection.getsockname()[0].removeprefix('::ffff:')} {len(body)}")
        self.send_response(200)
        self._end(b'{"code": 2000}')

    def _end(self, body: bytes) -> None:
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True


def _png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48)).save(buffer, "PNG")
    return buffer.getvalue()


class LyingJimeng(BaseHTTPRequestHandler):
    """Gives upload keys, and names ``store`` as the host to send the picture to."""

    store = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        keys = {"access_key_id": "a", "secret_access_key": "b", "session_token": "c", "service_id": "d"}
        done = {"Results": [{"Uri": "tos/x", "UriStatus": 2000}]}
        self._say({"ret": "0", "data": keys, "Result": done})

    def do_GET(self) -> None:
        slot = {"StoreInfos": [{"StoreUri": "tos/x", "Auth": "auth"}], "SessionKey": "s", "UploadHosts": [self.store]}
        self._say({"Result": {"UploadAddress": slot}})

    def _say(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def _upload(store: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), LyingJimeng) as jimeng:
        LyingJimeng.store = store
        threading.Thread(target=jimeng.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        address = f"http://127.0.0.1:{jimeng.server_port}"
        web = JimengWeb(Settings(jimeng_base_url=address, jimeng_imagex_url=address, jimeng_timeout=3))
        try:
            web.upload_reference("us-token", Picture(data=_png(), format="png", width=64, height=48))
        finally:
            jimeng.shutdown()


def _open(source: GuardedSource) -> Callable[[str], None]:
    def read(url: str) -> None:
        with source.open(url) as stream:
            stream.read()

    return read


def main() -> None:
    """Set the namespace up, try every case, write ``[outcome, message, hosts that were reached]`` for each."""
    for address in ADDRESSES:
        form = ["/128", "nodad"] if ":" in address else ["/32"]
        subprocess.run(["ip", "addr", "add", address + form[0], "dev", "lo", *form[1:]], check=True)
    TinyDns("127.0.0.53", ZONE).start()
    threading.Thread(target=Server(("::", PORT), Everywhere).serve_forever, daemon=True).start()
    source = GuardedSource(False, LIMITS, timeout=3, media_timeout=3)
    ways = {"check": source.check, "read": source.read_picture, "open": _open(source), "upload": _upload}
    outcomes = []
    for way, url in json.load(sys.stdin):
        hits.clear()
        try:
            ways[way](url)
            outcome, message = "done", ""
        except JimengTasksError as error:
            outcome, message = type(error).__name__, str(error)
        outcomes.append([outcome, message, list(hits)])
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main()
