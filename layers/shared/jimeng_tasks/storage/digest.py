"""What was sent to an object storage, to compare with what it kept."""

import hashlib
from typing import Protocol

from jimeng_tasks.domain.ports import ChunkReader

PART_BYTES = 8 * 1024 * 1024
CHUNK_BYTES = 1024 * 1024


class Digest:
    """Size and MD5 of bytes that come in pieces and are sent in parts of ``PART_BYTES``."""

    def __init__(self) -> None:
        self.size = 0
        self._whole = _md5()
        self._part = _md5()
        self._parts: list[bytes] = []

    def update(self, data: bytes) -> None:
        """Count more bytes."""
        self._whole.update(data)
        while data:
            room = PART_BYTES - self.size % PART_BYTES
            piece, data = data[:room], data[room:]
            self._part.update(piece)
            self.size += len(piece)
            if self.size % PART_BYTES == 0:
                self._close_part()

    def md5(self) -> str:
        """The MD5 of all bytes in hex: the ETag of an object that was sent in one piece."""
        return self._whole.hexdigest()

    def multipart_etag(self) -> str:
        """The ETag that S3 gives an object that was sent in parts: the MD5 of their MD5s, and their number."""
        if self.size % PART_BYTES:
            self._close_part()
        return f"{_md5(b''.join(self._parts)).hexdigest()}-{len(self._parts)}"

    def _close_part(self) -> None:
        self._parts.append(self._part.digest())
        self._part = _md5()


def _md5(data: bytes = b"") -> "hashlib._Hash":
    return hashlib.md5(data, usedforsecurity=False)


class DigestingReader:
    """A reader that takes the digest of what is read through it."""

    def __init__(self, chunks: ChunkReader) -> None:
        self.digest = Digest()
        self._chunks = chunks

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes; empty at the end."""
        data = self._chunks.read(size)
        self.digest.update(data)
        return data


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
