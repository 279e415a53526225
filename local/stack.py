"""Everything that `make run` starts: MongoDB, the simulator and an S3 server where none is named, the API, the pollers.

`running_stack` is the whole of it as one context manager; the settings of all its processes are those of the product,
so whatever the environment names is used instead of a part of our own.
"""

import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from jimeng_tasks.bootstrap import Container
from jimeng_tasks.exceptions import JimengTasksError
from jimeng_tasks.settings import Settings
from local.errors import LocalError
from local.parts import Part, start_parts, validated
from local.processes import Child, stop_all
from local.signals import deafen

HOST = "127.0.0.1"
READY_SECONDS = 30
NAP = 0.1
PROBE_SECONDS = 2  # between looks at the parts that are no children of ours
STEADY_SECONDS = 30  # a poller that ran so long starts its backoff anew
LONGEST_PAUSE = 30


def listen(port: int) -> socket.socket:
    """A socket bound to ``port`` of this machine, 0 for a free one; whoever inherits it may listen.

    Raises:
        LocalError: somebody listens there already.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        return listener
    except OSError as error:
        listener.close()
        raise LocalError(f"PORT {port} of {HOST} is not free ({error.strerror}): choose another") from None


@dataclass
class Supervised:
    """A poller that is started again when it dies, after pauses that double up to 30 s."""

    child: Child
    pause: float = 1.0
    started_at: float = 0.0
    due_at: float | None = 0.0

    def keep_alive(self) -> None:
        """Start the poller when its time has come."""
        now = time.monotonic()
        if self.child.is_running:
            return
        if self.due_at is None:
            self.pause = 1.0 if now - self.started_at > STEADY_SECONDS else min(self.pause * 2, LONGEST_PAUSE)
            self.due_at = now + self.pause
            print(f"{self.child.epitaph()}; it starts again in {self.pause:.0f} s", file=sys.stderr, flush=True)
        elif now >= self.due_at:
            self.child.start()
            self.started_at, self.due_at = now, None


@dataclass
class Stack:
    """The running whole; ``url`` is the API's address."""

    url: str
    settings: Settings
    parts: list[Part]
    api: Child
    pollers: list[Supervised]
    _probe_at: float = 0.0

    def watch(self) -> None:
        """Look after the processes: call it again and again.

        Raises:
            LocalError: a part that everything depends on has ended.
        """
        if not self.api.is_running:
            raise LocalError(self.api.last_words())
        if time.monotonic() >= self._probe_at:
            for part in self.parts:
                part.check()
            self._probe_at = time.monotonic() + PROBE_SECONDS
        for poller in self.pollers:
            poller.keep_alive()

    def wait_until_ready(self) -> None:
        """Return once the API answers.

        Raises:
            LocalError: it ended, or did not answer within 30 s.
        """
        deadline = time.monotonic() + READY_SECONDS
        while not _answers(f"{self.url}/ping"):
            self.watch()
            if time.monotonic() > deadline:
                raise LocalError(f"the API did not answer within {READY_SECONDS} s\n{self.api.output()[-2000:]}")
            time.sleep(NAP)


def _answers(address: str) -> bool:
    try:
        return requests.get(address, timeout=5).ok
    except requests.RequestException:
        return False


@contextmanager
def running_stack(environ: Mapping[str, str], listener: socket.socket, *, logs: Path, output: Path) -> Iterator[Stack]:
    """Run the stack inside the block; only in the main thread, whose death ends all its processes.

    The pollers' log goes to directory ``logs``, what each process prints to ``output``; both are made if missing.

    Raises:
        LocalError: a setting is wrong, or a part does not start; what was started is stopped.
    """
    validated(environ)
    output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as cleanup:
        try:
            environ, parts = start_parts(environ, output, cleanup)
            settings = validated(environ)
            _prepare(settings)
            stack = _processes(environ, settings, parts, listener, logs, output)
            cleanup.callback(stop_all, [stack.api, *(poller.child for poller in stack.pollers)])
            _hand_over(listener, stack.api)
            stack.wait_until_ready()
            yield stack
        finally:
            deafen()


def _prepare(settings: Settings) -> None:
    store = Container(settings).store
    try:
        store.prepare()
    except JimengTasksError as error:
        raise LocalError(f"the database cannot be prepared: {error}") from None


def _processes(
    environ: Mapping[str, str], settings: Settings, parts: list[Part], listener: socket.socket, logs: Path, output: Path
) -> Stack:
    port = listener.getsockname()[1]
    shared = {**environ, "PORT": str(port), "SERVICE_ID": ""}
    descriptor = listener.fileno()
    api = Child(
        "api", ["local.api", str(descriptor), str(logs)], environ=shared, output=output, descriptors=(descriptor,)
    )
    pollers = [
        Child(f"poller-{name}", ["local.poller", str(logs)], environ={**shared, "SERVICE_ID": name}, output=output)
        for name in (settings.known_services if settings.use_database_mode else ())
    ]
    return Stack(f"http://{HOST}:{port}", settings, parts, api, [Supervised(poller) for poller in pollers])


def _hand_over(listener: socket.socket, api: Child) -> None:
    """Let the API inherit the socket; listening only now, so that nobody's connection waits for a slow start."""
    try:
        listener.listen(512)
    except OSError:
        raise LocalError(f"PORT {listener.getsockname()[1]} was taken by somebody else meanwhile") from None
    api.start()
    listener.close()
