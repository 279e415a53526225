"""The API's side of the store: new tasks in, results out."""

from pymongo.client_session import ClientSession
from pymongo.errors import DuplicateKeyError

from jimeng_tasks.domain.task import Result, Task, reference_urls
from jimeng_tasks.exceptions import TaskConflict
from jimeng_tasks.store.documents import WITHOUT_PICTURES, Document, result_from, tasks_from, to_document

from .connection import store_call
from .indexes import UniqueIds


class Requests(UniqueIds):
    """Submitting, looking up and handing out."""

    @store_call
    def submit(self, task: Task) -> Task:
        """Insert a new task; if its id is taken already, return the stored task instead.

        Raises:
            StoreUnavailable: also while no unique index forbids a second task with the same id.
        """
        self.require_unique_ids()
        try:
            self._tasks.insert_one(to_document(task, self._vault))
        except DuplicateKeyError:
            return self._stored_instead_of(task)
        return task

    def _stored_instead_of(self, task: Task) -> Task:
        document = self._tasks.find_one({"task_id": task.task_id})
        if document is None:
            # Cleaned away by now: the id is free again.
            return self.submit(task)
        stored = next(tasks_from([document], self._vault), None)
        if stored is None:
            raise TaskConflict(f"task {task.task_id} exists and cannot be read: choose another task_id")
        return stored

    @store_call
    def get(self, task_id: str) -> Task | None:
        """The task with this id, without its input pictures; None also when its document cannot be read."""
        return next(tasks_from(self._tasks.find({"task_id": task_id}, WITHOUT_PICTURES), self._vault), None)

    @store_call
    def references(self, task_id: str) -> list[str]:
        """Addresses of a task's input pictures, in order."""
        document = self._tasks.find_one({"task_id": task_id}, {"original_params.images": 1})
        return reference_urls((document or {}).get("original_params") or {})

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
