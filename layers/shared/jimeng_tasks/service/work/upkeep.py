"""Hourly housekeeping of the deployment, claimed in the database: a Lambda has no counter to keep."""

from jimeng_tasks.domain.ports import Clock, TaskStore

from .counters import Counters

HOUSEKEEPING_INTERVAL = 3600  # seconds
ASK_AGAIN = 600  # seconds after somebody else had cleaned up


class Housekeeping:
    """Deletes what has run out; before its first run in a process it makes sure that the store's indexes exist.

    The last attempt is remembered only to spare the database the question.
    """

    def __init__(self, store: TaskStore, clock: Clock, task_retention: int) -> None:
        self._store = store
        self._clock = clock
        self._task_retention = task_retention
        self._ask_again_at = 0

    def run_if_due(self, counters: Counters) -> None:
        """Clean up if nobody of the deployment did within the hour.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        now = self._clock.now()
        if now < self._ask_again_at:
            return
        if not self._ask_again_at:
            self._store.prepare()
        self._ask_again_at = now + ASK_AGAIN
        if self._store.claim_housekeeping(now, HOUSEKEEPING_INTERVAL):
            counters.add("cleaned", self._store.clean(now, self._task_retention))
            self._ask_again_at = now + HOUSEKEEPING_INTERVAL
