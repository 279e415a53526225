"""A machine that does to both stores, in any order, what clients, pollers and housekeeping do, and to a model of them.

It also plays the provider, whose books show double payments.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from jimeng_tasks.domain import lifecycle
from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.domain.task import TERMINAL, Result, SubmitPhase, Task, TaskStatus
from jimeng_tasks.domain.workload import TaskRef
from jimeng_tasks.exceptions import RateLimited

from .store_ground import CAPACITY, POLICY, SERVICES, TASK_TIMEOUT, Ground, Held
from .store_pair import Hand, Step

WAYS = ["submits", "finishes", "starts", "races", "takes", "sweeps"]
REFUSED = RateLimited("too many requests")


class StoreMachine(Ground):
    """See the module."""

    # -- claims, by a look that may be an old one

    def look(self, service: str) -> None:
        work = self.looks[service] = self.pair.survey(service)
        mine = [task for task in self.tasks.values() if task["server_id"] == service]
        pending = sorted((t for t in mine if t["status"] is TaskStatus.PENDING), key=lambda t: t["next_poll_at"])
        assert [ref.task_id for ref in work.pending] == [task["task_id"] for task in pending]
        running = {t["task_id"] for t in mine if t["status"] in (TaskStatus.PROCESSING, TaskStatus.POLLING)}
        assert {ref.task_id for ref in work.running} == running

    def _look_again(self, service: str, is_late: bool) -> None:
        if not (is_late and service in self.looks):
            self.look(service)

    @rule(service=st.sampled_from(SERVICES), is_late=st.booleans(), way=st.sampled_from(WAYS))
    def poll(self, service: str, is_late: bool, way: str) -> None:
        ways: dict[str, Callable[[], None]] = {
            "submits": lambda: self.poller_submits(service),
            "finishes": lambda: self.poller_finishes(service),
            "starts": lambda: self.start(service, is_late=is_late),
            "races": lambda: self.race(service),
            "takes": lambda: self.take_due(service, is_late=is_late),
            "sweeps": self.sweep,
        }
        ways[way]()
        self.polls += 1
        self.is_busy = True

    def start(self, service: str, *, is_late: bool) -> None:
        self._look_again(service, is_late)
        work = self.looks[service]
        self._claim(service, work.startable(self.now), work.free_slots(CAPACITY))

    def race(self, service: str) -> None:
        """Start the youngest tasks on slots that were free once, as one does whose look is very old."""
        self.look(service)
        self._claim(service, self.looks[service].startable(self.now)[::-1], list(range(CAPACITY)))

    def _claim(self, service: str, refs: list[TaskRef], slots: list[int]) -> None:
        slot_of = self._startable(service, [ref.task_id for ref in refs], slots)
        hands = self.pair.claim_pending(service, refs, slots, self.now, POLICY.lease)
        assert [hand.task.task_id for hand in hands] == list(slot_of)
        self._take(
            hands,
            status=TaskStatus.PROCESSING,
            submit_phase=SubmitPhase.PREPARING,
            started_at=self.now,
            deadline_at=self.now + TASK_TIMEOUT,
        )
        for task_id, slot in slot_of.items():
            self.tasks[task_id]["slot"] = slot
            self.tasks[task_id]["internal_params"]["submit_id"] = True

    def _startable(self, service: str, task_ids: list[str], slots: list[int]) -> dict[str, int]:
        used = {task["slot"] for task in self.tasks.values() if task["server_id"] == service}
        free: dict[str, int] = {}
        for task_id, slot in zip(task_ids, slots, strict=False):
            if not self._is_waiting(service, task_id):
                continue
            if slot in used:
                break
            free[task_id] = slot
        return free

    def _is_waiting(self, service: str, task_id: str) -> bool:
        task = self.tasks.get(task_id)
        return (
            task is not None
            and task["server_id"] == service
            and task["status"] is TaskStatus.PENDING
            and task["next_poll_at"] <= self.now < task["deadline_at"]
        )

    def take_due(self, service: str, *, is_late: bool) -> None:
        self._look_again(service, is_late)
        refs = self.looks[service].due(self.now)
        hands = self.pair.claim_due(refs, self.now, POLICY.lease)
        still_due = [ref.task_id for ref in refs if self._is_due(ref.task_id)]
        assert [hand.task.task_id for hand in hands] == still_due
        self._take(hands)

    def _is_due(self, task_id: str) -> bool:
        task = self.tasks.get(task_id)
        return bool(task and task["slot"] is not None and task["next_poll_at"] <= self.now)

    def sweep(self) -> None:
        overdue = sorted(
            task_id
            for task_id, task in self.tasks.items()
            if task["status"] not in TERMINAL
            and task["deadline_at"] <= self.now
            and (task["claim_id"] is None or task["next_poll_at"] <= self.now)
        )
        hands = self.pair.claim_overdue(self.now, POLICY.lease)
        assert [hand.task.task_id for hand in hands] == overdue
        self._take(hands)

    def _take(self, hands: list[Hand], **changes: Any) -> None:
        self.held += [Held(hand) for hand in hands]
        for hand in hands:
            claim = {"claim_id": hand.claim, "next_poll_at": self.now + POLICY.lease, "updated_at": self.now}
            self.tasks[hand.task.task_id] |= {**claim, **changes}

    # -- what the holder of a claim, or who believes to be, does with it

    @precondition(lambda self: self.held)
    @rule(data=st.data(), pays=st.booleans())
    def hold(self, data: st.DataObject, pays: bool) -> None:
        held = data.draw(st.sampled_from(self.held))
        steps = self._steps(held)
        actions: dict[str, Callable[[], None]] = {
            "crash": lambda: self.held.remove(held),
            **{name: partial(self._write, held, step) for name, step in steps.items()},
        }
        if held.task.submit_phase is SubmitPhase.PREPARING:
            actions["send"] = lambda: self._send(held, pays)
        if held.may_pay:
            actions["pay"] = lambda: self._pay(held)
        actions[data.draw(st.sampled_from(sorted(actions)))]()
        self.is_busy = True

    def _send(self, held: Held, pays: bool) -> None:
        step = partial(lifecycle.sending, mapped_model="m", component_id="c", now=self.now, policy=POLICY)
        self._write(held, step, may_pay=pays)

    def _pay(self, held: Held) -> None:
        """The paid call, which the product makes only while its lease runs."""
        held.may_pay = False
        if self.now < (held.task.next_poll_at or 0):
            self.paid[self._submit_ids(held)] += 1

    def poller_submits(self, service: str) -> None:
        """The usual way of pending tasks, without anything in between."""
        for held in self._fresh(lambda: self.start(service, is_late=False)):
            self._send(held, pays=True)
        for held in [held for held in self.held if held.may_pay]:
            self._pay(held)
            self._settle_if_possible(held, "accept")

    def poller_finishes(self, service: str) -> None:
        """The usual way of running tasks, without anything in between."""
        for held in self._fresh(lambda: self.take_due(service, is_late=False)):
            self._settle_if_possible(held, "deliver")

    def _fresh(self, take: Callable[[], None]) -> list[Held]:
        known = len(self.held)
        take()
        return self.held[known:]

    def _settle_if_possible(self, held: Held, name: str) -> None:
        if name in (steps := self._steps(held)):
            self._write(held, steps[name])

    def _steps(self, held: Held) -> dict[str, Step]:
        """What the product may write here."""
        task, now = held.task, self.now
        was_paid = self.paid[self._submit_ids(held)] > 0
        is_sent = task.submit_phase is SubmitPhase.SENT and not held.may_pay
        is_unpaid = task.status is TaskStatus.PROCESSING and not was_paid and not held.may_pay
        has_retries = task.retry_count < task.max_retries
        steps: dict[str, tuple[bool, Step]] = {
            "accept": (is_sent and was_paid, lambda task: lifecycle.accepted(task, "4711", now)),
            "again": (is_sent and not was_paid and has_retries, lambda task: lifecycle.resubmitting(task, now)),
            "requeue": (is_unpaid and has_retries, lambda task: lifecycle.requeued(task, REFUSED, now, 10)),
            "release": (True, lambda task: lifecycle.released(task, now)),
            "deliver": (task.status is TaskStatus.POLLING, lambda task: _completed(task, now)),
            "fail": (self.now >= task.deadline_at, lambda task: lifecycle.timed_out(task, now, POLICY)),
        }
        return {name: step for name, (is_possible, step) in steps.items() if is_possible}

    def _submit_ids(self, held: Held) -> tuple[str | None, ...]:
        return tuple(task.internal_params.submit_id for task in held.hand.tasks)

    def _write(self, held: Held, step: Step, *, may_pay: bool = False) -> None:
        kept = self.tasks.get(held.task.task_id)
        holds = bool(kept and (kept["claim_id"], kept["status"]) == (held.hand.claim, held.task.status))
        made = step(held.task)
        after = self.pair.write(held.hand, step)
        assert (after is not None) is holds
        self.held.remove(held)
        if after is None:
            return
        self.tasks[after.task.task_id] = {**self.pair.plain(after.task), **_given_up(after.task)}
        if isinstance(made, tuple):
            self.results[after.task.task_id] = made[1]
        if after.task.claim_id:
            self.held.append(Held(after, may_pay))


def _completed(task: Task, now: int) -> tuple[Task, Result]:
    progress = Progress(history_id="4711", state=ProgressState.SUCCEEDED, urls=("https://jimeng.example/1",))
    return lifecycle.completed(lifecycle.delivered(task, progress, None, now, POLICY), now, POLICY)


def _given_up(task: Task) -> dict[str, Any]:
    return {"claim_id": None, "slot": None, "next_poll_at": None} if task.is_terminal else {}
