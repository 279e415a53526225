"""Bytes of any size without holding them: a head, one block repeated, a tail."""

from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = 65_536
CHUNK_BLOCKS = 4


@dataclass(frozen=True)
class Blob:
    """`head`, then `block` `repeats` times, then `tail`."""

    head: bytes
    block: bytes = b""
    repeats: int = 0
    tail: bytes = b""

    @property
    def size(self) -> int:
        """All bytes."""
        return len(self.head) + len(self.block) * self.repeats + len(self.tail)

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """The bytes from `start` up to `stop`, in chunks of at most 256 KiB."""
        step = BLOCK * CHUNK_BLOCKS
        for position in range(start, stop, step):
            yield self._slice(position, min(position + step, stop))

    def _slice(self, start: int, stop: int) -> bytes:
        middle = len(self.head)
        end = middle + len(self.block) * self.repeats
        parts = [self.head[start:stop]]
        if self.repeats and start < end and stop > middle:
            first, last = max(start, middle) - middle, min(stop, end) - middle
            skipped = first // len(self.block)
            run = self.block * (-(-last // len(self.block)) - skipped)
            offset = skipped * len(self.block)
            parts.append(run[first - offset : last - offset])
        if stop > end:
            parts.append(self.tail[max(start - end, 0) : stop - end])
        return b"".join(parts)
