"""A Jimeng, a media host and an object storage in one that fail in every way, and repeat in their answers whatever
they were sent: headers, cookies, addresses, bodies."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class EchoingSite(BaseHTTPRequestHandler):
    """The prompt of a job says how it shall go: refuse, server, html, failed, done."""

    protocol_version = "HTTP/1.1"
    signature = ""
    address = ""

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def do_HEAD(self) -> None:
        self._handle()

    def _handle(self) -> None:
        self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        found: Callable[[], None] = self._routes().get(path, self._fail)
        found()

    def _routes(self) -> dict[str, Callable[[], None]]:
        return {
            "/mweb/v1/aigc_draft/generate": self._generate,
            "/mweb/v1/get_history_by_ids": self._history,
            "/mweb/v1/get_upload_token": self._upload_keys,
            "/commerce/v1/benefits/user_credit": lambda: self._refuse("1015"),
            "/media/odd.png": self._odd_headers,
        }

    @property
    def _echo(self) -> str:
        return f"{self.path} {dict(self.headers.items())} {self._body[:2000].decode(errors='replace')}"

    def _generate(self) -> None:
        sent = json.loads(self._body)
        ways: dict[str, Callable[[], None]] = {
            "refuse": lambda: self._refuse("1000"),
            "server": lambda: self._refuse("5001"),
            "html": lambda: self._say(500, f"<html>{self._echo}</html>".encode()),
        }
        way = next((name for name in ways if f"way-{name}" in self._body.decode()), "")
        kind = "failed" if b"way-failed" in self._body else "done"
        accepted = {"ret": "0", "data": {"aigc_data": {"history_record_id": f"{kind}-{sent['submit_id'][:8]}"}}}
        ways.get(way, lambda: self._say_json(accepted))()

    def _history(self) -> None:
        records: Json = {}
        for name in json.loads(self._body).get("history_ids") or []:
            urls = [f"{self.address}/media/{index}?x-signature={self.signature}" for index in ("a.png", "odd.png")]
            items = [{"image": {"large_images": [{"image_url": url}]}} for url in urls]
            records[name] = {"status": 50, "history_record_id": name, "item_list": items}
            if name.startswith("failed"):
                session = re.search(r"sessionid=(\w+)", self.headers["Cookie"])
                echo = {"fail_code": session and session[1], "fail_msg": self._echo}
                echo["fail_starling_message"] = self._echo
                records[name] = {"status": 30, "history_record_id": name, "item_list": [], **echo}
        self._say_json({"ret": "0", "data": records})

    def _upload_keys(self) -> None:
        names = ("access_key_id", "secret_access_key", "session_token")
        self._say_json({"ret": "0", "data": {name: f"{self.signature}-{name}" for name in names}})

    def _refuse(self, ret: str) -> None:
        log_id = self.headers.get("Cookie", "")
        self._say_json(
            {"ret": ret, "errmsg": self._echo, "logid": log_id, "data": {"fail_starling_message": self._echo}}
        )

    def _odd_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nnot a header at all\r\nContent-Length: 3\r\n\r\nabc")
        self.close_connection = True

    def _fail(self) -> None:
        fault = f"<Error><Code>AccessDenied</Code><Message>{self._echo}</Message></Error>"
        self._say(403, fault.encode())

    def _say_json(self, document: Json) -> None:
        self._say(200, json.dumps(document).encode())

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def echoing_site(signature: str) -> Iterator[str]:
    """Serve on a free port; signed addresses and upload keys in the answers hold ``signature``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), EchoingSite)
    server.daemon_threads = True
    EchoingSite.signature, EchoingSite.address = signature, f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield EchoingSite.address
    server.shutdown()
    thread.join()
    server.server_close()
