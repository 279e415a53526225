"""Both stores side by side: every call goes to both, and what they say must be the same.

Claims and submit ids are fresh ids, so they differ; a claim is therefore told by its number, the n-th of the test.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.domain.task import Result, Task
from jimeng_tasks.domain.workload import TaskRef, Workload
from jimeng_tasks.exceptions import ClaimLost

type Plain = dict[str, Any]
type Step = Callable[[Task], Task | tuple[Task, Result] | None]


@dataclass(frozen=True)
class Hand:
    """A claimed task as each store gave it out; ``claim`` is its number."""

    tasks: tuple[Task, ...]
    claim: int

    @property
    def task(self) -> Task:
        """One of them; they differ in nothing but their ids."""
        return self.tasks[0]


class StorePair:
    """Asks all stores the same."""

    def __init__(self, *stores: TaskStore) -> None:
        self._stores = stores
        self._claims: dict[str, int] = {}
        self._claim = 0
        self.submit_ids: dict[str, tuple[str | None, ...]] = {}
        """The submit ids of each task as of its last `get`, one of each store."""

    def same[T](self, ask: Callable[[TaskStore], T]) -> T:
        """What every store answers."""
        answers = [ask(store) for store in self._stores]
        assert answers[1:] == answers[:-1], answers
        return answers[0]

    def plain(self, task: Task) -> Plain:
        """A task with its ids made comparable; its input pictures are told by `references` alone."""
        fields = asdict(task)
        fields["original_params"].pop("images", None)
        fields["claim_id"] = self._claims[task.claim_id] if task.claim_id else None
        fields["internal_params"]["submit_id"] = task.internal_params.submit_id is not None
        return fields

    def get(self, task_id: str) -> Plain | None:
        """A task."""
        found = [store.get(task_id) for store in self._stores]
        self.submit_ids[task_id] = tuple(task.internal_params.submit_id if task else None for task in found)
        plain = [self.plain(task) if task else None for task in found]
        assert plain[1:] == plain[:-1]
        return plain[0]

    def references(self, task_id: str) -> list[str]:
        """Addresses of a task's input pictures."""
        return self.same(lambda store: store.references(task_id))

    def submit(self, task: Task) -> Plain:
        """Post a task."""
        return self.same(lambda store: self.plain(store.submit(task)))

    def survey(self, server_id: str) -> Workload:
        """What a service has to do; the order of running tasks has no meaning."""
        found = [store.survey(server_id, 100) for store in self._stores]
        assert len({frozenset(work.running) for work in found}) == 1
        assert len({work.pending for work in found}) == 1
        return found[0]

    def claim_pending(
        self, server_id: str, refs: Sequence[TaskRef], slots: Sequence[int], now: int, lease: int
    ) -> list[Hand]:
        """Start pending tasks."""
        return self._claimed([store.claim_pending(server_id, refs, slots, now, lease) for store in self._stores])

    def claim_due(self, refs: Sequence[TaskRef], now: int, lease: int) -> list[Hand]:
        """Take running tasks."""
        return self._claimed([store.claim_due(refs, now, lease) for store in self._stores])

    def claim_overdue(self, now: int, lease: int) -> list[Hand]:
        """Take tasks past their deadline, in no order."""
        claimed = [store.claim_overdue(now, 100, lease) for store in self._stores]
        return self._claimed([sorted(tasks, key=lambda task: task.task_id) for tasks in claimed])

    def write(self, hand: Hand, step: Step) -> Hand | None:
        """Save or finish what a step makes of a claimed task; None when every store says that the claim was lost."""
        written = [self._write(store, task, step) for store, task in zip(self._stores, hand.tasks, strict=True)]
        kept = [task for task in written if task]
        assert len(kept) in (0, len(self._stores)), "the stores disagree on who holds the task"
        return Hand(tuple(kept), hand.claim) if kept else None

    def _claimed(self, claimed: list[list[Task]]) -> list[Hand]:
        self._claim += 1
        self._claims |= {task.claim_id: self._claim for tasks in claimed for task in tasks if task.claim_id}
        plain = [[self.plain(task) for task in tasks] for tasks in claimed]
        assert plain[1:] == plain[:-1]
        return [Hand(tasks, self._claim) for tasks in zip(*claimed, strict=True)]

    @staticmethod
    def _write(store: TaskStore, task: Task, step: Step) -> Task | None:
        made = step(task)
        try:
            match made:
                case (after, result):
                    store.finish(task, after, result)
                    return after
                case Task():
                    store.save(task, made)
                    return made
        except ClaimLost:
            return None
        raise AssertionError("the step does not apply to this task")
