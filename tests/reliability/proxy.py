"""A TCP proxy that counts the calls that pass it and kills the caller at one of them.

HTTP without pipelining alternates: bytes from the caller after an answer, or at the start, begin a call; the first
bytes from the server after that mean that the server has worked on it.
"""

import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from selectors import EVENT_READ, DefaultSelector
from urllib.parse import urlsplit

CHUNK = 65_536
REQUEST_LINE = re.compile(rb"[A-Z]+ [^ ?]*")
PATIENCE = 20  # seconds until the caller's pid must be known


@dataclass(frozen=True)
class Trap:
    """Kill at the ``number``-th call (from 1): ``before`` it reaches the server, else before its answer comes back."""

    number: int
    before: bool


class CallProxy:
    """Listens on a port of its own and passes everything on to ``target``, a URL."""

    def __init__(self, target: str, trap: Trap | None) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 80)
        self._trap = trap
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._lock = threading.Lock()
        self._victim = 0
        self._armed = threading.Event()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.calls: list[str] = []
        self.killed_at: str | None = None
        threading.Thread(target=self._serve, daemon=True).start()

    def arm(self, pid: int) -> None:
        """From now on process ``pid`` is the one to kill; calls wait until there is one."""
        self._victim = pid
        self._armed.set()

    def disarm(self) -> None:
        """Let everything pass from now on."""
        self._trap = None

    def close(self) -> None:
        """Accept no more connections."""
        # Closing alone does not wake a thread that waits in accept.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                threading.Thread(target=self._pass, args=(caller,), daemon=True).start()

    def _pass(self, caller: socket.socket) -> None:
        self._armed.wait(PATIENCE)
        with caller, suppress(OSError), socket.create_connection(self._target) as server:
            _Exchange(self, caller, server).run()

    def request(self, head: bytes) -> int:
        """Count a call; returns its number, or 0 when it must not go on."""
        with self._lock:
            self.calls.append(_label(head))
            number = len(self.calls)
        return 0 if self._falls(number, before=True) else number

    def answered(self, number: int) -> bool:
        """Whether the answer of call ``number`` may go back."""
        return not self._falls(number, before=False)

    def _falls(self, number: int, *, before: bool) -> bool:
        if self._trap != Trap(number, before):
            return False
        self._trap = None
        self.killed_at = self.calls[number - 1]
        with suppress(ProcessLookupError):
            os.kill(self._victim, signal.SIGKILL)
        return True


def _label(head: bytes) -> str:
    """Method and path; a body that waited for "100 Continue" is a call of its own."""
    found = REQUEST_LINE.match(head)
    return found[0].decode() if found else "the body"


@dataclass
class _Exchange:
    """One connection and the call that it is at."""

    proxy: CallProxy
    caller: socket.socket
    server: socket.socket
    number: int = field(default=0)

    def run(self) -> None:
        with DefaultSelector() as selector:
            selector.register(self.caller, EVENT_READ)
            selector.register(self.server, EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if not (self._from_caller() if key.fileobj is self.caller else self._from_server()):
                        return

    def _from_caller(self) -> bool:
        data = self.caller.recv(CHUNK)
        if data and not self.number:
            self.number = self.proxy.request(data)
            if not self.number:
                return False
        self.server.sendall(data)
        return bool(data)

    def _from_server(self) -> bool:
        data = self.server.recv(CHUNK)
        if data and self.number:
            if not self.proxy.answered(self.number):
                return False
            self.number = 0
        self.caller.sendall(data)
        return bool(data)


@contextmanager
def calls_through(target: str, trap: Trap | None) -> Iterator[CallProxy]:
    """A proxy inside the block."""
    proxy = CallProxy(target, trap)
    try:
        yield proxy
    finally:
        proxy.close()
