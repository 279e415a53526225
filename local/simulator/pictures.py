"""Real pictures: one flat colour at the asked size, told apart by a label chunk, padded to any size."""

import io
import struct
import zlib
from functools import lru_cache

from PIL import Image

from local.simulator.blobs import BLOCK, Blob

LONGEST_SIDE = 2048
PALETTE_STEPS = (40, 90, 140, 190)
CHUNK_OVERHEAD = 12


def png(width: int, height: int, label: str, size: int = 0) -> Blob:
    """A PNG of a colour that follows from the label; private ancillary chunks fill it up to `size` bytes."""
    plain = _encoded(*_scaled(width, height), colour_of(label), "PNG")
    body, end = plain[:-CHUNK_OVERHEAD], plain[-CHUNK_OVERHEAD:]
    head = body + _chunk(b"tEXt", b"Comment\0" + label.encode("latin-1"))
    missing = size - len(head) - len(end)
    if missing < CHUNK_OVERHEAD:
        return Blob(head + end)
    repeats, rest = divmod(missing, BLOCK)
    if 0 < rest < CHUNK_OVERHEAD:
        repeats, rest = repeats - 1, rest + BLOCK
    tail = _padding(rest) if rest else b""
    return Blob(head, _padding(BLOCK), max(repeats, 0), tail + end)


def picture(width: int, height: int, label: str, form: str) -> Blob:
    """A JPEG or WebP of a colour that follows from the label."""
    return Blob(_encoded(*_scaled(width, height), colour_of(label), form.upper()))


def colour_of(label: str) -> tuple[int, int, int]:
    """One of 64 colours."""
    code = zlib.crc32(label.encode())
    return PALETTE_STEPS[code & 3], PALETTE_STEPS[code >> 2 & 3], PALETTE_STEPS[code >> 4 & 3]


def _scaled(width: int, height: int) -> tuple[int, int]:
    factor = min(1.0, LONGEST_SIDE / max(width, height))
    return max(1, round(width * factor)), max(1, round(height * factor))


@lru_cache(maxsize=256)
def _encoded(width: int, height: int, colour: tuple[int, int, int], form: str) -> bytes:
    buffer = io.BytesIO()
    image = Image.new("RGB", (width, height), colour)
    if form == "PNG":
        image = Image.new("P", (width, height), 0)
        image.putpalette(colour)
    image.save(buffer, form)
    return buffer.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@lru_cache(maxsize=64)
def _padding(size: int) -> bytes:
    return _chunk(b"paDd", bytes(size - CHUNK_OVERHEAD))
