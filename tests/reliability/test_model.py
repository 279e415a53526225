"""Both stores against each other and against a plain model, with the invariants checked after every step."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test
from pymongo import MongoClient
from pymongo.database import Database

from jimeng_tasks.domain.task import RUNNING, TERMINAL, TaskStatus
from jimeng_tasks.store.documents import Document, result_from
from jimeng_tasks.store.memory import MemoryTaskStore
from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.mongo.connection import RESULTS, TASKS

from .soak import SOAK_SECONDS, is_soak
from .store_ground import CAPACITY, POLICY, SERVICES, TASK_IDS
from .store_machine import StoreMachine
from .store_pair import Plain, StorePair

EXAMPLES = SOAK_SECONDS * 2 if is_soak() else 70
STEPS = 60


class CheckedMachine(StoreMachine):
    """The machine with the invariants of the life cycle."""

    def __init__(self, pair: StorePair, database: Database[Document]) -> None:
        super().__init__()
        self.pair = pair
        self._database = database
        self._ended: dict[str, Plain] = {}
        self._submit_ids_seen: dict[str, tuple[str | None, ...]] = {}

    @invariant()
    def stores_and_model_agree(self) -> None:
        assert {task_id: self.pair.get(task_id) for task_id in TASK_IDS} == {
            task_id: self.tasks.get(task_id) for task_id in TASK_IDS
        }

    @invariant()
    def each_ended_task_has_its_one_result_until_it_is_consumed_or_expires(self) -> None:
        stored = [result_from(document) for document in self._database[RESULTS].find()]
        assert Counter(result.task_id for result in stored) == Counter(self.results.keys())
        assert {result.task_id: result for result in stored} == self.results
        for task_id, task in self.tasks.items():
            if task_id in self.results:
                assert task["status"] in TERMINAL
            elif task["status"] in TERMINAL:
                assert task["consumed_at"] is not None or self.now > task["completed_at"] + POLICY.result_expire

    @invariant()
    def nothing_is_paid_twice(self) -> None:
        assert max(self.paid.values(), default=0) <= 1
        for task_id in list(self._submit_ids_seen.keys() - self.tasks.keys()):
            del self._submit_ids_seen[task_id]
        for task_id in self.tasks:
            if None not in (submit_ids := self.pair.submit_ids.get(task_id, (None,))):
                assert self._submit_ids_seen.setdefault(task_id, submit_ids) == submit_ids

    @invariant()
    def no_service_runs_more_than_its_capacity(self) -> None:
        for service in SERVICES:
            running = [t for t in self.tasks.values() if t["server_id"] == service and t["status"] in RUNNING]
            assert len(running) <= CAPACITY
            assert len({task["slot"] for task in running}) == len(running)

    @invariant()
    def an_ended_task_never_changes_but_for_its_consumption(self) -> None:
        self._ended = {task_id: task for task_id, task in self._ended.items() if task_id in self.tasks}
        for task_id, task in self.tasks.items():
            if TaskStatus(task["status"]) in TERMINAL:
                assert {**self._ended.setdefault(task_id, task), "consumed_at": 0} == {**task, "consumed_at": 0}

    @invariant()
    def a_result_is_given_away_at_most_once(self) -> None:
        assert max(self.given_away.values(), default=0) <= 1

    @invariant()
    def a_task_keeps_its_account(self) -> None:
        for task_id, task in self.tasks.items():
            assert task["internal_params"]["refresh_token"] == f"account of {task_id}"


@pytest.mark.timeout(SOAK_SECONDS * 4 + 300)
def test_both_stores_do_what_the_model_does(
    mongo_client: MongoClient[Document], mongo_store: MongoTaskStore, database: Database[Document]
) -> None:
    class Machine(CheckedMachine):
        def __init__(self) -> None:
            for collection in (TASKS, RESULTS):
                database[collection].delete_many({})
            super().__init__(StorePair(MemoryTaskStore(), mongo_store), database)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=not is_soak(),
            # Making a failure smaller takes minutes: the long run has them.
            phases=list(Phase) if is_soak() else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
