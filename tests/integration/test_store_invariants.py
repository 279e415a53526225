"""The invariants of the life cycle, under pollers and readers in processes of their own, some killed in the middle.

One race is run; MongoDB's change stream, with the image of each document before and after, is its exact history.
"""

import multiprocessing
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest
from pymongo import MongoClient
from pymongo.change_stream import ChangeStream
from pymongo.database import Database

from jimeng_tasks.domain.task import RUNNING, TERMINAL, TaskStatus
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from tests.contract.samples import new_task
from tests.integration.store_racers import CAPACITY, HANDED_OUT, poll, race_time, read

TASKS = "jimeng_free_generation_tasks"
RESULTS = "jimeng_free_generation_results"
TASK_IDS = [f"t{number}" for number in range(60)]
SERVICES = ["s1", "s1", "s1", "s2", "s2"]


@dataclass(frozen=True)
class Race:
    """What happened: every change in order, what is left, and who received which result."""

    changes: list[Document]
    tasks: list[Document]
    handed_out: list[Document]

    def task_changes(self) -> Iterator[tuple[Document, Document]]:
        """Every change of a task, as the document before and after."""
        for change in self.changes:
            if change["ns"]["coll"] == TASKS and change["operationType"] != "insert":
                yield change["fullDocumentBeforeChange"], change["fullDocument"]


@pytest.fixture(scope="module")
def race(mongodb_uri: str) -> Iterator[Race]:
    name = f"test_{uuid4().hex}"
    client: MongoClient[Document] = MongoClient(mongodb_uri)
    with client:
        store = MongoTaskStore(client, name)
        store.prepare()
        for collection in (TASKS, RESULTS):
            client[name].command("collMod", collection, changeStreamPreAndPostImages={"enabled": True})
        with _history_of(client[name]) as stream:
            _submit_tasks(store)
            _run(mongodb_uri, name)
            changes = _drain(client[name], stream)
        yield Race(changes, list(client[name][TASKS].find()), list(client[name][HANDED_OUT].find()))
        client.drop_database(name)


def _history_of(database: Database[Document]) -> ChangeStream[Document]:
    return database.watch(full_document="whenAvailable", full_document_before_change="whenAvailable")


def _submit_tasks(store: MongoTaskStore) -> None:
    for number, task_id in enumerate(TASK_IDS):
        overdue_soon = 300 if number % 5 == 0 else 10**6
        now = race_time()
        task = new_task(task_id, server_id=SERVICES[number % len(SERVICES)], created_at=now, task_timeout=overdue_soon)
        store.submit(task)


def _run(uri: str, name: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    pollers = [spawn.Process(target=poll, args=(uri, name, service, seed)) for seed, service in enumerate(SERVICES)]
    readers = [spawn.Process(target=read, args=(uri, name, TASK_IDS, reader)) for reader in ("a", "b")]
    for process in pollers + readers:
        process.start()
    time.sleep(2)
    for victim in (pollers[0], pollers[3]):
        victim.kill()
    for process in pollers + readers:
        process.join()


def _drain(database: Database[Document], stream: ChangeStream[Document]) -> list[Document]:
    database["end"].insert_one({})
    changes: list[Document] = []
    for change in stream:
        if change["ns"]["coll"] == "end":
            break
        changes.append(change)
    return changes


def _transaction(change: Document) -> str:
    """Which transaction a change belongs to; one that belongs to none is alone."""
    return repr((change.get("lsid"), change.get("txnNumber", change["_id"])))


def test_the_race_was_one(race: Race) -> None:
    owners = defaultdict(set)
    for _, after in race.task_changes():
        owners[after["task_id"]].add(after.get("claim_id"))

    assert {task["status"] for task in race.tasks} == {"completed", "failed"}
    assert len(race.tasks) == len(TASK_IDS)
    assert max(len(claims) for claims in owners.values()) > 3, "tasks went through several hands"


def test_no_service_ever_runs_more_tasks_than_its_capacity(race: Race) -> None:
    running: dict[str, set[str]] = defaultdict(set)
    most: Counter[str] = Counter()
    for _, task in race.task_changes():
        service = running[task["server_id"]]
        (service.add if TaskStatus(task["status"]) in RUNNING else service.discard)(task["task_id"])
        most[task["server_id"]] = max(most[task["server_id"]], len(service))

    assert most == {"s1": CAPACITY, "s2": CAPACITY}


def test_a_terminal_task_never_changes_again_but_for_the_time_of_its_consumption(race: Race) -> None:
    late = [
        (before, after)
        for before, after in race.task_changes()
        if TaskStatus(before["status"]) in TERMINAL and {**before, "consumed_at": 0} != {**after, "consumed_at": 0}
    ]

    assert late == []


def test_only_the_holder_of_the_claim_writes(race: Race) -> None:
    strangers = [
        (before.get("claim_id"), after["error_message"])
        for before, after in race.task_changes()
        if after.get("error_message") not in (before.get("error_message"), before.get("claim_id"))
    ]

    assert strangers == []


def test_every_ended_task_got_exactly_one_result_in_the_same_transaction(race: Race) -> None:
    endings: Counter[tuple[str, str, str]] = Counter()
    results: Counter[tuple[str, str, str]] = Counter()
    for change in race.changes:
        document = change.get("fullDocument") or {}
        if change["ns"]["coll"] == RESULTS and change["operationType"] in ("insert", "replace"):
            results[document["task_id"], document["tos_urls"][0], _transaction(change)] += 1
        if change["ns"]["coll"] == TASKS and _is_an_end(change):
            endings[document["task_id"], document["error_message"], _transaction(change)] += 1

    assert results == endings
    assert sorted(task_id for task_id, _, _ in endings) == sorted(TASK_IDS)


def _is_an_end(change: Document) -> bool:
    before, after = change.get("fullDocumentBeforeChange"), change["fullDocument"]
    return before is not None and before["status"] != after["status"] and TaskStatus(after["status"]) in TERMINAL


def test_every_result_was_received_by_exactly_one_reader(race: Race) -> None:
    received = Counter(note["task_id"] for note in race.handed_out)

    assert received == dict.fromkeys(TASK_IDS, 1)
    assert {note["reader"] for note in race.handed_out} == {"a", "b"}


def test_a_result_goes_in_the_same_transaction_that_marks_its_task_consumed(race: Race) -> None:
    deletions: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    for change in race.changes:
        updated = change.get("updateDescription", {}).get("updatedFields", {})
        if change["ns"]["coll"] == RESULTS and change["operationType"] == "delete":
            deletions[_transaction(change)] += 1
        if change["ns"]["coll"] == TASKS and "consumed_at" in updated:
            marks[_transaction(change)] += 1

    assert deletions == marks
    assert sum(deletions.values()) == len(TASK_IDS)


def test_account_and_submit_id_of_a_task_never_change(race: Race) -> None:
    changed = [
        (before["internal_params"], after["internal_params"])
        for before, after in race.task_changes()
        if not before["internal_params"].items() <= after["internal_params"].items()
    ]

    assert changed == []
