"""Real picture bytes for tests."""

import io

from PIL import Image


def picture(width: int, height: int, form: str) -> bytes:
    """An encoded picture of one colour."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (40, 90, 140)).save(buffer, form)
    return buffer.getvalue()


def png(width: int, height: int) -> bytes:
    """A PNG."""
    return picture(width, height, "PNG")
