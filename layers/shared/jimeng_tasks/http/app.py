"""Makes the FastAPI application: all groups of routes on a laptop, one per function on Lambda."""

from collections.abc import Mapping

from fastapi import APIRouter, FastAPI

from jimeng_tasks import __version__

from . import errors
from .answers import ErrorBody
from .routes import images, ops, upload, video
from .services import ApiServices

ROUTERS: Mapping[str, APIRouter] = {
    "images": images.router,
    "video": video.router,
    "upload": upload.router,
    "ops": ops.router,
}
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
    for group in groups or ROUTERS:
        app.include_router(ROUTERS[group])
    return app
