"""The MongoDB store's indexes: that they exist, and that every query stays inside them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from pymongo import ASCENDING, MongoClient, monitoring
from pymongo.database import Database
from pymongo.errors import OperationFailure

from jimeng_tasks.domain.task import ACTIVE, Task, TaskStatus
from jimeng_tasks.domain.workload import Server
from jimeng_tasks.exceptions import StoreUnavailable
from jimeng_tasks.store.documents import Document, to_document
from jimeng_tasks.store.mongo import MongoTaskStore
from local.mongodb import Mongod
from tests.contract.samples import HOUR, LEASE, NOW, claim, ended, new_task, result_of, start_polling

TASKS = "jimeng_free_generation_tasks"
RESULTS = "jimeng_free_generation_results"
A_FEW = 10
RUNNING_TASKS = 60  # ten of each service, and those that the operations claim
LATER = NOW + 3 * HOUR

SEED_INDEXES = {
    TASKS: ["server_id_1_status_1_next_poll_at_1", "task_id_1", "created_at_1", "updated_at_1"],
    RESULTS: ["task_id_1", "expires_at_1", "server_id_1_created_at_1"],
}


# -- the step that makes them


def test_every_index_of_the_seed_exists_and_ids_are_unique(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    for collection, names in SEED_INDEXES.items():
        indexes = database[collection].index_information()
        assert set(names) <= set(indexes)
        assert indexes["task_id_1"]["unique"]


def test_the_index_step_creates_what_is_missing_and_nothing_else(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    database[TASKS].drop_index("created_at_1")

    first, second = mongo_store.create_indexes(), mongo_store.create_indexes()

    assert first == {TASKS: ["created_at_1"], RESULTS: [], "jimeng_free_servers": []}
    assert not any(second.values())


def test_a_plain_task_id_index_of_the_node_service_becomes_unique(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    database[TASKS].drop_indexes()
    database[TASKS].create_index([("task_id", ASCENDING)], background=True)
    database[TASKS].insert_one(to_document(new_task()))

    mongo_store.prepare()

    assert database[TASKS].index_information()["task_id_1"]["unique"]
    assert mongo_store.submit(new_task(created_at=NOW + 9)) == new_task()


WITHOUT_UNIQUENESS: dict[str, Callable[[Database[Document]], object]] = {
    "none": lambda database: None,
    "no collection": lambda database: database.drop_collection(TASKS),
    "plain, as of the Node service": lambda database: database[TASKS].create_index("task_id"),
    "unique with another field": lambda database: database[TASKS].create_index(["task_id", "slot"], unique=True),
}


@pytest.fixture(params=["created", "converted"])
def with_duplicates(request: pytest.FixtureRequest, database: Database[Document]) -> Database[Document]:
    """Two tasks with one id, without an index on it or with a plain one, each of which prevents the unique one."""
    if request.param == "converted":
        database[TASKS].create_index("task_id")
    database[TASKS].insert_many([{"task_id": "same"}, {"task_id": "same"}])
    return database


def test_of_duplicates_is_said_where_they_are_and_what_to_do(
    mongo_client: MongoClient[Document], with_duplicates: Database[Document]
) -> None:
    store = MongoTaskStore(mongo_client, with_duplicates.name)

    with pytest.raises(StoreUnavailable) as refusal:
        store.prepare()

    assert all(part in str(refusal.value) for part in (TASKS, "same task_id", "remove", "`make indexes`"))
    with_duplicates[TASKS].delete_one({"task_id": "same"})
    store.prepare()
    assert with_duplicates[TASKS].index_information()["task_id_1"]["unique"]


def test_duplicates_of_several_fields_are_named_with_all_of_them(
    mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    database[TASKS].drop_index("server_id_1_slot_1")
    database[TASKS].insert_many([{"task_id": name, "server_id": "s1", "slot": 0} for name in "ab"])

    with pytest.raises(StoreUnavailable, match=f"{TASKS} .* same server_id and slot"):
        mongo_store.prepare()


def test_the_command_too_says_what_to_do_about_duplicates(
    mongodb_uri: str, with_duplicates: Database[Document]
) -> None:
    ran = _index_step(MONGODB_URI=mongodb_uri, MONGODB_DATABASE=with_duplicates.name)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"store_unavailable: collection {TASKS} holds several documents with the same task_id")


@pytest.mark.parametrize("lacking", WITHOUT_UNIQUENESS)
def test_no_task_is_stored_before_ids_are_unique(
    mongo_client: MongoClient[Document], database: Database[Document], lacking: str
) -> None:
    """Else two requests with one id would be two tasks, both paid for."""
    database[TASKS].insert_one({})
    WITHOUT_UNIQUENESS[lacking](database)
    before = database[TASKS].count_documents({})
    store = MongoTaskStore(mongo_client, database.name)

    for call in (store.ping, lambda: store.submit(new_task()), lambda: store.submit(new_task())):
        with pytest.raises(StoreUnavailable, match=r"unique index on task_id.*`make indexes`"):
            call()

    assert database[TASKS].count_documents({}) == before
    MongoTaskStore(mongo_client, database.name).prepare()
    assert [store.submit(new_task(created_at=NOW + n)) for n in range(2)] == [new_task(), new_task()]


class _Seen(monitoring.CommandListener):
    """Names of the commands that a client sent; a listener must have all three methods."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.names.append(event.command_name)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None: ...

    def failed(self, event: monitoring.CommandFailedEvent) -> None: ...


