"""Use case: answer what became of a task, and hand its result out once."""

from collections.abc import Callable
from dataclasses import dataclass

from jimeng_tasks.domain.ports import Clock, TaskStore
from jimeng_tasks.domain.task import Result, Task, TaskType


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is known of a task: ``task`` is None when there is no such task; ``result`` only when it is handed out."""

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

    def __call__(self, task_type: TaskType, task_id: str) -> Answer:
        """The state of the task, with its result if it ended and nobody has taken it yet.

        Raises:
            StoreUnavailable: the store cannot be asked now.
        """
        task = self._find(task_type, task_id)
        if task and not task.is_terminal and self.advance:
            self.advance(task)
            task = self._find(task_type, task_id)
        if task is None or not task.is_terminal:
            return Answer(task=task)
        return Answer(task=task, result=self.store.hand_out(task_id, self.clock.now(), self.grace))

    def _find(self, task_type: TaskType, task_id: str) -> Task | None:
        task = self.store.get(task_id)
        return task if task and task.task_type is task_type else None
