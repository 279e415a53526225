"""Kinds and sizes are read from bytes, real ones that Pillow wrote."""

import io

import pytest
from PIL import Image

from jimeng_tasks.media.sniff import is_mangled, picture_size, sniff

MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42" + bytes(64)
WEBM = b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm" + bytes(
    64
)
ISO_BRANDS = (b"iso2", b"iso5", b"iso6", b"avc1", b"mp71", b"dash", b"M4V ")


def picture(file_format: str, size: tuple[int, int] = (64, 48), **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise(size, 80).convert("RGB").save(buffer, file_format, **options)
    return buffer.getvalue()


def ftyp(brand: bytes, compatible: bytes = b"") -> bytes:
    box = b"ftyp" + brand + b"\x00\x00\x00\x01" + compatible
    return (len(box) + 4).to_bytes(4) + box + bytes(32)


@pytest.mark.parametrize(
    ("file_format", "name", "extension", "content_type"),
    [
        ("PNG", "png", "png", "image/png"),
        ("JPEG", "jpeg", "jpg", "image/jpeg"),
        ("WEBP", "webp", "webp", "image/webp"),
        ("GIF", "gif", "gif", "image/gif"),
        ("BMP", "bmp", "bmp", "image/bmp"),
        ("TIFF", "tiff", "tiff", "image/tiff"),
        ("AVIF", "avif", "avif", "image/avif"),
    ],
)
def test_a_picture_is_named_by_its_bytes(file_format: str, name: str, extension: str, content_type: str) -> None:
    data = picture(file_format)

    kind = sniff(data[:8192])

    assert kind is not None
    assert (kind.format, kind.extension, kind.content_type) == (name, extension, content_type)
    assert not kind.is_video
    assert picture_size(data) == (64, 48)


@pytest.mark.parametrize(
    ("data", "content_type", "extension"),
    [
        (MP4, "video/mp4", "mp4"),
        (WEBM, "video/webm", "webm"),
        (ftyp(b"qt  ", b"qt  "), "video/quicktime", "mov"),
        *((ftyp(brand, brand), "video/mp4", "mp4") for brand in ISO_BRANDS),
    ],
)
def test_a_video_is_named_by_its_bytes(data: bytes, content_type: str, extension: str) -> None:
    kind = sniff(data)

    assert kind is not None
    assert kind.is_video
    assert (kind.content_type, kind.extension) == (content_type, extension)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89",
        b"<!DOCTYPE html><html><body>sorry</body></html>",
        b'{"ret":"1015","errmsg":"check login error"}',
        b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
        b"%PDF-1.7\n",
        b"ID3\x04\x00\x00\x00\x00\x00\x00",
        ftyp(b"M4A ", b"M4A "),
        b"RIFF\x24\x00\x00\x00WAVEfmt ",
        b"PK\x03\x04" + bytes(40),
    ],
)
def test_whatever_is_no_picture_or_video_has_no_kind(data: bytes) -> None:
    assert sniff(data) is None


def test_an_animated_png_is_a_png() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    data = io.BytesIO()
    frames[0].save(data, "PNG", save_all=True, append_images=frames[1:])

    kind = sniff(data.getvalue())

    assert kind is not None
    assert kind.format == "png"


@pytest.mark.parametrize(
    ("file_format", "decoding"),
    [
        ("PNG", "utf-8"),
        ("JPEG", "utf-8"),
        ("WEBP", "utf-8"),
        ("GIF", "utf-8"),
        ("BMP", "utf-8"),
        ("PNG", "latin-1"),
        ("JPEG", "latin-1"),
    ],
)
def test_bytes_that_went_through_text_are_recognised(file_format: str, decoding: str) -> None:
    mangled = picture(file_format).decode(decoding, errors="replace").encode()

    assert is_mangled(mangled)


@pytest.mark.parametrize("file_format", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "AVIF"])
def test_whole_pictures_do_not_count_as_mangled(file_format: str) -> None:
    assert not is_mangled(picture(file_format, (300, 200)))


def test_a_turned_photograph_has_the_size_that_is_seen() -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    data = picture("JPEG", (64, 48), exif=turned)

    assert picture_size(data) == (48, 64)


@pytest.mark.parametrize("length", [0, 1, 8, 12, 20])
def test_a_header_that_is_cut_off_has_no_size(length: int) -> None:
    assert picture_size(picture("PNG")[:length]) is None
