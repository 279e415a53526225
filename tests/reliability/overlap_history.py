"""What happened to the tasks of a database, watched in two ways while it happens."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pymongo import MongoClient
from pymongo.change_stream import ChangeStream

from jimeng_tasks.domain.task import RUNNING
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo.connection import TASKS

SAMPLE_SECONDS = 0.05
RUNNING_NAMES = [status.value for status in RUNNING]


@dataclass
class History:
    """``moves``: every change of a task's status, in order; ``samples``: how many ran per service at moments."""

    moves: list[tuple[str, str]] = field(default_factory=list)
    samples: list[Counter[str]] = field(default_factory=list)

    def first_claims(self) -> list[str]:
        """Task ids in the order in which they were claimed for the first time."""
        return list(dict.fromkeys(task_id for task_id, status in self.moves if status == "processing"))


@contextmanager
def watched(uri: str, name: str) -> Iterator[History]:
    """Write the history of database ``name`` while the block lasts; it is complete when the block has ended."""
    history, over = History(), threading.Event()
    with MongoClient[Document](uri) as client:
        changes = client[name].watch([{"$match": {"ns.coll": {"$in": [TASKS, "end"]}}}], max_await_time_ms=200)
        threads = [
            threading.Thread(target=_follow, args=(changes, history)),
            threading.Thread(target=_sample, args=(client, name, history, over)),
        ]
        for thread in threads:
            thread.start()
        try:
            yield history
        finally:
            over.set()
            client[name]["end"].insert_one({})
            for thread in threads:
                thread.join()


def _follow(changes: ChangeStream[Document], history: History) -> None:
    task_ids: dict[object, str] = {}
    with changes:
        for change in changes:
            if change["ns"]["coll"] == "end":
                return
            key = change["documentKey"]["_id"]
            if change["operationType"] == "insert":
                task_ids[key] = change["fullDocument"]["task_id"]
            status = change.get("updateDescription", {}).get("updatedFields", {}).get("status")
            if status:
                history.moves.append((task_ids[key], status))


def _sample(client: MongoClient[Document], name: str, history: History, over: threading.Event) -> None:
    """Count in snapshots, since a plain read may see a slot's old and new task side by side."""
    running: list[Document] = [
        {"$match": {"status": {"$in": RUNNING_NAMES}}},
        {"$group": {"_id": "$server_id", "count": {"$sum": 1}}},
    ]
    while not over.is_set():
        with client.start_session(snapshot=True) as session:
            groups = client[name][TASKS].aggregate(running, session=session)
            history.samples.append(Counter({group["_id"]: group["count"] for group in groups}))
        time.sleep(SAMPLE_SECONDS)
