"""Every index, and the step that makes them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pymongo import ASCENDING, IndexModel
from pymongo.collection import Collection
from pymongo.errors import OperationFailure

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.exceptions import StoreUnavailable
from jimeng_tasks.store.documents import Document

from .connection import RESULTS, SERVERS, TASKS, Collections, outages_reported

BUILD_SECONDS = 600

NOT_UNIQUE = (
    f"collection {TASKS} lacks its unique index on task_id, without which a repeated request would be a second task: "
    "run `make indexes`; a poller's first invocation creates it, too"
)
DUPLICATES = (
    "collection {collection} holds several documents with the same {fields}, which its unique index forbids: "
    "remove the duplicates, then run `make indexes`"
)
TOO_OLD = (
    "the index on {fields} of collection {collection} is not unique, and MongoDB makes it so only with "
    "featureCompatibilityVersion 6.0 or later: set that, then run `make indexes`"
)
# Why MongoDB refuses, by its error code: to create an index, and to make a plain one unique.
CREATION_REFUSED = {11000: DUPLICATES}
CONVERSION_REFUSED = {11000: DUPLICATES, 359: DUPLICATES, 72: TOO_OLD}


def _index(*names: str, **options: Any) -> IndexModel:
    return IndexModel([(name, ASCENDING) for name in names], **options)


INDEXES: dict[str, list[IndexModel]] = {
    TASKS: [
        # The seed's four.
        _index("server_id", "status", "next_poll_at"),
        _index("task_id", unique=True),
        _index("created_at"),
        _index("updated_at"),
        # One running task per slot: this is what holds MAX_CONCURRENT_TASKS.
        _index("server_id", "slot", unique=True, partialFilterExpression={"slot": {"$exists": True}}),
        # Overdue tasks of every server; finished ones are not in it: in the alphabet the states of active tasks begin
        # with "pending", and those of finished ones precede it. A list with $in would say so more plainly, but needs
        # featureCompatibilityVersion 6.0, which a cluster that was upgraded from MongoDB 5 may not have.
        _index("deadline_at", partialFilterExpression={"status": {"$gte": TaskStatus.PENDING.value}}),
        # Old terminal tasks, and those of the last hour.
        _index("status", "updated_at"),
    ],
    RESULTS: [
        # The seed's three.
        _index("task_id", unique=True),
        _index("expires_at"),
        _index("server_id", "created_at"),
    ],
    SERVERS: [_index("server_id", unique=True)],
}


class UniqueIds(Collections):
    """What makes a submit repeatable: the database itself refuses a second task with the same id."""

    _ids_are_unique = False

    def require_unique_ids(self) -> None:
        """Return when tasks have their unique index: one command, repeated until it is there, then remembered.

        Raises:
            StoreUnavailable: the index is missing.
        """
        if self._ids_are_unique:
            return
        if not any(_is_unique_on_task_id(entry) for entry in self._tasks.index_information().values()):
            raise StoreUnavailable(NOT_UNIQUE)
        self._ids_are_unique = True


class Indexes(Collections):
    """The explicit, repeatable step that creates what the store needs."""

    def prepare(self) -> None:
        """Create the collections and indexes that are missing."""
        self.create_indexes()

    def create_indexes(self) -> dict[str, list[str]]:
        """Create the missing indexes; returns the names of the new ones by collection.

        A plain index of the Node service where a unique one is needed becomes unique in place.

        Raises:
            StoreUnavailable: also when duplicates, or a feature compatibility version below 6.0, forbid it.
        """
        return {name: self._create(self._database[name], models) for name, models in INDEXES.items()}

    def _create(self, collection: Collection[Document], models: list[IndexModel]) -> list[str]:
        with outages_reported(self._client):
            existing = {tuple(entry["key"]): entry for entry in collection.index_information().values()}
        missing = [model for model in models if _key(model) not in existing]
        to_change = [model for model in models if _must_become_unique(model, existing.get(_key(model)))]
        with outages_reported(self._client, BUILD_SECONDS):
            for model in to_change:
                with _explained(collection, CONVERSION_REFUSED, model.document["key"]):
                    _make_unique(collection, model)
            with _explained(collection, CREATION_REFUSED):
                return collection.create_indexes(missing) if missing else []


def _key(model: IndexModel) -> tuple[tuple[str, int], ...]:
    return tuple(model.document["key"].items())


def _is_unique_on_task_id(existing: Mapping[str, Any]) -> bool:
    return existing["key"] == [("task_id", ASCENDING)] and bool(existing.get("unique"))


@contextmanager
def _explained(
    collection: Collection[Document], reasons: Mapping[int, str], key: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Say of a refusal that is known what to do; of several indexes MongoDB names the ``key`` itself."""
    try:
        yield
    except OperationFailure as error:
        reason = reasons.get(error.code or 0)
        if reason is None:
            raise
        fields = " and ".join(key or (error.details or {}).get("keyPattern", ()))
        raise StoreUnavailable(reason.format(collection=collection.name, fields=fields)) from error


def _must_become_unique(model: IndexModel, existing: Document | None) -> bool:
    return existing is not None and bool(model.document.get("unique")) and not existing.get("unique")


def _make_unique(collection: Collection[Document], model: IndexModel) -> None:
    for option in ("prepareUnique", "unique"):
        index = {"keyPattern": model.document["key"], option: True}
        collection.database.command("collMod", collection.name, index=index)
