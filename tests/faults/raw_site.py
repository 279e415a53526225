"""A Jimeng of raw bytes over real sockets: it behaves well, keeps books, and says what a test puts into its mouth."""

import json
import re
import socket
import struct
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

GENERATE = "/mweb/v1/aigc_draft/generate"
HISTORY = "/mweb/v1/get_history_by_ids"
LOCAL_ITEMS = "/mweb/v1/get_local_item_list"
UPLOAD_TOKEN = "/mweb/v1/get_upload_token"
CONTENT_CHECK = "/mweb/v1/algo_proxy"
CREDIT = "/commerce/v1/benefits/user_credit"
APPLY, STORE, COMMIT = "ApplyImageUpload", "/upload/v1/", "CommitImageUpload"
UPLOADS = (UPLOAD_TOKEN, APPLY, STORE, COMMIT, CONTENT_CHECK)

SUCCESS, RUNNING = 50, 20
MEDIA = "https://media.example/a.png"


@dataclass(frozen=True)
class Asked:
    """A request: which call, whose, and its JSON."""

    call: str
    session: str
    body: Any

    def ids(self, name: str) -> list[str]:
        """The ids of a look-up."""
        return list(self.body.get(name) or [])


@dataclass(frozen=True)
class Wire:
    """Bytes to send, and what comes after them: ``close``, ``reset``, ``silence`` or a ``trickle`` of bytes."""

    data: bytes
    ending: str = "close"


type Speech = Callable[[Asked], Wire | None]


def envelope(data: Any, **fields: Any) -> Any:
    return {"ret": "0", "errmsg": "success", "systime": "1767225601", "logid": "LOG1", "data": data, **fields}


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def say(document: Any) -> Wire:
    """A complete, well-formed answer."""
    return Wire(http(json.dumps(document).encode()))


def image_record(history_id: str, submit_id: str, status: int = SUCCESS) -> Any:
    items = [{"image": {"large_images": [{"image_url": MEDIA, "width": 64, "height": 64}]}, "common_attr": {"id": "i"}}]
    return {
        "history_record_id": history_id,
        "submit_id": submit_id,
        "status": status,
        "fail_code": "",
        "fail_msg": "",
        "total_image_count": 1,
        "task": {"task_id": "t", "status": status, "history_id": history_id, "submit_id": submit_id},
        "item_list": items if status == SUCCESS else [],
    }


def video_record(history_id: str, submit_id: str) -> Any:
    preview = {"origin": {"video_url": "https://v1.vlabvod.com/preview"}}
    item = {"common_attr": {"id": "item-1"}, "video": {"transcoded_video": preview, "cover_url": MEDIA}}
    return image_record(history_id, submit_id) | {"item_list": [item]}


class RawSite:
    """``speech[call]`` may answer a call; where it gives None the site behaves well.

    ``jobs`` are the accepted jobs: submit id to history id. ``paid`` counts acceptances by submit id.
    """

    def __init__(self) -> None:
        self.speech: dict[str, Speech] = {}
        self.record: Callable[[str, str], Any] = image_record
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._stopping = threading.Event()
        self._hung_up = threading.Event()
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Begin again with empty books."""
        self._hung_up.clear()
        self.speech = {}
        self.record = image_record
        self.asked: list[Asked] = []
        self.jobs: dict[str, str] = {}
        self.paid: Counter[str] = Counter()
        self.looks: defaultdict[str, int] = defaultdict(int)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @contextmanager
    def running(self) -> Iterator["RawSite"]:
        """Serve inside the block."""
        thread = threading.Thread(target=self._serve)
        thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            self._hung_up.set()
            self._listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            self._listener.close()

    def hang_up(self) -> None:
        """End every trickle."""
        self._hung_up.set()

    def accept(self, submit_id: str) -> str:
        """Start a paid job."""
        with self._lock:
            self.paid[submit_id] += 1
            return self.jobs.setdefault(submit_id, str(4_000_000_000 + len(self.jobs)))

    def calls(self, name: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.call == name]

    # -- behaving well

    def plain(self, asked: Asked) -> Wire:
        if asked.call == GENERATE:
            return say(envelope({"aigc_data": {"history_record_id": self.accept(asked.body["submit_id"])}}))
        if asked.call == HISTORY:
            return say(envelope(self._records(asked)))
        return say(PLAIN.get(asked.call, envelope({})) | self._upload_hosts(asked))

    def _records(self, asked: Asked) -> dict[str, Any]:
        by_history = {history_id: submit_id for submit_id, history_id in self.jobs.items()}
        found = {key: self.record(key, by_history[key]) for key in asked.ids("history_ids") if key in by_history}
        found |= {key: self.record(self.jobs[key], key) for key in asked.ids("submit_ids") if key in self.jobs}
        return found

    def _upload_hosts(self, asked: Asked) -> dict[str, Any]:
        if asked.call != APPLY:
            return {}
        info = {"StoreUri": "tos-cn/1", "Auth": "auth"}
        return {"Result": {"UploadAddress": {"StoreInfos": [info], "UploadHosts": [self.address], "SessionKey": "sk"}}}

    # -- sockets

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            asked = _read(peer)
            if asked is None:
                return
            self.asked.append(asked)
            speech = self.speech.get(asked.call)
            wire = (speech(asked) if speech else None) or self.plain(asked)
            peer.sendall(wire.data)
            if wire.ending == "silence":
                self._stopping.wait(10)
            while wire.ending == "trickle" and not self._hung_up.wait(0.1):
                peer.sendall(b"a")
            if wire.ending == "reset":
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


PLAIN: dict[str, Any] = {
    UPLOAD_TOKEN: envelope(
        {"access_key_id": "AK", "secret_access_key": "SK", "session_token": "ST", "service_id": "tb4s082cfz"}
    ),
    STORE: {"code": 2000, "message": "Success"},
    COMMIT: {"Result": {"Results": [{"Uri": "tos-cn/1", "UriStatus": 2000}]}},
    CREDIT: envelope({"credit": {"gift_credit": 1, "purchase_credit": 2, "vip_credit": 3}}),
}


def _read(peer: socket.socket) -> Asked | None:
    head, _, body = _until_blank_line(peer)
    if not head:
        return None
    length = int((re.search(rb"(?i)\r\ncontent-length: (\d+)", head) or [b"", b"0"])[1])
    while len(body) < length:
        chunk = peer.recv(65536)
        if not chunk:
            return None
        body += chunk
    target = urlsplit(head.split(b" ")[1].decode())
    action = parse_qs(target.query).get("Action", [""])[0]
    call = action or (STORE if target.path.startswith(STORE) else target.path)
    session = (re.search(rb"sessionid=([^;\r]+)", head) or [b"", b""])[1].decode()
    return Asked(call, session, json.loads(body) if body.startswith(b"{") else None)


def _until_blank_line(peer: socket.socket) -> tuple[bytes, bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = peer.recv(65536)
        if not chunk:
            return b"", b"", b""
        data += chunk
    return data.partition(b"\r\n\r\n")
