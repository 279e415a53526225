"""Pictures that a client uploads, in any of the accepted ways."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile

from jimeng_tasks.domain.catalog import ReferenceLimits
from jimeng_tasks.domain.ports import MediaSource
from jimeng_tasks.domain.provider import Picture
from jimeng_tasks.exceptions import FetchFailed, RequestError, UnsupportedMedia
from jimeng_tasks.media.pictures import decode_inline, picture_from_bytes
from jimeng_tasks.media.sniff import is_mangled
from jimeng_tasks.service.faults import listed, shown

from .bodies import FORMS, JSON, FormRequest, LimitedRequest, media_type, read_json

MAX_PICTURES = 10
PARALLEL_FETCHES = 5
LIST_FIELDS = ("images", "image", "url", "image_url", "file", "files", "b64_json")
ITEM_FIELDS = ("url", "image_url", "image", "b64_json")
EXPECTED = "send files as multipart/form-data, or JSON with images: addresses, data URIs or base64"


@dataclass(frozen=True, slots=True)
class SentPicture:
    """One picture as it came: its bytes, or text that is an address, a data URI or base64; ``label`` tells where."""

    label: str
    content: bytes | str = field(repr=False)


async def sent_pictures(request: Request) -> list[SentPicture]:
    """All pictures of an upload, in order.

    Raises:
        UnsupportedMedia: the body is neither a form nor JSON.
        RequestError: no picture, too many, or something that is none.
    """
    sent = media_type(request)
    if sent in FORMS:
        whole = FormRequest(request.scope, request.receive)
        async with whole.form(max_files=MAX_PICTURES, max_part_size=whole.limit) as form:
            pictures = [picture async for picture in _in_form(form)]
    elif sent.startswith("application/") and sent.endswith("json"):
        pictures = list(_in_json(await read_json(LimitedRequest(request.scope, request.receive))))
    else:
        raise UnsupportedMedia(f"the body is {shown(sent)}; this route takes {FORMS[0]} and {JSON}: {EXPECTED}")
    if not pictures:
        raise RequestError(f"no picture was sent: {EXPECTED}")
    if len(pictures) > MAX_PICTURES:
        raise RequestError(f"{len(pictures)} pictures are too many; at most {MAX_PICTURES} are allowed")
    return pictures


async def _in_form(form: FormData) -> AsyncIterator[SentPicture]:
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            yield SentPicture(name, await value.read())
        elif name.removesuffix("[]") in LIST_FIELDS:
            yield SentPicture(name, value)


def _in_json(body: Any) -> Iterator[SentPicture]:
    if not isinstance(body, Mapping):
        raise RequestError(f"the body must be a JSON object: {EXPECTED}")
    for name in LIST_FIELDS:
        value = body.get(name)
        if isinstance(value, list):
            yield from (SentPicture(f"{name}[{place}]", _text(name, item)) for place, item in enumerate(value))
        elif value is not None:
            yield SentPicture(name, _text(name, value))


def _text(name: str, item: Any) -> str:
    if isinstance(item, Mapping):
        item = next((item[key] for key in ITEM_FIELDS if item.get(key) is not None), None)
    if isinstance(item, Mapping):
        item = item.get("url")
    if not isinstance(item, str) or not item.strip():
        raise RequestError(f"{name}: each picture must be text, or an object with one of {listed(ITEM_FIELDS)}")
    return item


def read_pictures(sent: Sequence[SentPicture], source: MediaSource, limits: ReferenceLimits) -> list[Picture]:
    """Decode and check every picture; addresses are fetched side by side.

    Raises:
        RequestError, UnsupportedMedia, TooLarge, UrlForbidden, FetchFailed: names the picture and the fault.
    """
    with ThreadPoolExecutor(max_workers=PARALLEL_FETCHES) as pool:
        return list(pool.map(lambda picture: _read(picture, source, limits), sent))


def _read(picture: SentPicture, source: MediaSource, limits: ReferenceLimits) -> Picture:
    content = picture.content
    try:
        if isinstance(content, bytes):
            return picture_from_bytes(_undamaged(content), limits)
        if "://" in content[:12]:
            return source.read_picture(content.strip())
        return picture_from_bytes(decode_inline(content), limits)
    except (RequestError, FetchFailed) as error:
        raise type(error)(f"{picture.label}: {error}") from None


def _undamaged(file: bytes) -> bytes:
    """The bytes of a file, unless a gateway took them for text: then it is the request that is wrong, not the file."""
    if is_mangled(file):
        raise RequestError(
            "its bytes were damaged on the way, because a gateway took them for text: declare multipart/form-data "
            "as a binary media type there, or send the picture as base64 in JSON"
        )
    return file
