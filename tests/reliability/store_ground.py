"""The ground that the state machine of the stores stands on: its model, time, clients and housekeeping.

The model is dictionaries: tasks and results by task id.
"""

from collections import Counter
from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from jimeng_tasks.domain.lifecycle import Policy
from jimeng_tasks.domain.task import TERMINAL, InternalParams, Result, Task, TaskType
from jimeng_tasks.domain.workload import Workload
from tests.contract.samples import NOW, new_task

from .store_pair import Hand, Plain, StorePair

SERVICES = ("s1", "s2")
CAPACITY = 2
POLLS_BETWEEN_CLEANINGS = 3
POLLS_BETWEEN_LONG_PAUSES = 6
POLICY = Policy(lease=60, submit_lease=60, result_expire=1000)
RETENTION = 2000
TASK_IDS = [f"t{number}" for number in range(6)]
TASK_TIMEOUT = 1500
PAUSES = [1, 5, 10, 10, 30, 60, 61]
LONG_PAUSES = [1000, 1001, 1500, 2001]


@dataclass
class Held:
    """A claim in the hands of one poller; ``may_pay`` while its paid call is still to come."""

    hand: Hand
    may_pay: bool = False

    @property
    def task(self) -> Task:
        return self.hand.task


class Ground(RuleBasedStateMachine):
    """See the module. The class that runs it gives it its stores."""

    pair: StorePair

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.tasks: dict[str, Plain] = {}
        self.results: dict[str, Result] = {}
        self.held: list[Held] = []
        self.polls = 0
        self.is_busy = True
        """Something was done since time passed last: two pauses are but one."""
        self.looks: dict[str, Workload] = {}
        self.paid: Counter[tuple[str | None, ...]] = Counter()
        self.given_away: Counter[str] = Counter()

    # -- time and clients

    @initialize(number=st.integers(0, len(TASK_IDS)))
    def post_some(self, number: int) -> None:
        for index, task_id in enumerate(TASK_IDS[:number]):
            self.now += 1
            self.post(task_id, SERVICES[index % 3 == 2], TaskType.IMAGE)

    @precondition(lambda self: self.is_busy)
    @rule(seconds=st.sampled_from(PAUSES))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        self.is_busy = False

    @precondition(lambda self: self.polls >= POLLS_BETWEEN_LONG_PAUSES)
    @rule(seconds=st.sampled_from(LONG_PAUSES))
    def much_time_passes(self, seconds: int) -> None:
        """Seldom, or there would be nothing but tasks past their deadline."""
        self.now += seconds
        self.polls = 0

    @precondition(lambda self: len(self.tasks) < len(TASK_IDS))
    @rule(task_id=st.sampled_from(TASK_IDS), service=st.sampled_from(SERVICES), kind=st.sampled_from(TaskType))
    def post(self, task_id: str, service: str, kind: TaskType) -> None:
        task = new_task(
            task_id,
            created_at=self.now,
            server_id=service,
            task_type=kind,
            original_params={"prompt": task_id, "images": [{"url": "u"}]},
            internal_params=InternalParams(refresh_token=f"account of {task_id}"),
            task_timeout=TASK_TIMEOUT,
            deadline_at=self.now + TASK_TIMEOUT,
        )
        stored = self.pair.submit(task)
        if task_id not in self.tasks:
            self.given_away[task_id] = 0
        assert stored == self.tasks.setdefault(task_id, self.pair.plain(task))
        assert self.pair.references(task_id) == ["u"]

    @precondition(lambda self: self.is_busy)
    @rule(data=st.data(), grace=st.sampled_from([0, 0, 30]))
    def ask_for_result(self, data: st.DataObject, grace: int) -> None:
        task_id = data.draw(st.sampled_from(sorted(self.results) or TASK_IDS))
        given = self.pair.same(lambda store: store.hand_out(task_id, self.now, grace))
        kept = self.results.get(task_id)
        if kept is None or kept.expires_at < self.now:
            assert given is None
            return
        assert given is not None
        assert replace(given, expires_at=0) == replace(kept, expires_at=0)
        self.tasks[task_id]["consumed_at"] = self.tasks[task_id]["consumed_at"] or self.now
        if grace:
            self.results[task_id] = replace(kept, expires_at=min(kept.expires_at, self.now + grace))
        else:
            del self.results[task_id]
            self.given_away[task_id] += 1

    @precondition(lambda self: self.polls >= POLLS_BETWEEN_CLEANINGS)
    @rule()
    def clean(self) -> None:
        expired = [task_id for task_id, result in self.results.items() if result.expires_at < self.now]
        old = [
            task_id
            for task_id, task in self.tasks.items()
            if task["status"] in TERMINAL and task["updated_at"] < self.now - RETENTION
        ]
        for gone, kept in ((expired, self.results), (old, self.tasks)):
            for task_id in gone:
                del kept[task_id]
        assert self.pair.same(lambda store: store.clean(self.now, RETENTION)) == len(expired) + len(old)
