"""Servers and housekeeping: heartbeats, service leases, clean-up and the health check."""

from contextlib import AbstractContextManager

from pymongo.collection import Collection
from pymongo.errors import DuplicateKeyError

from jimeng_tasks.domain.task import TERMINAL
from jimeng_tasks.domain.workload import Server
from jimeng_tasks.store.documents import Document, server_from, to_document

from .connection import outages_reported, store_call, within
from .indexes import UniqueIds

BATCH = 1000
MOST_BATCHES = 20
TERMINAL_NAMES = [status.value for status in TERMINAL]


class Upkeep(UniqueIds):
    """Everything that is not about one task."""

    @store_call
    def ping(self) -> None:
        """Return when the store can serve a read and a write, and ids are unique as a new task needs it."""
        self.require_unique_ids()
        self._upkeep.find_one_and_update({"_id": "ping"}, {"$inc": {"count": 1}}, upsert=True)

    def within(self, seconds: float) -> AbstractContextManager[object]:
        """Inside the block all calls together take at most so many seconds; what is done between them is free."""
        return within(seconds)

    @store_call
    def heartbeat(self, server: Server, owner: str, lease_until: int) -> bool:
        """Record a sign of life and take or renew the service lease; False while another owner's lease runs."""
        held_by_another = {"lease_owner": {"$ne": owner}, "lease_until": {"$gt": server.last_heartbeat_at}}
        free = {"server_id": server.server_id, "$nor": [held_by_another]}
        fields = {**to_document(server), "lease_owner": owner, "lease_until": lease_until}
        try:
            self._servers.update_one(free, {"$set": fields}, upsert=True)
        except DuplicateKeyError:
            return False
        return True

    @store_call
    def release_service(self, server_id: str, owner: str) -> None:
        """Give the service lease back if ``owner`` holds it."""
        lease = {"lease_owner": "", "lease_until": ""}
        self._servers.update_one({"server_id": server_id, "lease_owner": owner}, {"$unset": lease})

    @store_call
    def servers(self) -> list[Server]:
        """Every service that ever sent a heartbeat, by name."""
        return [server_from(document) for document in self._servers.find().sort("server_id")]

    @store_call
    def claim_housekeeping(self, now: int, every: int) -> bool:
        """True for one caller in ``every`` seconds among all pollers of the deployment."""
        due = {"_id": "housekeeping", "claimed_at": {"$not": {"$gt": now - every}}}
        try:
            self._upkeep.update_one(due, {"$set": {"claimed_at": now}}, upsert=True)
        except DuplicateKeyError:
            return False
        return True

    def clean(self, now: int, task_retention: int) -> int:
        """Delete expired results and old terminal tasks, at most 20,000 of each; returns how many.

        Also frees slots of tasks that ended without us: the Node service's time-outs know nothing of slots.
        """
        self._free_slots()
        expired = {"expires_at": {"$lt": now}}
        old = {"status": {"$in": TERMINAL_NAMES}, "updated_at": {"$lt": now - task_retention}}
        return self._delete(self._results, expired, ["expires_at"]) + self._delete(
            self._tasks, old, ["status", "updated_at"]
        )

    @store_call
    def _free_slots(self) -> None:
        ended = {"slot": {"$exists": True}, "status": {"$in": TERMINAL_NAMES}}
        unset = {"$unset": {"slot": "", "claim_id": "", "next_poll_at": ""}}
        self._tasks.update_many(ended, unset, hint=[("server_id", 1), ("slot", 1)])

    def _delete(self, collection: Collection[Document], condition: Document, index: list[str]) -> int:
        deleted = 0
        for _ in range(MOST_BATCHES):
            # Each batch has a deadline of its own: many small deletes instead of one that is cut off.
            with outages_reported(self._client):
                # Asking for the index's order keeps the planner from another index that fits less.
                documents = collection.find(condition, {"_id": 1}, limit=BATCH, sort=index)
                found = [document["_id"] for document in documents]
                deleted += collection.delete_many({"_id": {"$in": found}, **condition}).deleted_count if found else 0
            if len(found) < BATCH:
                break
        return deleted
