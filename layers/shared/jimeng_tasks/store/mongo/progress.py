"""Fenced writes: what the owner of a claim records, and only while it is the owner."""

from collections.abc import Sequence
from dataclasses import replace

from pymongo import UpdateOne
from pymongo.client_session import ClientSession

from jimeng_tasks.domain.task import Result, Task
from jimeng_tasks.exceptions import ClaimLost
from jimeng_tasks.store.documents import Document, task_update, to_document

from .connection import Collections, store_call


class Progress(Collections):
    """Saving and finishing claimed tasks."""

    @store_call
    def save(self, before: Task, after: Task) -> None:
        """Write the progress of a claimed task.

        Raises:
            ClaimLost: another poller owns the task now, or it has ended; nothing was written.
        """
        self._write(before, after, None)

    @store_call
    def save_many(self, changes: Sequence[tuple[Task, Task]]) -> int:
        """`save` for many tasks in one call; returns how many claims were lost."""
        if not changes:
            return 0
        updates = [UpdateOne(_fence(before), task_update(after, self._vault)) for before, after in changes]
        return len(changes) - self._tasks.bulk_write(updates, ordered=False).matched_count

    @store_call
    def finish(self, before: Task, after: Task, result: Result) -> None:
        """End a claimed task and write its one result, both or neither.

        Raises:
            ClaimLost: another poller owns the task now, or it has ended; nothing was written.
        """
        ended = replace(after, claim_id=None, slot=None, next_poll_at=None)

        def end(session: ClientSession) -> None:
            self._write(before, ended, session)
            # A replacement, since the Node service may have left a result of a task that it did not end.
            self._results.replace_one({"task_id": result.task_id}, to_document(result), upsert=True, session=session)

        with self._client.start_session() as session:
            session.with_transaction(end)

    def _write(self, before: Task, after: Task, session: ClientSession | None) -> None:
        if not self._tasks.update_one(_fence(before), task_update(after, self._vault), session=session).matched_count:
            raise ClaimLost(f"the claim on task {before.task_id} was lost")


def _fence(before: Task) -> Document:
    """Matches the task while ``before``'s claim holds; never a task that nobody has claimed."""
    return {"task_id": before.task_id, "claim_id": before.claim_id or "", "status": before.status.value}
