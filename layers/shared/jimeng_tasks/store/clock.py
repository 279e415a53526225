"""Clocks: the database's own time, on which hosts with wrong clocks agree, and this host's time."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

from jimeng_tasks.domain.ports import Clock
from jimeng_tasks.exceptions import StoreUnavailable

if TYPE_CHECKING:
    from pymongo import MongoClient

    from .documents import Document

REFRESH_SECONDS = 60


class SystemClock(Clock):
    """The time of this host."""

    def now(self) -> int:
        """Whole epoch seconds."""
        return int(time.time())


class DatabaseClock(Clock):
    """The time of the database, as this host's time plus an offset that is measured once a minute.

    ``base`` is this host's time in seconds. A container that was frozen measures again on its first use, since its
    host's time has jumped. While the database is away the last known offset goes on being used.
    """

    def __init__(self, client: "MongoClient[Document]", base: Callable[[], float] = time.time) -> None:
        self._client = client
        self._base = base
        self._offset: float | None = None
        self._measured_at = 0.0
        self._lock = Lock()

    def now(self) -> int:
        """Whole epoch seconds.

        Raises:
            StoreUnavailable: the database did not answer and never has.
        """
        # Late, so that the mode without MongoDB does not load its driver.
        from .mongo.connection import counted

        known = self._offset
        # Whoever finds another thread measuring takes what is known: the database may take seconds not to answer.
        with counted():
            is_mine = self._lock.acquire(blocking=known is None)
        if not is_mine:
            return int(self._base() + (known or 0.0))
        try:
            return int(self._base() + self._current_offset())
        finally:
            self._lock.release()

    def _current_offset(self) -> float:
        if self._offset is not None and 0 <= self._base() - self._measured_at < REFRESH_SECONDS:
            return self._offset
        try:
            self._offset = self._measure()
        except StoreUnavailable:
            if self._offset is None:
                raise
        self._measured_at = self._base()
        return self._offset

    def _measure(self) -> float:
        from .mongo.connection import outages_reported

        with outages_reported(self._client):
            before = self._base()
            answer = self._client.admin.command("hello")
            after = self._base()
        database_time: datetime = answer["localTime"].replace(tzinfo=UTC)
        return database_time.timestamp() - (before + after) / 2
