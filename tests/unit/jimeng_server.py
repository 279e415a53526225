"""A server that answers exactly what a test says, byte by byte, and the adapter pointed at it."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.settings import Settings

Behaviour = Callable[[socket.socket], None]


@dataclass
class Request:
    """What the server read: head and body, and on which of its connections."""

    head: str
    body: bytes
    connection: int

    @property
    def path(self) -> str:
        return self.head.split(" ")[1].partition("?")[0]

    @property
    def query(self) -> str:
        return self.head.split(" ")[1].partition("?")[2]

    def header(self, name: str) -> list[str]:
        lines = [line.partition(":") for line in self.head.split("\r\n")[1:]]
        return [value.strip() for key, _, value in lines if key.lower() == name.lower()]


@dataclass
class Server:
    """Behaviours are used up in order; the last one stays."""

    listener: socket.socket
    behaviours: list[Behaviour]
    requests: list[Request] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        for number in range(1000):
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(peer, number), daemon=True).start()

    def _talk(self, peer: socket.socket, number: int) -> None:
        with peer, suppress(OSError):
            while request := _read_request(peer, number):
                self.requests.append(request)
                self.behaviours[min(len(self.requests), len(self.behaviours)) - 1](peer)


def _read_request(peer: socket.socket, number: int) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (chunk := peer.recv(65536)):
            return None
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    request = Request(head.decode(), body, number)
    missing = int((request.header("Content-Length") or ["0"])[0]) - len(body)
    while missing > 0 and (chunk := peer.recv(missing)):
        request.body += chunk
        missing -= len(chunk)
    return request


@contextmanager
def answering(*behaviours: Behaviour) -> Iterator[Server]:
    """A server on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener, list(behaviours))
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def client(address: str, *, timeout: int = 5, now: float = 1767225600.0, **settings: Any) -> JimengWeb:
    """The adapter with every host replaced by one address."""
    changes: dict[str, Any] = {
        "jimeng_base_url": address,
        "jimeng_imagex_url": address,
        "jimeng_timeout": timeout,
    } | settings
    return JimengWeb(Settings(**changes), now=lambda: now)


def submit(web: JimengWeb, account: str = "tok", kind: TaskType = TaskType.IMAGE) -> str:
    """Prepare and submit the simplest job."""
    return web.submit(account, web.prepare(account, str(uuid4()), kind, {"prompt": "x"}, []))


def raw(status: str, body: bytes, *headers: str) -> Behaviour:
    """A complete answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return lambda peer: peer.sendall("\r\n".join(lines).encode() + body)


def answer(body: Any, status: str = "200 OK", *headers: str) -> Behaviour:
    """A complete JSON answer."""
    return raw(status, json.dumps(body).encode(), "Content-Type: application/json", *headers)


def ok(data: Any, **fields: Any) -> Behaviour:
    """A successful envelope."""
    return answer({"ret": "0", "errmsg": "success", "logid": "LOG1", "data": data, **fields})


def reset(peer: socket.socket) -> None:
    """Cut the connection hard."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def hang_up(peer: socket.socket) -> None:
    """Close the connection without an answer."""
    peer.close()
