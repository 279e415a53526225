"""The product as it is deployed, one process of it, over whatever database, provider and storage a test gives it."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from uuid import uuid4

import requests
from pymongo import MongoClient

from jimeng_tasks.bootstrap import Container
from jimeng_tasks.domain.ports import Clock
from jimeng_tasks.domain.task import Task, TaskStatus, TaskType
from jimeng_tasks.exceptions import StoreUnavailable
from jimeng_tasks.service.submit import Order
from jimeng_tasks.settings import Settings
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore, connect
from jimeng_tasks.store.mongo.connection import RESULTS, TASKS

SERVICE = "svc-faults"
TOKEN = "canary0123456789abcdef0123456789"
TIMEOUT = 3600
POLL_SECONDS = 15  # past an image's poll interval


@dataclass
class Remaining:
    """A Lambda context with so many seconds left for ever."""

    seconds: float = 60.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


class SkippingClock(Clock):
    """The database's time, plus the hours that a test skips."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self._skipped = 0
        self._lock = Lock()

    def now(self) -> int:
        return self._inner.now() + self._skipped

    def advance(self, seconds: int) -> None:
        with self._lock:
            self._skipped += seconds


def settings(mongodb_uri: str, jimeng: str, database: str = "", **more: str) -> Settings:
    """The settings of a deployment with short limits."""
    environ = {
        "USE_DATABASE_MODE": "true",
        "MONGODB_URI": mongodb_uri,
        "MONGODB_DATABASE": database or f"faults_{uuid4().hex}",
        "JIMENG_BASE_URL": jimeng,
        "JIMENG_IMAGEX_URL": jimeng,
        "JIMENG_TIMEOUT": "1",
        "SERVICE_ID": SERVICE,
        "MAX_CONCURRENT_TASKS": "50",
        "TASK_POLL_INTERVAL": "1",
        "IMAGE_TASK_TIMEOUT": str(TIMEOUT),
        "VIDEO_TASK_TIMEOUT": str(TIMEOUT),
        "ALLOW_PRIVATE_URLS": "true",
        "LOG_LEVEL": "CRITICAL",
    }
    return Settings.from_environ(environ | more)


@dataclass
class Deployment:
    """One container of the product; ``clock`` skips time, ``invoke`` is what the schedule does."""

    settings: Settings
    container: Container = field(init=False)
    clock: SkippingClock = field(init=False)

    def __post_init__(self) -> None:
        self.container = Container(self.settings)
        self.clock = SkippingClock(self.container.clock)
        self.container.clock = self.clock

    def close(self) -> None:
        """Close the connections to the database."""
        self.container._mongo_client.close()

    def forget(self) -> None:
        """Remove all tasks and results."""
        database = self.container._mongo_client[self.settings.mongodb_database]
        for name in (TASKS, RESULTS):
            database[name].delete_many({})

    # -- when

    def invoke(self, seconds: float = 60.0) -> dict[str, Any]:
        """One tick in an invocation of its own; whatever goes wrong, it must return its summary."""
        return self.container.poller(SERVICE)({"ticks": 1}, Remaining(seconds))

    def post(
        self,
        prompt: str = "a boat",
        *,
        task_id: str = "",
        account: str = TOKEN,
        kind: TaskType = TaskType.IMAGE,
        **params: Any,
    ) -> str:
        """Post a task; returns its id."""
        task_id = task_id or uuid4().hex
        order = Order(task_type=kind, params={"prompt": prompt, **params}, accounts=[account], task_id=task_id)
        return self.container.submit(order).task_id

    def post_stubbornly(self, prompt: str, task_id: str) -> str:
        """Post as a client does that repeats its request, with the same id, until it is answered."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return self.post(prompt, task_id=task_id)
            except StoreUnavailable:
                assert time.monotonic() < deadline, "the store does not come back"
                time.sleep(0.2)

    def work(self, task_ids: Iterable[str], *, skip: int = POLL_SECONDS, invocations: int = 200) -> list[Task]:
        """Invoke the poller, with time skipped in between, until the tasks have ended; returns them."""
        task_ids = list(task_ids)
        for _ in range(invocations):
            self.invoke()
            tasks = [self.task(task_id) for task_id in task_ids]
            if all(task.is_terminal for task in tasks):
                return tasks
            self.clock.advance(skip)
            time.sleep(0.05)
        raise AssertionError(f"not ended: {[task for task in tasks if not task.is_terminal]}")

    # -- then

    def task(self, task_id: str) -> Task:
        task = self.container.store.get(task_id)
        assert task is not None, f"no task {task_id}"
        return task

    def result(self, task_id: str) -> Any:
        """The one result of a task."""
        result = self.container.store.hand_out(task_id, self.clock.now(), 3600)
        assert result is not None, f"no result of {task_id}"
        return result


@contextmanager
def deployed(mongodb_uri: str, jimeng: str, **more: str) -> Iterator[Deployment]:
    """A deployment with an empty database of its own."""
    chosen = settings(mongodb_uri, jimeng, **more)
    with connect(mongodb_uri, timeout_ms=20_000) as client:
        MongoTaskStore(client, chosen.mongodb_database).prepare()
        deployment = Deployment(chosen)
        try:
            yield deployment
        finally:
            deployment.close()
            client.drop_database(chosen.mongodb_database)


def assert_paid_once(mongodb_uri: str, chosen: Settings, jimeng: str, task_ids: Iterable[str]) -> None:
    """Every task is completed, with one accepted submission in the provider's books and one result in the database."""
    books = requests.get(f"{jimeng}/_sim/submissions", timeout=10).json()
    with MongoClient[Document](mongodb_uri) as client:
        database = client[chosen.mongodb_database]
        for task_id in task_ids:
            task = database[TASKS].find_one({"task_id": task_id}) or {}
            assert task["status"] == TaskStatus.COMPLETED.value, task
            accepted = books[task["internal_params"]["submit_id"]]["accepted"]
            results = database[RESULTS].count_documents({"task_id": task_id})
            assert (accepted, results) == (1, 1), (task_id, books)
