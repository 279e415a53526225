"""Use case: answer what became of a task, and hand its result out once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jimeng_tasks.domain.ports import Clock, TaskStore
from jimeng_tasks.domain.task import Result, Task, TaskType


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is known of a task: ``task`` is None when there is none, ``result`` is there only when it is handed out."""

    task: Task | None = None
    result: Result | None = None

    @property
    def is_consumed(self) -> bool:
        """Whether the result was given to somebody before, or ran out."""
        return self.task is not None and self.task.is_terminal and self.result is None


@dataclass(frozen=True, kw_only=True)
class QueryTask:
    """Looks a task up; ``grace`` seconds a result is repeated; ``advance`` works on an active task before the answer.

    ``advance`` is for the in-memory mode on Lambda, where no poller can see the process's tasks.
    """

    store: TaskStore
    clock: Clock
    grace: int = 0
    advance: Callable[[Task], None] | None = None

    def __call__(self, task_type: TaskType, task_id: str, accounts: Sequence[str] | None = None) -> Answer:
        """The state of the task, with its result if it ended and nobody has taken it yet.

        With ``accounts`` (session tokens) only their own tasks exist: any other is neither told of nor handed out.

        Raises:
            StoreUnavailable: the store cannot be asked now.
        """
        task = self.store.get(task_id)
        if task is None and accounts is None:
            # A result that outlived its task, as the Node service leaves some; it belongs to no account any more.
            return Answer(result=self._hand_out(task_id))
        if task is None or task.task_type is not task_type or not _is_visible(task, accounts):
            return Answer()
        if not task.is_terminal and self.advance:
            self.advance(task)
            task = self.store.get(task_id)
        if task is None or not task.is_terminal:
            return Answer(task=task)
        return Answer(task=task, result=self._hand_out(task_id))

    def _hand_out(self, task_id: str) -> Result | None:
        return self.store.hand_out(task_id, self.clock.now(), self.grace)


def _is_visible(task: Task, accounts: Sequence[str] | None) -> bool:
    return accounts is None or task.belongs_to(accounts)
