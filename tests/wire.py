"""A way to a server on this machine, over real TCP, that a test can cut."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHUNK = 65536  # bytes
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Wire:
    """What connects to ``host``:``port`` reaches 127.0.0.1:``target`` for as long as `running`.

    Containers come in this way: they cannot reach what listens on 127.0.0.1 here.
    """

    def __init__(self, target: int, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._target = target
        self._listener = socket.create_server((host, port), backlog=128)
        self._lock = threading.Lock()
        self._open: list[tuple[socket.socket, socket.socket]] = []
        self._forgotten: set[socket.socket] = set()

    @property
    def address(self) -> str:
        """``host:port``."""
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    @contextmanager
    def running(self) -> Iterator["Wire"]:
        """Forward connections inside the block."""
        threading.Thread(target=self._serve, daemon=True).start()
        try:
            yield self
        finally:
            self._listener.shutdown(socket.SHUT_RDWR)  # which wakes the thread that waits for a connection
            self._listener.close()
            self.cut()

    def cut(self, *, silently: bool = False) -> int:
        """Cut every connection that is open, and return how many there were; new ones work.

        ``silently``: the caller's side learns of it only when it sends something, as after a NAT gateway has
        forgotten the connection.
        """
        with self._lock:
            pairs, self._open = self._open, []
            if silently:
                self._forgotten.update(outside for outside, _ in pairs)
        for outside, inside in pairs:
            _reset(inside)
            if not silently:
                _reset(outside)
        return len(pairs)

    def _serve(self) -> None:
        with suppress(OSError):  # the listener is closed at the end of the block
            while True:
                outside, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(outside,), daemon=True).start()

    def _connect(self, outside: socket.socket) -> None:
        with outside, suppress(OSError), socket.create_connection(("127.0.0.1", self._target)) as inside:
            pair = (outside, inside)
            with self._lock:
                self._open.append(pair)
            back = threading.Thread(target=self._pump, args=(inside, outside, outside), daemon=True)
            back.start()
            self._pump(outside, inside, outside)
            back.join()
            with self._lock, suppress(ValueError):
                self._forgotten.discard(outside)
                self._open.remove(pair)

    def _pump(self, source: socket.socket, target: socket.socket, outside: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                target.sendall(data)
        if outside in self._forgotten:
            if source is outside:
                _reset(outside)
            return
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def _reset(connection: socket.socket) -> None:
    """Close so that the other side gets a reset; a thread that reads from it wakes up."""
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()
