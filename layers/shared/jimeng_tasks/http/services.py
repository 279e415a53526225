"""What the routes need of the rest of the product; `bootstrap.Container` provides it, each part made on first use."""

from typing import Annotated, Protocol

from fastapi import Depends, Request

from jimeng_tasks.domain.ports import Clock, MediaSource, TaskStore
from jimeng_tasks.service.accounts import Accounts
from jimeng_tasks.service.inline_media import InlinePictures
from jimeng_tasks.service.monitor import TaskMonitor
from jimeng_tasks.service.query import QueryTask
from jimeng_tasks.service.submit import SubmitTask
from jimeng_tasks.service.uploads import UploadPictures
from jimeng_tasks.service.validation import Validator
from jimeng_tasks.settings import Settings


class ApiServices(Protocol):
    """The use cases and adapters behind the routes."""

    @property
    def settings(self) -> Settings:
        """The configuration of this process."""

    @property
    def clock(self) -> Clock:
        """The time that answers are stamped with."""

    @property
    def store(self) -> TaskStore:
        """Asked only whether it is well."""

    @property
    def validator(self) -> Validator:
        """Turns requests into orders, by the provider's catalog."""

    @property
    def submit(self) -> SubmitTask:
        """Takes orders."""

    @property
    def query(self) -> QueryTask:
        """Answers what became of a task."""

    @property
    def monitor(self) -> TaskMonitor:
        """Numbers for operators."""

    @property
    def accounts(self) -> Accounts:
        """Checks session tokens."""

    @property
    def uploads(self) -> UploadPictures:
        """Keeps uploaded pictures."""

    @property
    def inline(self) -> InlinePictures:
        """Gives the pictures of a result themselves."""

    @property
    def source(self) -> MediaSource:
        """Reads pictures from addresses."""


async def services_of(request: Request) -> ApiServices:
    """The services that `create_app` was given."""
    services: ApiServices = request.app.state.services
    return services


Services = Annotated[ApiServices, Depends(services_of)]
