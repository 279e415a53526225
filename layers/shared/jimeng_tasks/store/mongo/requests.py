"""The API's side of the store: new tasks in, results out."""

from pymongo.client_session import ClientSession
from pymongo.errors import DuplicateKeyError

from jimeng_tasks.domain.task import Result, Task
from jimeng_tasks.store.documents import Document, result_from, task_from, to_document

from .connection import Collections, store_call


class Requests(Collections):
    """Submitting, looking up and handing out."""

    @store_call
    def submit(self, task: Task) -> Task:
        """Insert a new task; if its id is taken already, return the stored task instead."""
        try:
            self._tasks.insert_one(to_document(task))
        except DuplicateKeyError:
            # The stored task can be gone by now, cleaned away: then the id is free again.
            return self.get(task.task_id) or self.submit(task)
        return task

    @store_call
    def get(self, task_id: str) -> Task | None:
        """The task with this id."""
        document = self._tasks.find_one({"task_id": task_id})
        return task_from(document) if document else None

    @store_call
    def hand_out(self, task_id: str, now: int, grace: int) -> Result | None:
        """Give a result away; of several readers without ``grace`` only one gets it."""
        # Most queries come before the result does, and a plain read costs them less than a transaction.
        if self._results.find_one({"task_id": task_id}, {"_id": 1}) is None:
            return None
        with self._client.start_session() as session:
            document = session.with_transaction(lambda open_session: self._take(open_session, task_id, now, grace))
        return result_from(document) if document else None

    def _take(self, session: ClientSession, task_id: str, now: int, grace: int) -> Document | None:
        wanted = {"task_id": task_id, "expires_at": {"$gte": now}}
        if grace > 0:
            # $min makes this the same for the first reader and for every repeat.
            shorten = {"$min": {"expires_at": now + grace}}
            document = self._results.find_one_and_update(wanted, shorten, session=session)
        else:
            document = self._results.find_one_and_delete(wanted, session=session)
        if document:
            first_time = {"task_id": task_id, "consumed_at": {"$exists": False}}
            self._tasks.update_one(first_time, {"$set": {"consumed_at": now}}, session=session)
        return document
