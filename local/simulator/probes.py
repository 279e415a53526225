"""What can be read from uploaded bytes: the facts Commit answers with (jimeng-wire 6.5, 6.8)."""

import io
import struct

from PIL import Image, UnidentifiedImageError

from local.simulator.answers import Json


def image_facts(body: bytes) -> tuple[int, int, str] | None:
    """(width, height, format) of a picture, None if the bytes are none."""
    try:
        with Image.open(io.BytesIO(body)) as image:
            return image.width, image.height, (image.format or "").lower()
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError):
        return None


def movie_facts(body: bytes) -> Json:
    """`VideoMeta` fields of an MP4, nothing for other bytes (audio has no duration on the wire either)."""
    header, track = body.find(b"mvhd"), body.find(b"tkhd")
    if header < 0 or track < 0 or len(body) < max(header + 24, track + 88):
        return {}
    timescale, duration = struct.unpack(">II", body[header + 16 : header + 24])
    width, height = struct.unpack(">II", body[track + 80 : track + 88])
    return {
        "Width": width >> 16,
        "Height": height >> 16,
        "Duration": duration / max(timescale, 1),
        "Format": "MP4",
        "Codec": "h264",
        "Fps": 24,
    }
