"""Time that passes faster than ours, and invocations as Lambda makes them."""

import time
from dataclasses import dataclass

from jimeng_tasks.domain.ports import Clock


@dataclass
class FastClock(Clock):
    """This host's time, but since ``began`` it runs ``speed`` times as fast, and it is ``ahead`` seconds ahead.

    Processes that are given the same ``began`` and ``speed`` agree on the time.
    """

    began: float
    speed: float
    ahead: float = 0.0

    def now(self) -> int:
        return int(self.began + self.ahead + (time.time() - self.began) * self.speed)


class Invocation:
    """A Lambda context that has ``seconds`` from now."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._ends - time.monotonic()) * 1000))
