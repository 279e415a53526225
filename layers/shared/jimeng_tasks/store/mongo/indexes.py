"""Every index, and the step that makes them."""

from typing import Any

from pymongo import ASCENDING, IndexModel
from pymongo.collection import Collection

from jimeng_tasks.domain.task import ACTIVE
from jimeng_tasks.store.documents import Document

from .connection import RESULTS, SERVERS, TASKS, Collections, outages_reported

BUILD_SECONDS = 600


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
        # Overdue tasks of every server; finished ones are not in it.
        _index("deadline_at", partialFilterExpression={"status": {"$in": [status.value for status in ACTIVE]}}),
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


class Indexes(Collections):
    """The explicit, repeatable step that creates what the store needs."""

    def prepare(self) -> None:
        """Create the collections and indexes that are missing."""
        self.create_indexes()

    def create_indexes(self) -> dict[str, list[str]]:
        """Create the missing indexes; returns the names of the new ones by collection.

        A plain index of the Node service where a unique one is needed becomes unique in place.

        Raises:
            StoreUnavailable: also when duplicates forbid a unique index (code 359 or 11000).
        """
        return {name: self._create(self._database[name], models) for name, models in INDEXES.items()}

    def _create(self, collection: Collection[Document], models: list[IndexModel]) -> list[str]:
        with outages_reported(self._client):
            existing = {tuple(entry["key"]): entry for entry in collection.index_information().values()}
        missing = [model for model in models if _key(model) not in existing]
        to_change = [model for model in models if _must_become_unique(model, existing.get(_key(model)))]
        with outages_reported(self._client, BUILD_SECONDS):
            for model in to_change:
                _make_unique(collection, model)
            return collection.create_indexes(missing) if missing else []


def _key(model: IndexModel) -> tuple[tuple[str, int], ...]:
    return tuple(model.document["key"].items())


def _must_become_unique(model: IndexModel, existing: Document | None) -> bool:
    return existing is not None and bool(model.document.get("unique")) and not existing.get("unique")


def _make_unique(collection: Collection[Document], model: IndexModel) -> None:
    for option in ("prepareUnique", "unique"):
        index = {"keyPattern": model.document["key"], option: True}
        collection.database.command("collMod", collection.name, index=index)
