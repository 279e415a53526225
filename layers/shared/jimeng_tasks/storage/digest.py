"""What was sent to an object storage, to compare with what it kept."""

import hashlib
from collections.abc import Callable
from io import BytesIO
from typing import Protocol

from jimeng_tasks.domain.ports import ChunkReader

PART_BYTES = 5 * 1024 * 1024
"""The least that S3 takes as a part."""

CHUNK_BYTES = 1024 * 1024
PIECE_BYTES = 256 * 1024


class Digest:
    """Size and MD5s of bytes that come in pieces and are sent in parts of ``PART_BYTES``."""

    def __init__(self) -> None:
        self.size = 0
        self._open = _md5()
        self._closed: list[bytes] = []

    def update(self, data: bytes) -> None:
        """Count more bytes."""
        while data:
            room = PART_BYTES - self.size % PART_BYTES
            piece, data = data[:room], data[room:]
            self._open.update(piece)
            self.size += len(piece)
            if self.size % PART_BYTES == 0:
                self._closed.append(self._open.digest())
                self._open = _md5()

    def parts(self) -> list[bytes]:
        """The MD5 of each part; of an empty object, of its one empty part."""
        is_open = self.size % PART_BYTES or not self._closed
        return [*self._closed, self._open.digest()] if is_open else list(self._closed)

    def etags(self) -> set[str]:
        """What S3 answers for these bytes: the MD5 of one piece, or the MD5 of the parts' MD5s and their number."""
        parts = self.parts()
        sent_in_parts = f"{_md5(b''.join(parts)).hexdigest()}-{len(parts)}"
        return {sent_in_parts, parts[0].hex()} if len(parts) == 1 else {sent_in_parts}


def _md5(data: bytes = b"") -> "hashlib._Hash":
    return hashlib.md5(data, usedforsecurity=False)


class DigestingReader:
    """A reader that takes the digest of what is read through it, and that ends early once ``is_over`` says so.

    ``on_progress`` is called for every ``PIECE_BYTES``.
    """

    def __init__(self, chunks: ChunkReader, on_progress: Callable[[], None]) -> None:
        self.digest = Digest()
        self.is_over: Callable[[], bool] = lambda: False
        self._chunks = chunks
        self._on_progress = on_progress

    def read(self, size: int = -1, /) -> bytes:
        """``size`` bytes, fewer only at the end; without ``size`` all the rest."""
        data, left = BytesIO(), size
        while left and not self.is_over() and (piece := self._next(left)):
            data.write(piece)
            left -= len(piece)
            self._on_progress()
        return data.getvalue()

    def _next(self, left: int) -> bytes:
        piece = self._chunks.read(PIECE_BYTES if left < 0 else min(left, PIECE_BYTES))
        self.digest.update(piece)
        return piece


class Body(Protocol):
    """The body of a stored object."""

    def read(self, amt: int) -> bytes:
        """At most ``amt`` bytes; empty at the end."""


def digest_of(body: Body) -> Digest:
    """The digest of a whole object."""
    digest = Digest()
    while data := body.read(CHUNK_BYTES):
        digest.update(data)
    return digest