def test_a_process_asks_once_whether_ids_are_unique(
    mongodb_uri: str, mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    seen = _Seen()
    client: MongoClient[Document] = MongoClient(mongodb_uri, event_listeners=[seen])
    with client:
        store = MongoTaskStore(client, database.name)
        for number in range(3):
            store.submit(new_task(f"t{number}"))
            store.ping()

    assert [name for name in seen.names if name in ("listIndexes", "insert")] == ["listIndexes", *["insert"] * 3]


# -- a cluster that came from MongoDB 5 and still behaves like it


@pytest.fixture(scope="module")
def old_cluster() -> Iterator[MongoClient[Document]]:
    with Mongod() as server, MongoClient[Document](server.uri) as client:
        try:
            client.admin.command("setFeatureCompatibilityVersion", "5.0")
        except OperationFailure:
            pytest.skip("this MongoDB is too new to behave like version 5")
        yield client


def test_indexes_are_created_with_feature_compatibility_version_5(old_cluster: MongoClient[Document]) -> None:
    store = MongoTaskStore(old_cluster, "new")

    store.prepare()

    assert store.submit(new_task()) == new_task()


def test_a_plain_index_that_an_old_cluster_cannot_convert_is_explained(old_cluster: MongoClient[Document]) -> None:
    old_cluster["node"][TASKS].create_index("task_id")

    with pytest.raises(StoreUnavailable, match=f"task_id of collection {TASKS} .*Version 6.0.*`make indexes`"):
        MongoTaskStore(old_cluster, "node").prepare()


# -- the command


def _index_step(**environment: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": "layers/shared", **environment}
    command = [sys.executable, "-m", "jimeng_tasks.store"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_command_prints_what_it_made_as_one_json_line(mongodb_uri: str, database: Database[Document]) -> None:
    ran = _index_step(MONGODB_URI=mongodb_uri, MONGODB_DATABASE=database.name)

    assert (ran.returncode, ran.stderr) == (0, "")
    printed = json.loads(ran.stdout)
    assert printed["database"] == database.name
    assert {name: printed["created"][name] for name in SEED_INDEXES} == {
        name: [entry for entry in database[name].index_information() if entry != "_id_"] for name in SEED_INDEXES
    }


@pytest.mark.parametrize("uri", ["", "mongodb://user:can@ry:bird@host/", "mongodb://user:secret@127.0.0.1:1/"])
def test_the_command_fails_with_a_reason_and_without_secrets(uri: str) -> None:
    ran = _index_step(MONGODB_URI=uri)

    assert ran.returncode == 1
    assert "MONGODB_URI" in ran.stderr or "MongoDB did not serve" in ran.stderr
    assert not any(secret in ran.stderr for secret in ("secret", "can@ry", "bird", "Traceback"))


# -- what queries cost


@pytest.fixture(scope="module")
def full_database(mongo_client: MongoClient[Document]) -> Iterator[Database[Document]]:
    """Three services with 2,000 finished tasks, a backlog of 5,000, and ten running tasks each."""
    database = mongo_client[f"test_{uuid4().hex}"]
    store = MongoTaskStore(mongo_client, database.name)
    store.prepare()
    tasks: list[Task] = []
    for number in range(2000):
        done = new_task(f"done-{number}", server_id=f"s{number % 3}", next_poll_at=None)
        tasks.append(ended(done, TaskStatus.FAILED if number % 9 else TaskStatus.COMPLETED, now=NOW + number))
    for number in range(5000):
        at = NOW + 2 * HOUR + number % HOUR
        tasks.append(new_task(f"wait-{number}", server_id=f"s{number % 3}", created_at=at))
    database[TASKS].insert_many([to_document(task) for task in tasks])
    database[RESULTS].insert_many([to_document(result_of(task)) for task in tasks[:2000]])
    for service in range(3):
        running = [
            new_task(f"run-{service}-{number}", server_id=f"s{service}", created_at=NOW + 2 * HOUR)
            for number in range(10)
        ]
        claim(store, *running, now=NOW + 2 * HOUR)
    yield database
    mongo_client.drop_database(database)


@pytest.fixture
def full_store(mongo_client: MongoClient[Document], full_database: Database[Document]) -> MongoTaskStore:
    return MongoTaskStore(mongo_client, full_database.name)


@contextmanager
def profiled(database: Database[Document]) -> Iterator[list[dict[str, Any]]]:
    """Yields a list that holds, after the block, what MongoDB's profiler saw of every query and write in it."""
    seen: list[dict[str, Any]] = []
    database.drop_collection("system.profile")
    database.command("profile", 2)
    try:
        yield seen
    finally:
        database.command("profile", 0)
        seen += database["system.profile"].find({"keysExamined": {"$exists": True}, "ns": {"$regex": "jimeng_free"}})


def _claim_pending(store: MongoTaskStore) -> Task:
    work = store.survey("s1", 5)
    return store.claim_pending("s1", work.startable(LATER), work.free_slots(100), LATER, LEASE)[0]


def _claim_due(store: MongoTaskStore) -> None:
    assert store.claim_due(store.survey("s1", 0).due(LATER), LATER, LEASE)


def _save(store: MongoTaskStore) -> None:
    task = _claim_pending(store)
    store.save(task, replace(task, poll_count=1))
    assert store.save_many([(task, task)] * 3) == 0


def _finish_and_hand_out(store: MongoTaskStore) -> None:
    task = _claim_pending(store)
    store.finish(task, ended(task), result_of(task))
    assert store.hand_out(task.task_id, NOW, 60)
    assert store.hand_out(task.task_id, NOW, 0)


def _beat(store: MongoTaskStore) -> None:
    server = Server(server_id="s1", status="online", last_heartbeat_at=NOW, load=0, version="1")
    assert store.heartbeat(server, "me", NOW + 60)
    assert store.servers() == [server]
    store.release_service("s1", "me")


OPERATIONS: dict[str, Callable[[MongoTaskStore], object]] = {
    "submit": lambda store: [store.submit(new_task("fresh")) for _ in range(2)],
    "get": lambda store: store.get("done-1999"),
    "survey": lambda store: store.survey("s1", 20),
    "survey of chosen tasks": lambda store: store.survey("s1", 20, ["wait-1", "run-1-1", "done-1"]),
    "claim_pending": _claim_pending,
    "claim_due": _claim_due,
    "claim_overdue, many": lambda store: store.claim_overdue(LATER, 10, LEASE),
    "claim_overdue, none": lambda store: store.claim_overdue(NOW, 10, LEASE),
    "claim_overdue of chosen tasks": lambda store: store.claim_overdue(LATER, 10, LEASE, ["run-1-1", "wait-1"]),
    "save": _save,
    "finish, hand_out": _finish_and_hand_out,
    "heartbeat, servers, release": _beat,
    "housekeeping": lambda store: store.claim_housekeeping(NOW, HOUR),
    "ping": lambda store: store.ping(),
    "clean, nothing": lambda store: store.clean(NOW, HOUR),
    "clean, much": lambda store: store.clean(NOW + 24 * HOUR + 1, 22 * HOUR),
}


def _yield_of(entry: dict[str, Any]) -> int:
    return max(int(entry.get(name, 0)) for name in ("nreturned", "nMatched", "ndeleted", "nUpserted"))


def _allowed_keys(entry: dict[str, Any]) -> int:
    if "slot" in entry["planSummary"]:
        return RUNNING_TASKS  # housekeeping reads every held slot, of which there are as many as running tasks
    # A list of ids costs a second key wherever the next id of the list is not the next of the index.
    return A_FEW + _yield_of(entry) * (2 if entry["planSummary"] == "IXSCAN { _id: 1 }" else 1)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_query_reads_more_of_an_index_than_it_gives_back(
    full_store: MongoTaskStore, full_database: Database[Document], operation: str
) -> None:
    with profiled(full_database) as seen:
        OPERATIONS[operation](full_store)

    costly = [
        (entry["planSummary"], entry["keysExamined"], _yield_of(entry))
        for entry in seen
        if "COLLSCAN" in entry["planSummary"] or entry["keysExamined"] > _allowed_keys(entry)
    ]
    assert costly == []


@pytest.mark.parametrize("status", TaskStatus)
def test_the_index_for_the_sweep_holds_active_tasks_and_no_others(
    mongo_store: MongoTaskStore, database: Database[Document], status: TaskStatus
) -> None:
    """It is chosen by the place of the states in the alphabet."""
    database[TASKS].insert_one(to_document(new_task(status=status)))

    keys = database.command("validate", TASKS)["keysPerIndex"]

    assert keys["deadline_at_1"] == (1 if status in ACTIVE else 0)


@pytest.mark.parametrize("now", [NOW, LATER], ids=["none", "many"])
def test_the_sweep_reads_its_index_and_does_not_sort(
    full_store: MongoTaskStore, full_database: Database[Document], now: int
) -> None:
    with profiled(full_database) as seen:
        full_store.claim_overdue(now, 10, LEASE)

    finds = [entry for entry in seen if entry["op"] == "query" and "sort" in entry["command"]]
    assert [(entry["planSummary"], entry.get("hasSortStage")) for entry in finds] == [
        ("IXSCAN { deadline_at: 1 }", None)
    ]


@pytest.mark.parametrize("server_id", [None, "s1"])
def test_counting_reads_indexes_and_only_the_documents_it_needs(
    full_store: MongoTaskStore, full_database: Database[Document], server_id: str | None
) -> None:
    with profiled(full_database) as seen:
        full_store.stats(server_id, NOW + 2 * HOUR)

    assert [entry["planSummary"] for entry in seen if "COLLSCAN" in entry["planSummary"]] == []
    assert sorted(entry["docsExamined"] for entry in seen)[0] == 0, "tasks per status come from the index alone"


def test_an_idle_poller_asks_three_things(mongo_store: MongoTaskStore, database: Database[Document]) -> None:
    start_polling(mongo_store, new_task(), next_poll_at=NOW + 99)
    server = Server(server_id="s1", status="online", last_heartbeat_at=NOW, load=0, version="1")

    with profiled(database) as seen:
        mongo_store.heartbeat(server, "me", NOW + 60)
        mongo_store.claim_overdue(NOW, 10, LEASE)
        mongo_store.survey("s1", 10)
        mongo_store.release_service("s1", "me")

    assert len(seen) == 4
