"""Real MP4 files: ftyp, moov and mdat around a flat-coloured H.264 stream, padded by a `free` box."""

import struct
from functools import lru_cache

from local.simulator.blobs import BLOCK, Blob
from local.simulator.h264 import frames, parameter_sets
from local.simulator.pictures import colour_of

FPS = 24
TIMESCALE = 1000
MEDIA_TIMESCALE = 24
MATRIX = struct.pack(">9i", 65536, 0, 0, 0, 65536, 0, 0, 0, 0x40000000)
FTYP = b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41"


def mp4(width: int, height: int, seconds: int, label: str, size: int = 0) -> Blob:
    """A playable clip of a colour that follows from the label, filled up to `size` bytes."""
    head = _movie(width, height, max(seconds, 1), colour_of(label)) + _box(b"free", label.encode())
    missing = size - len(head)
    if missing < 8:
        return Blob(head)
    head += struct.pack(">I4s", missing, b"free")
    repeats, rest = divmod(missing - 8, BLOCK)
    return Blob(head, bytes(BLOCK), repeats, bytes(rest))


@lru_cache(maxsize=64)
def _movie(width: int, height: int, seconds: int, colour: tuple[int, int, int]) -> bytes:
    samples = [struct.pack(">I", len(unit)) + unit for unit in frames(width, height, colour, seconds * FPS)]
    mdat_at = len(FTYP) + len(_moov(width, height, seconds, samples, 0))
    return FTYP + _moov(width, height, seconds, samples, mdat_at + 8) + _box(b"mdat", b"".join(samples))


def _box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def _full(kind: bytes, flags: int, *parts: bytes) -> bytes:
    return _box(kind, struct.pack(">I", flags), *parts)


def _moov(width: int, height: int, seconds: int, samples: list[bytes], offset: int) -> bytes:
    duration = seconds * TIMESCALE
    mvhd = _full(
        b"mvhd",
        0,
        struct.pack(">4IiH10x", 0, 0, TIMESCALE, duration, 65536, 256),
        MATRIX,
        bytes(24),
        struct.pack(">I", 2),
    )
    tkhd = _full(
        b"tkhd",
        3,
        struct.pack(">3I4xI8x4h", 0, 0, 1, duration, 0, 0, 0, 0),
        MATRIX,
        struct.pack(">2I", width << 16, height << 16),
    )
    mdhd = _full(b"mdhd", 0, struct.pack(">4I2H", 0, 0, MEDIA_TIMESCALE, seconds * MEDIA_TIMESCALE, 0x55C4, 0))
    hdlr = _full(b"hdlr", 0, struct.pack(">4x4s12x", b"vide"), b"VideoHandler\0")
    dinf = _box(b"dinf", _full(b"dref", 0, struct.pack(">I", 1), _full(b"url ", 1)))
    minf = _box(b"minf", _full(b"vmhd", 1, bytes(8)), dinf, _stbl(width, height, samples, offset))
    return _box(b"moov", mvhd, _box(b"trak", tkhd, _box(b"mdia", mdhd, hdlr, minf)))


def _stbl(width: int, height: int, samples: list[bytes], offset: int) -> bytes:
    count = len(samples)
    return _box(
        b"stbl",
        _full(b"stsd", 0, struct.pack(">I", 1), _avc1(width, height)),
        _full(b"stts", 0, struct.pack(">3I", 1, count, MEDIA_TIMESCALE // FPS)),
        _full(b"stss", 0, struct.pack(">2I", 1, 1)),
        _full(b"stsc", 0, struct.pack(">4I", 1, 1, count, 1)),
        _full(b"stsz", 0, struct.pack(f">2I{count}I", 0, count, *map(len, samples))),
        _full(b"stco", 0, struct.pack(">2I", 1, offset)),
    )


def _avc1(width: int, height: int) -> bytes:
    sps, pps = parameter_sets(width, height)
    avcc = _box(
        b"avcC",
        bytes([1, *sps[1:4], 0xFF, 0xE1]),
        struct.pack(">H", len(sps)) + sps,
        b"\x01" + struct.pack(">H", len(pps)) + pps,
    )
    entry = struct.pack(">6xH16x2H2I4xH32xHh", 1, width, height, 72 << 16, 72 << 16, 1, 24, -1)
    return _box(b"avc1", entry, avcc)
