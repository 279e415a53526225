"""The entry point of the HTTP functions on Lambda."""

import asyncio
import logging
from collections.abc import Callable
from functools import cache
from typing import Any

from fastapi import FastAPI
from mangum import Mangum
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from jimeng_tasks.settings import Settings

from .blocking import at_once, run_blocking
from .events import kind, normalised

logger = logging.getLogger(__name__)

type Handler = Callable[[Any, Any], dict[str, Any]]


def make_handler(app: FastAPI, settings: Settings) -> Handler:
    """A Lambda handler that serves HTTP events with ``app``, greets warmers and refuses every other event.

    A container gets one request at a time, so endpoints run at once: a thread for each would only cost its start.
    """

    async def below_root_path(scope: Scope, receive: Receive, send: Send) -> None:
        run_blocking.set(at_once)
        scope["root_path"] = scope["aws.event"]["rootPath"]
        await app(scope, receive, send)

    def is_route(path: str) -> bool:
        scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "headers": []}
        return any(route.matches(scope)[0] is not Match.NONE for route in app.routes)

    asyncio.set_event_loop(_event_loop())
    adapter = Mangum(below_root_path, lifespan="off")

    def handler(event: Any, context: Any) -> dict[str, Any]:
        sort = kind(event)
        if sort == "http":
            asyncio.set_event_loop(_event_loop())
            return adapter(normalised(event, settings.api_base_path, is_route), context)
        if sort == "warmer":
            return {"ok": True, "kind": sort}
        return _refusal(event, sort)

    return handler


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process: the adapter uses the thread's current one, and others may have taken that away."""
    return asyncio.new_event_loop()


def _refusal(event: Any, sort: str) -> dict[str, Any]:
    keys = sorted(map(str, event)) if isinstance(event, dict) else []
    logger.warning("refused an event of kind %s with the keys %s", sort, keys)
    return {"ok": False, "kind": sort, "message": "this function takes HTTP events only"}
