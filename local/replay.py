"""`make replay STATE=name`: run the poller once on a stored task and show the task before and after."""

import os
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jimeng_tasks.bootstrap import Container
from jimeng_tasks.domain.keys import media_key
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.redaction import MASK
from jimeng_tasks.settings import Settings
from jimeng_tasks.store.clock import DatabaseClock
from jimeng_tasks.store.mongo import MongoTaskStore, connect
from jimeng_tasks.store.mongo.connection import RESULTS, TASKS
from local.fixtures import Document, Facts, Fixture, differences, load, names, resolve
from local.parts import start_parts, validated
from local.signals import deafen

SERVICE = "jimeng-api-3302"
INVOCATION_SECONDS = 60
ADMIN_SECONDS = 10
LONGEST_VALUE = 70
WIDTH = 180  # columns where the output is no terminal
OWN = ("JIMENG_BASE_URL", "JIMENG_IMAGEX_URL", "TOS_ENDPOINT_URL", "TOS_PUBLIC_BASE_URL")
"""What is always started here: a replay must not cost money or touch stored files."""


class Invocation:
    """The part of a Lambda context that a poller reads."""

    def __init__(self) -> None:
        self._ends = time.monotonic() + INVOCATION_SECONDS

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds that are left."""
        return max(0, int((self._ends - time.monotonic()) * 1000))


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """One replay: task and result before and after, the poller's summary, and what is not as the fixture expects."""

    task: tuple[Document, Document]
    result: tuple[Document | None, Document | None]
    summary: Mapping[str, Any]
    faults: list[str]


class Stage:
    """Where fixtures are replayed: a database of its own, a simulated Jimeng and a storage."""

    def __init__(self, settings: Settings) -> None:
        self._client = connect(settings.mongodb_uri)
        self._database = self._client[settings.mongodb_database]
        self._container = Container(settings)
        # One client for everything, which `close` can close.
        self._container.store = MongoTaskStore(self._client, settings.mongodb_database)
        self._container.clock = DatabaseClock(self._client)
        self._container.store.prepare()
        self._simulator = settings.jimeng_base_url
        self._prefix = settings.tos_prefix
        self._poll = self._container.poller(settings.require_service_id())

    def play(self, fixture: Fixture) -> Replayed:
        """Load a fixture in place of the one before and invoke the poller for its task, for one tick."""
        facts = self._prepare(fixture)
        documents = resolve(dict(fixture.documents), facts)
        self._load(TASKS, documents["tasks"])
        self._load(RESULTS, documents.get("results", []))
        task_id = documents["tasks"][0]["task_id"]
        before = self._stored(task_id)
        summary = self._poll({"task_ids": [task_id], "ticks": 1}, Invocation())
        after = self._stored(task_id)
        return Replayed(
            task=(before[0] or {}, after[0] or {}),
            result=(before[1], after[1]),
            summary=summary,
            faults=list(self._faults(fixture, facts, *after)),
        )

    def close(self) -> None:
        """Remove the database."""
        self._client.drop_database(self._database.name)
        self._client.close()

    def _load(self, collection: str, documents: list[Document]) -> None:
        self._database[collection].delete_many({})
        if documents:
            self._database[collection].insert_many(documents)

    def _stored(self, task_id: str) -> tuple[Document | None, Document | None]:
        task, result = (self._database[name].find_one({"task_id": task_id}, {"_id": 0}) for name in (TASKS, RESULTS))
        return task, result

    def _prepare(self, fixture: Fixture) -> Facts:
        """Tell the simulator its part; a submitted fixture's job is really submitted, under its own submit id."""
        self._admin("reset")
        task = fixture.documents["tasks"][0]
        account = task["internal_params"]["refresh_token"]
        for rule in fixture.simulator.get("scripts", []):
            self._admin("scripts", rule)
        history_id = self._submit(account, task) if fixture.simulator.get("submitted") else ""
        progress = self._container.provider.poll(account, [history_id]).get(history_id) if history_id else None
        media_urls = progress.urls if progress else ()
        for change in fixture.simulator.get("tokens", []):
            self._admin("tokens", change)
        now = self._container.clock.now()
        return Facts(
            now=now,
            history_id=history_id,
            media_urls=media_urls,
            stored_url=lambda index: self._store(task, media_urls[index], index, now),
        )

    def _submit(self, account: str, task: Document) -> str:
        provider = self._container.provider
        submit_id = task["internal_params"]["submit_id"]
        prepared = provider.prepare(account, submit_id, TaskType(task["task_type"]), task["original_params"], [])
        return provider.submit(account, prepared)

    def _store(self, task: Document, url: str, index: int, now: int) -> str:
        storage = self._container.storage
        assert storage is not None
        with self._container.source.open(url) as stream:
            task_type = TaskType(task["task_type"])
            key = media_key(self._prefix, task_type, task["task_id"], index, stream.extension, now)
            return storage.store(key, stream.content_type, stream)

    def _admin(self, path: str, body: Any = None) -> None:
        requests.post(f"{self._simulator}/_sim/{path}", json=body, timeout=ADMIN_SECONDS).raise_for_status()

    def _faults(self, fixture: Fixture, facts: Facts, task: Document | None, result: Document | None) -> Iterator[str]:
        expect = fixture.expect
        yield from differences(expect["task"], task or {}, facts)
        if (result is not None) is not (expect["result"] is not None):
            yield f"the result is {result}, expected {expect['result']}"
        elif result is not None:
            yield from (f"result: {fault}" for fault in differences(expect["result"], result, facts))
        submissions = requests.get(f"{self._simulator}/_sim/submissions", timeout=ADMIN_SECONDS).json()
        accepted = sum(counts["accepted"] for counts in submissions.values())
        if accepted != expect["accepted"]:
            yield f"{accepted} jobs were paid, expected {expect['accepted']}"


