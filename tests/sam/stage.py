"""A stage for stored states whose poller runs in a container."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

from jimeng_tasks.poller.handler import PollerHandler
from local.fixtures import NEAR, Document, Facts, Fixture
from local.replay import Stage
from tests.sam.host import Host


class ContainerStage(Stage):
    """Plays fixtures in the containers' database; ``invoke`` is their poller, which takes up to ``near`` seconds."""

    def __init__(self, host: Host, invoke: Callable[[Any], Any], near: int = NEAR) -> None:
        super().__init__(host.settings)
        self._poll = cast(PollerHandler, lambda event, _: invoke(event))
        self._near = near

    def _faults(self, fixture: Fixture, facts: Facts, task: Document | None, result: Document | None) -> Iterator[str]:
        return super()._faults(fixture, replace(facts, near=self._near), task, result)
