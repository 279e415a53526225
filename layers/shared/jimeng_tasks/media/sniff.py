"""What a file is, read from its bytes alone: names, addresses and declared types are never believed."""

import io
from collections.abc import Mapping
from dataclasses import dataclass

HEAD_BYTES = 8192
"""How much of a file `sniff` looks at."""


@dataclass(frozen=True, slots=True)
class MediaKind:
    """A kind of picture or video: our name for it, its file extension and its content type."""

    format: str
    extension: str
    content_type: str

    @property
    def is_video(self) -> bool:
        """Whether it is a video."""
        return self.content_type.startswith("video/")


_PNG = MediaKind("png", "png", "image/png")
_MP4 = MediaKind("mp4", "mp4", "video/mp4")

KINDS: Mapping[str, MediaKind] = {
    "image/png": _PNG,
    "image/apng": _PNG,
    "image/jpeg": MediaKind("jpeg", "jpg", "image/jpeg"),
    "image/webp": MediaKind("webp", "webp", "image/webp"),
    "image/gif": MediaKind("gif", "gif", "image/gif"),
    "image/bmp": MediaKind("bmp", "bmp", "image/bmp"),
    "image/tiff": MediaKind("tiff", "tiff", "image/tiff"),
    "image/heic": MediaKind("heic", "heic", "image/heic"),
    "image/avif": MediaKind("avif", "avif", "image/avif"),
    "video/mp4": _MP4,
    "video/x-m4v": _MP4,
    "video/quicktime": MediaKind("mov", "mov", "video/quicktime"),
    "video/webm": MediaKind("webm", "webm", "video/webm"),
}
"""Every kind this product handles, by the type that the filetype library reports."""

_MP4_BRANDS = (b"iso", b"avc", b"mp4", b"mp7", b"dash", b"M4V")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
# PNG and JPEG signatures whose bytes were taken for Latin-1 and written out as UTF-8.
_WIDENED = ("\x89PNG".encode(), "\xff\xd8\xff".encode())


def sniff(head: bytes) -> MediaKind | None:
    """The kind of a file that begins with ``head``; None for everything that is no known picture or video."""
    import filetype  # here, to keep it out of a cold start

    found = filetype.image_match(head) or filetype.video_match(head)
    if found is not None:
        return KINDS.get(found.mime)
    # The library knows three MP4 brands; fragmented and DASH files name others.
    return _MP4 if head[4:8] == b"ftyp" and head[8:12].startswith(_MP4_BRANDS) else None


def is_mangled(data: bytes) -> bool:
    """Whether binary bytes were decoded as text on their way here, as a gateway without binary types does.

    Then U+FFFD stands where bytes from 0x80 were. Its three bytes hardly ever meet in real compressed data, so three
    of them betray even a GIF or WEBP, whose signature is plain text and survives.
    """
    head = data[:HEAD_BYTES]
    if head.startswith(_WIDENED) or head.count(_REPLACEMENT) >= 3:
        return True
    return _REPLACEMENT in head[:64] and sniff(head) is None


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels as the picture is shown (EXIF rotation applied), read from its header alone.

    None when the header is damaged.
    """
    import imagesize  # here, to keep it out of a cold start

    width, height = imagesize.get(io.BytesIO(data))
    return (int(width), int(height)) if width > 0 and height > 0 else None
