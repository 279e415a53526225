"""Makes the FastAPI application: all groups of routes on a laptop, one per function on Lambda."""

from importlib import import_module

from fastapi import FastAPI

from jimeng_tasks import __version__

from . import errors
from .answers import ErrorBody
from .services import ApiServices

GROUPS = ("images", "video", "upload", "ops")
"""The modules in `routes`; a function imports only its own, which keeps its cold start short."""

DESCRIPTION = "Post a prompt, get a task_id at once, and ask for the result with it."


def create_app(services: ApiServices, *groups: str) -> FastAPI:
    """The application with these groups of routes, or with all of them, documented at ``/docs``."""
    app = FastAPI(
        title="Jimeng tasks",
        version=__version__,
        description=DESCRIPTION,
        redirect_slashes=False,
        strict_content_type=False,
        # Naming both ranges keeps the framework's own 422 out of the document: it is never sent.
        responses={
            "4XX": {"model": ErrorBody, "description": "The request cannot be served as it is."},
            "5XX": {"model": ErrorBody, "description": "This service or one behind it has failed."},
        },
    )
    app.state.services = services
    errors.install(app)
    for group in groups or GROUPS:
        app.include_router(import_module(f".routes.{group}", __package__).router)
    return app
