"""What a route needs of the running application."""

from typing import Any

from fastapi import Request

from local.simulator.state import World
from local.simulator.urls import Links


def world_of(request: Request) -> World:
    """The simulator's memory."""
    world: World = request.app.state.world
    return world


def base_of(request: Request) -> str:
    """The simulator's own address: the configured one, else what the caller used."""
    base_url: str | None = request.app.state.base_url
    return (base_url or str(request.base_url)).rstrip("/")


def links_of(request: Request) -> Links:
    """Link maker for this request."""
    return Links(world_of(request), base_of(request))


def note(request: Request, **details: Any) -> None:
    """Add ids or codes to this request's line in `/_sim/requests`; never tokens or keys."""
    request.scope.setdefault("sim_details", {}).update(details)
