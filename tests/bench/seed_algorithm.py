"""The task loop of the ordered document, written down as it stands there: find, update one by one, poll one by one.

Names follow the document: `get_batch_pending_tasks` and `atomic_update_task_status` (its section 5), the order of a
tick (2.2), the time-out search (7.1), `MAX_CONCURRENT_TASKS` 3 and a timer of 5 s (4.1), its four indexes (1.1).
"""

import time
from collections.abc import Callable
from typing import Any

from pymongo.collection import Collection

from bench.stage import Document

TICK_SECONDS = 5
MAX_CONCURRENT_TASKS = 3
POLL_INTERVAL = 10
INDEXES: list[list[tuple[str, int]]] = [
    [("server_id", 1), ("status", 1), ("next_poll_at", 1)],
    [("task_id", 1)],
    [("created_at", 1)],
    [("updated_at", 1)],
]

type Call = Callable[[Document], object]


def answers_at_once(_task: Document) -> None:
    """A provider that costs no time, so that only the loop is measured."""


class TaskPollingService:
    """One Node process: ``call`` stands for its request to Jimeng about one task."""

    def __init__(
        self, tasks: Collection[Document], server_id: str, call: Call, poll_interval: int = POLL_INTERVAL
    ) -> None:
        self._tasks = tasks
        self._server_id = server_id
        self._call = call
        self._poll_interval = poll_interval

    def process_tasks(self) -> None:
        """One tick (2.2)."""
        self.process_pending_tasks()
        self.check_polling_tasks()
        self.check_timeout_tasks()

    def run(self, seconds: float) -> None:
        """Tick on the timer for this long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(min(TICK_SECONDS, max(0.0, until - time.monotonic())))
            self.process_tasks()

    def process_pending_tasks(self) -> None:
        """Start the oldest pending tasks, one after the other."""
        for task in self.get_batch_pending_tasks(MAX_CONCURRENT_TASKS):
            if self.atomic_update_task_status(task["task_id"], "pending", "processing", started_at=int(time.time())):
                self._call(task)
                due = int(time.time()) + self._poll_interval
                self.atomic_update_task_status(task["task_id"], "processing", "polling", next_poll_at=due)

    def check_polling_tasks(self) -> int:
        """Ask for every due task, one after the other; returns how many."""
        now = int(time.time())
        due = {"server_id": self._server_id, "status": "polling", "next_poll_at": {"$lte": now}}
        number = 0
        for task in self._tasks.find(due):
            self._call(task)
            later = {"next_poll_at": int(time.time()) + self._poll_interval, "updated_at": int(time.time())}
            self._tasks.update_one({"task_id": task["task_id"]}, {"$set": later})
            number += 1
        return number

    def check_timeout_tasks(self) -> int:
        """Search for tasks that ran too long (7.1); returns how many."""
        took_too_long = {"$gt": [{"$subtract": [int(time.time()), "$started_at"]}, "$task_timeout"]}
        running: Document = {"status": {"$in": ["processing", "polling"]}, "$expr": took_too_long}
        return len(list(self._tasks.find(running)))

    def get_batch_pending_tasks(self, limit: int) -> list[Document]:
        """The oldest pending tasks (5.2)."""
        pending = {"server_id": self._server_id, "status": "pending"}
        return list(self._tasks.find(pending).sort("created_at", 1).limit(limit))

    def atomic_update_task_status(self, task_id: str, from_status: str, to_status: str, **fields: Any) -> bool:
        """Move a task on if it still has the expected status (5.1)."""
        change = {"status": to_status, "updated_at": int(time.time()), **fields}
        updated = self._tasks.update_one({"task_id": task_id, "status": from_status}, {"$set": change})
        return updated.modified_count > 0