@contextmanager
def running_stage(environ: Mapping[str, str]) -> Iterator[Stage]:
    """A stage inside the block; of the caller's environment it uses MONGODB_URI, with a database of its own name."""
    with ExitStack() as cleanup:
        output = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="jimeng-replay-")))
        fixed = {
            **dict.fromkeys(OWN, ""),
            "USE_DATABASE_MODE": "true",
            "MONGODB_DATABASE": f"jimeng_replay_{uuid.uuid4().hex[:12]}",
            "SERVICE_ID": SERVICE,
            "SERVICE_IDS": SERVICE,
        }
        environ, _ = start_parts({**environ, **fixed}, output, cleanup)
        stage = Stage(validated(environ))
        cleanup.callback(stage.close)
        yield stage


def main(*states: str) -> int:
    """Replay each named state, or list the names; returns 0 if everything came as the fixtures expect.

    Raises:
        LocalError: there is no fixture of that name.
    """
    if not states:
        print("\n".join(f"{name:32}  {load(name).description}" for name in names()))
        return 0
    fixtures = [load(state) for state in states]
    try:
        # The logs and metrics of the poller go where they do not mix with what is shown.
        with redirect_stdout(sys.stderr), running_stage(os.environ) as stage:
            replays = [(fixture, stage.play(fixture)) for fixture in fixtures]
    finally:
        deafen()
    for fixture, replayed in replays:
        _show(fixture, replayed)
    return 1 if any(replayed.faults for _, replayed in replays) else 0


def _show(fixture: Fixture, replayed: Replayed) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(f"[bold]{fixture.name}[/]: {fixture.description}", highlight=False)
    console.print(_comparison("task", *replayed.task))
    console.print(_comparison("result", *replayed.result))
    console.print("summary:", " ".join(f"{name}={value}" for name, value in replayed.summary.items()), highlight=False)
    console.print("\n".join(f"NOT AS EXPECTED: {fault}" for fault in replayed.faults) or "as expected", highlight=False)


def _comparison(title: str, before: Document | None, after: Document | None) -> Table:
    """A row for each field; changed ones are starred."""
    old, new = dict(_fields(before or {})), dict(_fields(after or {}))
    table = Table("", title, "before", "after")
    for name in [*old, *(name for name in new if name not in old)]:
        is_changed = old.get(name) != new.get(name)
        cells = ("*" if is_changed else "", name, _shown(name, old.get(name)), _shown(name, new.get(name)))
        table.add_row(*map(Text, cells), style="bold" if is_changed else "dim")
    return table


def _fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of a document with its dotted path."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if members is None:
        yield path, value
        return
    for name, member in members:
        yield from _fields(member, f"{path}.{name}" if path else str(name))


def _shown(name: str, value: Any) -> str:
    if name.endswith("refresh_token"):
        return MASK
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
