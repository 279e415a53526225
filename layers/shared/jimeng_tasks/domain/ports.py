"""Protocols of everything else that use cases reach outside for: time, the store, media, storage, the kick."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from .provider import Picture
from .statistics import TaskStats
from .task import Result, Task
from .workload import Server, TaskRef, Workload


class Clock(Protocol):
    """Time as all hosts agree on it."""

    def now(self) -> int:
        """Whole epoch seconds."""


class TaskStore(Protocol):
    """Keeps tasks, results and servers, and enforces the invariants of the life cycle.

    Times are epoch seconds and come from the caller's `Clock`. Every call may raise `StoreUnavailable`.
    """

    def prepare(self) -> None:
        """Create what the store needs (collections, indexes). Repeatable; not needed before every use."""

    def ping(self) -> None:
        """Return when the store can serve a read and a write."""

    def within(self, seconds: float) -> AbstractContextManager[object]:
        """Inside the block all calls together take at most so many seconds; then they raise `StoreUnavailable`.

        The time between the calls does not count.
        """

    # -- the API's side

    def submit(self, task: Task) -> Task:
        """Insert a new task; if its id is taken already, return the stored task instead.

        Raises:
            StoreUnavailable: also while the store cannot keep a second task with the same id out.
        """

    def get(self, task_id: str) -> Task | None:
        """The task with this id; like claimed ones perhaps without its input pictures, which may be large."""

    def references(self, task_id: str) -> list[str]:
        """Addresses of a task's input pictures, in order."""

    def hand_out(self, task_id: str, now: int, grace: int) -> Result | None:
        """Give a result away: in one atomic step remove it and set the task's ``consumed_at``.

        With ``grace`` seconds above 0 the first call marks it instead, and the result is given again until that many
        seconds have passed; then it is gone.
        """

    # -- the pollers' side

    def survey(self, server_id: str, pending_limit: int, task_ids: Collection[str] | None = None) -> Workload:
        """All running tasks of a service and its oldest ``pending_limit`` pending ones.

        With ``task_ids``, of the pending ones only those; the running ones hold slots, whoever asks.
        """

    def claim_pending(
        self, server_id: str, refs: Sequence[TaskRef], slots: Sequence[int], now: int, lease: int
    ) -> list[Task]:
        """Move due pending tasks to ``processing``, the n-th on the n-th slot, each with a fresh claim.

        Sets ``claim_id``, ``slot``, ``started_at``, ``deadline_at``, ``submit_phase`` PREPARING, a fresh
        ``internal_params.submit_id`` if it has none, and ``next_poll_at`` = ``now + lease``. A task that another
        poller was quicker to take is left out, and so is one past its deadline; at the first slot that is taken the
        rest waits, so that no task starts before one that waited longer.
        """

    def claim_due(self, refs: Sequence[TaskRef], now: int, lease: int) -> list[Task]:
        """Take a fresh claim on running tasks that are still due, with ``next_poll_at`` = ``now + lease``."""

    def claim_overdue(self, now: int, limit: int, lease: int, task_ids: Collection[str] | None = None) -> list[Task]:
        """Claim up to ``limit`` active tasks of any service whose deadline has passed and that nobody holds.

        Also gives active documents written by the Node service the fields that it did not know.
        """

    def save(self, before: Task, after: Task) -> None:
        """Write the progress of a claimed task: fenced by ``before``'s claim and status.

        Raises:
            ClaimLost: another poller owns the task now, or it has ended; nothing was written.
        """

    def save_many(self, changes: Sequence[tuple[Task, Task]]) -> int:
        """`save` for many tasks in one call; returns how many claims were lost."""

    def finish(self, before: Task, after: Task, result: Result) -> None:
        """End a claimed task and write its one result, both or neither.

        Raises:
            ClaimLost: another poller owns the task now, or it has ended; nothing was written.
        """

    # -- servers and upkeep

    def heartbeat(self, server: Server, owner: str, lease_until: int) -> bool:
        """Record a sign of life and take or renew the service lease for ``owner``.

        Returns False, with nothing written, while another owner's lease runs.
        """

    def release_service(self, server_id: str, owner: str) -> None:
        """Give the service lease back if ``owner`` holds it."""

    def servers(self) -> list[Server]:
        """Every service that ever sent a heartbeat."""

    def claim_housekeeping(self, now: int, every: int) -> bool:
        """True for one caller in ``every`` seconds among all pollers of the deployment."""

    def clean(self, now: int, task_retention: int) -> int:
        """Delete results past ``expires_at``, and terminal tasks older than ``task_retention`` s; returns how many."""

    def stats(self, server_id: str | None, now: int) -> TaskStats:
        """Counts for operators, of one service or of all."""


class MediaStream(Protocol):
    """Bytes of one media file on their way; ``content_type`` and ``extension`` are read from the bytes."""

    content_type: str
    extension: str

    def read(self, size: int = -1, /) -> bytes:
        """``size`` bytes, fewer only at the end; without ``size`` all the rest.

        Raises:
            FetchFailed: the transfer was cut short.
        """


class MediaSource(Protocol):
    """Reads addresses that callers or providers gave, and only such as the SSRF guard allows."""

    def open(self, url: str) -> AbstractContextManager[MediaStream]:
        """Open a generated picture or video as a stream.

        Raises:
            UrlForbidden: the guard forbids the address.
            FetchFailed: it does not answer with an image or a video.
        """

    def read_picture(self, url: str) -> Picture:
        """Read a reference picture (http, https or data URI) into memory.

        Raises:
            UrlForbidden, FetchFailed, UnsupportedMedia, TooLarge
        """

    def check(self, url: str) -> None:
        """Refuse a malformed or forbidden reference address without reading it.

        Raises:
            UrlForbidden, UnsupportedMedia, TooLarge
        """


class MediaStorage(Protocol):
    """Our own object storage."""

    def store(
        self, key: str, content_type: str, chunks: "ChunkReader", on_progress: Callable[[], None] = lambda: None
    ) -> str:
        """Stream one object to ``key``; returns its public address. Nothing is stored unless all of it was read.

        ``on_progress`` is called whenever bytes were read or sent, perhaps by several threads; what it raises ends the
        transfer and comes through.

        Raises:
            StorageError: the storage refused or failed.
        """


class ChunkReader(Protocol):
    """The part of `MediaStream` (or of a file) that a storage reads."""

    def read(self, size: int = -1, /) -> bytes:
        """``size`` bytes, fewer only at the end; without ``size`` all the rest."""


class Kick(Protocol):
    """Wakes the poller of a service, best effort: it never raises and never delays the caller by more than 1 s."""

    def __call__(self, server_id: str, task_id: str) -> None:
        """Ask the poller of ``server_id`` to look at its pending tasks now."""


class Metrics(Protocol):
    """Counts what happens, for dashboards and alarms."""

    def count(self, name: str, value: float = 1, **dimensions: str) -> None:
        """Add ``value`` to the counter ``name``."""

    def seconds(self, name: str, value: float, **dimensions: str) -> None:
        """Record a duration in seconds."""


class IdSource(Protocol):
    """Where fresh ids come from."""

    def __call__(self) -> str:
        """A new uuid4 as text."""
