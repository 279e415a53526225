"""Use case: give the pictures of a result themselves, not only their addresses, while they are small."""

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass

from jimeng_tasks.domain.ports import MediaSource
from jimeng_tasks.exceptions import JimengTasksError

MAX_TOTAL_BYTES = 4 * 1024**2
"""With base64's third on top this stays under the 6 MB that a Lambda answer may have."""
INLINE_SECONDS = 6
"""The result is handed out by then, so the answer must reach the client before the gateway gives up on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inlined:
    """The pictures as base64 text in the order of their addresses, or a ``notice`` why there are none."""

    pictures: Sequence[str] | None = None
    notice: str | None = None


@dataclass(frozen=True, kw_only=True)
class InlinePictures:
    """Reads stored pictures into an answer; all of them or, with a notice, none.

    No picture is begun when ``seconds`` are over; ``source`` bounds the time of each.
    """

    source: MediaSource
    limit: int = MAX_TOTAL_BYTES
    seconds: float = INLINE_SECONDS

    def __call__(self, urls: Sequence[str]) -> Inlined:
        """Read every picture; an error becomes a notice, since the addresses are an answer, too."""
        pictures: list[str] = []
        left, until = self.limit, time.monotonic() + self.seconds
        for url in urls:
            if time.monotonic() > until:
                return Inlined(notice="the pictures came too slowly for b64_json: use their addresses in urls")
            try:
                with self.source.open(url) as stream:
                    data = stream.read(left + 1)
            except JimengTasksError:
                return Inlined(notice="a picture could not be read for b64_json: use its address in urls")
            left -= len(data)
            if left < 0:
                return Inlined(notice=f"the pictures have over {self.limit} bytes, too many for b64_json: use urls")
            pictures.append(base64.b64encode(data).decode())
        return Inlined(pictures=pictures)
