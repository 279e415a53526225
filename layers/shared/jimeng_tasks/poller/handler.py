"""The poller as a Lambda handler: parse the event, run the loop, return and log the summary."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from jimeng_tasks.domain.ports import IdSource
from jimeng_tasks.exceptions import RequestError
from jimeng_tasks.service.work.context import JobContext
from jimeng_tasks.service.work.upkeep import Housekeeping

from .events import Assignment, is_warmer, parse
from .loop import PollerConfig, PollerLoop

logger = logging.getLogger(__name__)


class InvocationContext(Protocol):
    """The part of a Lambda context that the poller uses."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the invocation is killed."""


@dataclass(frozen=True, kw_only=True)
class PollerHandler:
    """Runs one service's poller, once for each invocation.

    ``new_job_context`` makes a context with fresh counters; ``flush`` writes the metrics out.
    """

    config: PollerConfig
    new_job_context: Callable[[], JobContext]
    housekeeping: Housekeeping
    new_id: IdSource
    flush: Callable[[], None]

    def __call__(self, event: Any, context: InvocationContext) -> dict[str, Any]:
        """Work on the service's tasks; returns the summary. Never raises for an event it does not know."""
        if is_warmer(event):
            return {"ok": True, "kind": "warmer"}
        try:
            assignment = parse(event)
        except RequestError as error:
            logger.warning("event refused: %s", error)
            return {"ok": False, "error": error.name, "message": str(error)}
        try:
            return self._run(assignment, context)
        finally:
            self.flush()

    def _run(self, assignment: Assignment, context: InvocationContext) -> dict[str, Any]:
        started = time.monotonic()
        ctx = self.new_job_context()
        loop = PollerLoop(
            ctx,
            self.config,
            assignment,
            self.housekeeping,
            lambda: context.get_remaining_time_in_millis() / 1000,
            self.new_id,
        )
        stop_reason = loop.run()
        duration = time.monotonic() - started
        ctx.metrics.seconds("poller_time", duration, server_id=self.config.server_id)
        summary = {
            "server_id": self.config.server_id,
            **ctx.counters.snapshot(),
            "stop_reason": stop_reason,
            "duration_ms": round(duration * 1000),
        }
        logger.info("poller finished", extra=summary)
        return summary
