"""Media and limits that the tests of the media source share."""

import io

from PIL import Image

from jimeng_tasks.domain.catalog import ReferenceLimits

LIMITS = ReferenceLimits(
    formats=frozenset({"png", "jpeg", "webp"}), max_bytes=200_000, min_side=16, max_side=4096, max_pixels=4_000_000
)
SIGNED = "?X-Amz-Signature=canary&token=canary"
MEBIBYTE = 1024 * 1024


def png(width: int = 64, height: int = 48) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((width, height), 80).save(buffer, "PNG")
    return buffer.getvalue()
