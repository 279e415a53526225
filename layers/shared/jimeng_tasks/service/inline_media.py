"""Use case: give the pictures of a result themselves, not only their addresses, while they are small."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from jimeng_tasks.domain.ports import MediaSource
from jimeng_tasks.exceptions import JimengTasksError

MAX_TOTAL_BYTES = 4 * 1024**2
"""With base64's third on top this stays under the 6 MB that a Lambda answer may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inlined:
    """The pictures as base64 text in the order of their addresses, or a ``notice`` why there are none."""

    pictures: Sequence[str] | None = None
    notice: str | None = None


@dataclass(frozen=True, kw_only=True)
class InlinePictures:
    """Reads stored pictures into an answer; all of them or, with a notice, none."""

    source: MediaSource
    limit: int = MAX_TOTAL_BYTES

    def __call__(self, urls: Sequence[str]) -> Inlined:
        """Read every picture; an error becomes a notice, since the addresses are an answer, too."""
        pictures: list[str] = []
        left = self.limit
        for url in urls:
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
