"""A job and its life: which status it shows, with how many items, after how much time or how many polls."""

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

from local.simulator.scripts import Script

PENDING = frozenset({0, 20, 42, 45})
DEFAULT_STATUSES = {"image": "20,42,45:0,50", "video": "20,50"}
DEFAULT_FAIL_CODES = {30: "100402"}


@dataclass(frozen=True)
class Order:
    """What a valid generate call asks for; sizes in pixels, `seconds` of video (0 for images)."""

    kind: str
    model: str
    prompt: str
    width: int
    height: int
    expected: int
    seconds: int
    draft: dict[str, Any]

    @property
    def is_video(self) -> bool:
        """Whether the result is one MP4 and not pictures."""
        return self.kind == "gen_video"


@dataclass(frozen=True)
class Step:
    """One moment of a job: `status` None means the field is left out, `missing` that the record is."""

    status: int | None
    items: int = 0
    missing: bool = False
    queued: bool = False


@dataclass
class Job:
    """One paid job. `kept` are the script values that stay with it; standing rules are looked at on every call."""

    history_id: str
    submit_id: str
    session: str
    aid: int
    order: Order
    kept: dict[str, Any]
    step_seconds: float
    created: float = field(default_factory=time.time)
    polls: int = 0

    def age(self) -> float:
        """Seconds since the job was accepted."""
        return time.time() - self.created

    def step(self, script: Script) -> Step:
        """Where the job stands now, vanishing included."""
        if self.age() < script.visible_after or _vanished(script.vanish, self.polls):
            return Step(None, missing=True)
        if self.age() < script.queue:
            return Step(20, queued=True)
        steps = self._steps(script)
        return steps[0] if script.stuck else steps[min(self._reached(script), len(steps) - 1)]

    def media_id(self, index: int) -> str:
        """32 hex digits naming item `index` of this job."""
        return hashlib.md5(f"{self.history_id}:{index}".encode()).hexdigest()

    def item_id(self, index: int) -> str:
        """19 digits, as the site's item ids."""
        return str(7 * 10**18 + int(self.history_id) % 10**14 * 100 + index)

    def expected_items(self, script: Script) -> int:
        """How many items a success delivers."""
        return self.order.expected if script.items is None else script.items

    def _reached(self, script: Script) -> int:
        if script.per_poll:
            return max(0, self.polls - 1)
        seconds = self.step_seconds if script.step_seconds is None else script.step_seconds
        return int((self.age() - script.queue) / seconds) if seconds > 0 else 10**9

    def _steps(self, script: Script) -> list[Step]:
        text = script.statuses or DEFAULT_STATUSES["video" if self.order.is_video else "image"]
        words = text.split(",")
        if script.fail:
            words[-1] = script.fail
        return [_step(word, self.expected_items(script)) for word in words]


def _step(word: str, expected: int) -> Step:
    if word == "missing":
        return Step(None, missing=True)
    if word == "none":
        return Step(None)
    status, colon, items = word.partition(":")
    default = expected if status == "50" else 0
    return Step(int(status), int(items) if colon else default)


def _vanished(window: str | None, polls: int) -> bool:
    if window is None or window == "always":
        return window == "always"
    first, _, last = window.partition("-")
    return int(first) <= polls <= (int(last) if last else polls)


def fail_code_of(step: Step, script: Script) -> str:
    """The record's `fail_code`: scripted, else a generic one for a plain failure, else empty."""
    if step.status is None or step.status in PENDING or step.status == 50:
        return ""
    if script.fail_code is not None:
        return script.fail_code
    return "" if script.starling_key else DEFAULT_FAIL_CODES.get(step.status, "")
