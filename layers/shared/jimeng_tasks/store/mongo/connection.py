"""The client, the collections, and the one place where the driver's errors become the product's."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate
from uuid import uuid4

import pymongo
from pymongo import MongoClient
from pymongo.errors import ConfigurationError, ConnectionFailure, OperationFailure

from jimeng_tasks.domain.ports import IdSource
from jimeng_tasks.exceptions import SettingsError, StoreUnavailable
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.tokens import PLAIN, TokenVault

TASKS = "jimeng_free_generation_tasks"
RESULTS = "jimeng_free_generation_results"
SERVERS = "jimeng_free_servers"
UPKEEP = "jimeng_free_upkeep"


def connect(uri: str, *, timeout_ms: int = 4000) -> MongoClient[Document]:
    """A client that connects on first use; a process needs one. Any store call takes at most ``timeout_ms``.

    Idle connections are dropped after a minute, since those of a frozen Lambda container die silently.

    Raises:
        SettingsError: the address is malformed.
    """
    try:
        return MongoClient(
            uri,
            appname="jimeng-tasks",
            connect=False,
            maxPoolSize=8,
            maxIdleTimeMS=60_000,
            serverSelectionTimeoutMS=3000,
            connectTimeoutMS=3000,
            timeoutMS=timeout_ms,
            retryReads=True,
            retryWrites=True,
            readPreference="primary",
            w="majority",
        )
    except (ConfigurationError, ValueError, TypeError):
        # The driver's message may quote parts of the address, and with them the password.
        raise SettingsError("MONGODB_URI is not an address that MongoDB's driver understands") from None


@dataclass
class _Budget:
    """Seconds that calls of MongoDB may still take together."""

    left: float


_budget: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Inside the block all calls of MongoDB together take at most so many seconds; what is between them is free."""
    before = _budget.set(_Budget(seconds))
    try:
        yield
    finally:
        _budget.reset(before)


@contextmanager
def counted() -> Iterator[None]:
    """Take the time of the block off what is left `within` the enclosing one."""
    budget, started = _budget.get(), time.monotonic()
    try:
        yield
    finally:
        if budget is not None:
            budget.left -= time.monotonic() - started


@contextmanager
def outages_reported(client: MongoClient[Document], seconds: float | None = None) -> Iterator[None]:
    """Give everything inside one deadline (default: the client's time-out) and translate the driver's errors.

    Raises:
        StoreUnavailable: MongoDB did not answer in time, or refused (no primary, no rights, no space ...).
    """
    allowed, budget = seconds or client.options.timeout, _budget.get()
    if budget is not None:
        if budget.left <= 0:
            raise StoreUnavailable("MongoDB did not serve the request in time")
        allowed = budget.left if allowed is None else min(allowed, budget.left)
    try:
        with pymongo.timeout(allowed), counted():
            yield
    # The driver calls it a fault of configuration when the DNS does not know a mongodb+srv address.
    except (ConnectionFailure, OperationFailure, ConfigurationError) as error:
        code = f" {error.code}" if isinstance(error, OperationFailure) else ""
        raise StoreUnavailable(f"MongoDB did not serve the request ({type(error).__name__}{code})") from error


class Collections:
    """What every part of the store works on; ``vault`` keeps the session tokens of tasks."""

    def __init__(
        self,
        client: MongoClient[Document],
        database_name: str,
        new_id: IdSource = lambda: str(uuid4()),
        vault: TokenVault = PLAIN,
    ) -> None:
        self._client = client
        self._vault = vault
        self._new_id = new_id
        self._database = client[database_name]
        self._tasks = self._database[TASKS]
        self._results = self._database[RESULTS]
        self._servers = self._database[SERVERS]
        self._upkeep = self._database[UPKEEP]


def store_call[S: Collections, **P, R](method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method of the store report outages as `StoreUnavailable`, within the client's time-out."""

    @wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with outages_reported(self._client):
            return method(self, *args, **kwargs)

    return call
