"""`python -m local.poller LOGS`: the poller of SERVICE_ID, invoked again and again as the schedule would."""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local.processes import ROOT
from local.tasklog import write_task_log

PAUSE = 1.0  # seconds between invocations, where the schedule's are a minute apart
INVOCATION_SECONDS = 300
STOP_SECONDS = 4.0  # what running work may still take once a stop is asked for
NAP = 0.1
OUTPUT_LIMIT = 20_000_000  # bytes; an idle poller reports every second

type Handler = Callable[[Any, Any], Any]


class Schedule:
    """Invokes a handler until it is told to stop; the handler sees it as its Lambda context.

    After `stop` the remaining time is a few seconds, so the handler claims nothing more and gives back what it has
    not begun. `stop` may be called by a signal handler: it takes no lock.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._event = json.loads((ROOT / "events" / "schedule.json").read_text())
        self._invocation_ends = 0.0
        self._stop_by: float | None = None

    def run(self) -> None:
        """Invoke, pause, and again; an invocation that raises is reported and the next one carries on."""
        while self._stop_by is None:
            self._invocation_ends = time.monotonic() + INVOCATION_SECONDS
            try:
                self._handler(self._event, self)
            except Exception:
                traceback.print_exc()
            next_one = time.monotonic() + PAUSE
            while self._stop_by is None and time.monotonic() < next_one:
                time.sleep(NAP)

    def stop(self) -> None:
        """Let the running invocation come to its end, and start no other."""
        self._stop_by = time.monotonic() + STOP_SECONDS

    def get_remaining_time_in_millis(self) -> int:
        """What a Lambda context would say."""
        ends = self._invocation_ends if self._stop_by is None else min(self._stop_by, self._invocation_ends)
        return max(0, int((ends - time.monotonic()) * 1000))


def _bounded(handler: Handler) -> Handler:
    """The handler with standard output emptied whenever it has grown too large."""

    def invoke(event: Any, context: Any) -> Any:
        if os.fstat(1).st_size > OUTPUT_LIMIT:
            os.ftruncate(1, 0)
        return handler(event, context)

    return invoke


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    from functions.poller.app import handler

    write_task_log(Path(sys.argv[1]))
    schedule = Schedule(_bounded(handler))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: schedule.stop())
    schedule.run()
    sys.stdout.flush()
    # The interpreter would wait for the threads of calls that are still running; the next start takes their tasks up.
    os._exit(0)


if __name__ == "__main__":
    main()
