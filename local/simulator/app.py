"""The simulator as one FastAPI application."""

import socket
import struct
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local.simulator import accounts, admin, api, media, uploads
from local.simulator.answers import Dropped, Refusal, commerce, envelope
from local.simulator.context import note
from local.simulator.state import Settings, World


def create_app(base_url: str | None = None, settings: Settings | None = None) -> FastAPI:
    """A fresh simulator; links and store hosts begin with `base_url`, else with what the caller used."""
    app = FastAPI(title="Simulated Jimeng", openapi_url=None)
    app.state.world = World(settings)
    app.state.base_url = base_url
    for part in (api, accounts, uploads, media, admin):
        app.include_router(part.router)
    app.add_exception_handler(Refusal, _refused)
    app.add_middleware(Observer, world=app.state.world)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, Refusal):
        raise error
    note(request, ret=error.ret, errmsg=error.errmsg)
    if request.url.path.startswith("/commerce/"):
        return commerce(error.data, error.ret, error.errmsg)
    return envelope(error.data, error.ret, error.errmsg)


class Observer:
    """Counts every call, and cuts the connection where a script says so."""

    def __init__(self, app: ASGIApp, world: World) -> None:
        self.app = app
        self.world = world

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on and remember how it went."""
        if scope["type"] != "http" or scope["path"].startswith("/_sim/"):
            await self.app(scope, receive, send)
            return
        seen: dict[str, Any] = {"method": scope["method"], "status": None}

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except Dropped as drop:
            seen["dropped"] = True
            await _hang_up(receive, reset=drop.reset)
        finally:
            self.world.note(_endpoint(scope), **seen, **scope.get("sim_details", {}))


def _endpoint(scope: Scope) -> str:
    route = scope.get("route")
    return str(getattr(route, "path", "unknown"))


async def _hang_up(receive: Receive, *, reset: bool) -> None:
    """Close the client's connection under the server; only uvicorn's own receive knows its transport."""
    transport = receive.__self__.transport  # type: ignore[attr-defined]
    if reset:
        peer = transport.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    else:
        transport.close()
    while (await receive())["type"] != "http.disconnect":
        pass
