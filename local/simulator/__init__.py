"""A simulated Jimeng: the web API's wire contract over real HTTP, scriptable and counting."""

from local.simulator.app import create_app

__all__ = ["create_app"]
