"""A TCP proxy in front of a mongod: connections are refused, cut, delayed or left half open, and replies get lost."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

MARKERS = (b"jimeng_free_", b"commitTransaction")
HEADER_BYTES = 4


class _Link:
    """One client's connection and ours to the server."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.is_abandoned = False
        self.loses_reply = False
        self._pumps = 2
        self._lock = threading.Lock()

    def leave(self) -> None:
        """One direction has ended: end the other, and close when both have."""
        self.reset()
        with self._lock:
            self._pumps -= 1
            if not self._pumps:
                self.client.close()
                self.server.close()

    def reset(self) -> None:
        for end in (self.client, self.server):
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)


class MongoProxy:
    """Forwards whole messages of MongoDB's protocol to ``target`` on this machine. ``delay`` is seconds per request."""

    def __init__(self, target: int) -> None:
        self.delay = 0.0
        self.seen = 0
        self.lost = 0
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._is_refusing = False
        self._links: list[_Link] = []
        self._threads: list[threading.Thread] = []
        self._flowing = threading.Event()
        self._flowing.set()
        self._to_lose = range(0)
        self._is_silent = False
        self._lock = threading.Lock()

    @property
    def uri(self) -> str:
        """An address by which the driver stays with this proxy."""
        return f"mongodb://127.0.0.1:{self._listener.getsockname()[1]}/?directConnection=true"

    @contextmanager
    def running(self) -> Iterator["MongoProxy"]:
        """Forward inside the block."""
        thread = threading.Thread(target=self._accept)
        thread.start()
        try:
            yield self
        finally:
            self.heal()
            self._listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            self._listener.close()
            self.cut()
            for pump in self._threads:
                pump.join()

    def refuse(self) -> None:
        """Cut everything and turn new connections away."""
        self._is_refusing = True
        self.cut()

    def cut(self) -> None:
        """Reset every connection."""
        for link in list(self._links):
            link.reset()

    def stall(self) -> None:
        """Let nothing through in either direction, without closing anything."""
        self._flowing.clear()

    def abandon(self) -> None:
        """Leave the open connections half open for ever, as a frozen container finds them; new ones work."""
        for link in self._links:
            link.is_abandoned = True

    def lose_replies(self, first: int, count: int, *, silently: bool = False) -> None:
        """Forward ``count`` task requests from number ``first`` on, then cut, or be silent, instead of replying."""
        with self._lock:
            self._is_silent = silently
            self.seen = self.lost = 0
            self._to_lose = range(first, first + count)

    def heal(self) -> None:
        """End every fault."""
        self.delay = 0.0
        self._is_refusing = False
        self._to_lose = range(0)
        self._flowing.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            link = _Link(client, server)
            self._links.append(link)
            for pump in (self._requests, self._replies):
                self._threads.append(threading.Thread(target=self._pump, args=(pump, link), daemon=True))
                self._threads[-1].start()

    def _pump(self, pump: Callable[[_Link], None], link: _Link) -> None:
        with suppress(OSError, EOFError):
            pump(link)
        link.leave()

    def _requests(self, link: _Link) -> None:
        while True:
            message = _message(link.client)
            self._flowing.wait()
            self._pause()
            if link.is_abandoned:
                continue
            link.loses_reply = self._is_to_lose(message)
            link.server.sendall(message)

    def _pause(self) -> None:
        until = time.monotonic() + self.delay
        while self.delay and time.monotonic() < until:
            time.sleep(0.02)

    def _replies(self, link: _Link) -> None:
        while True:
            message = _message(link.server)
            self._flowing.wait()
            if link.loses_reply and not self._is_silent:
                return
            link.is_abandoned |= link.loses_reply
            if not link.is_abandoned:
                link.client.sendall(message)

    def _is_to_lose(self, message: bytes) -> bool:
        if not any(marker in message for marker in MARKERS):
            return False
        with self._lock:
            number = self.seen
            self.seen += 1
            is_hit = number in self._to_lose
            self.lost += is_hit
        return is_hit


def _message(peer: socket.socket) -> bytes:
    head = _exactly(peer, HEADER_BYTES)
    return head + _exactly(peer, int.from_bytes(head, "little") - HEADER_BYTES)


def _exactly(peer: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = peer.recv(size - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)
