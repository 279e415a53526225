"""Where endpoints run, which block while they ask the database."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

from starlette.concurrency import run_in_threadpool

type Runner = Callable[..., Awaitable[Any]]

run_blocking: ContextVar[Runner] = ContextVar("run_blocking", default=run_in_threadpool)
"""Runs the endpoint of this request: in a thread, so that a server goes on serving others, or `at_once`."""


async def at_once(endpoint: Callable[..., Any], **values: Any) -> Any:
    """Run an endpoint in the thread of the event loop, for a process that serves one request at a time."""
    return endpoint(**values)


def awaitable(endpoint: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """The endpoint with the same parameters, run by `run_blocking`."""

    @wraps(endpoint)
    async def run(**values: Any) -> Any:
        return await run_blocking.get()(endpoint, **values)

    return run
