"""Serving media: signed links, ranges, real bytes of any size, scripted troubles (jimeng-wire 5.5, 5.7)."""

import asyncio
import re

from fastapi import APIRouter, Request, Response
from starlette.types import Receive, Scope, Send

from local.simulator.answers import Dropped, http_fault
from local.simulator.blobs import Blob
from local.simulator.context import note, world_of
from local.simulator.movies import mp4
from local.simulator.pictures import picture, png
from local.simulator.scripts import Script
from local.simulator.state import Media
from local.simulator.urls import refusal

router = APIRouter()

RANGE = re.compile(r"^bytes=(\d*)-(\d*)$")
COVER_SIDE = 360
HQ_EXTRA_BYTES = 65_536
NO_FAULT = Script()


@router.api_route("/tos-cn-i-tb4s082cfz/{name}", methods=["GET", "HEAD"])
@router.api_route("/video/tos/{name}", methods=["GET", "HEAD"])
async def serve(request: Request) -> Response:
    """One media file: 200, 206, 403 for a bad or expired link, 404, 416, or what the script says."""
    world = world_of(request)
    path = request.url.path
    media = world.media.get(path)
    if media is None:
        return http_fault(404, "html", None)
    note(request, ids=[media.job.history_id], index=media.index, variant=media.variant)
    reason = refusal(request, world.secret)
    if reason is not None:
        return Response(reason, 403)
    script = world.script_of(media.job)
    hits = world.media_hits[path] + 1
    world.media_hits[path] += request.method == "GET"
    faulty = _faulty(media, script, hits)
    if faulty:
        await asyncio.sleep(script.media_delay)
        if script.media_drop:
            raise Dropped
        if script.media_http is not None:
            return http_fault(script.media_http, "html", script.retry_after)
        if script.media_html:
            return http_fault(200, "html", None)
    return _answer(request, media, script, script if faulty else NO_FAULT)


def _faulty(media: Media, script: Script, hits: int) -> bool:
    if script.media_item is not None and script.media_item != media.index:
        return False
    return script.media_times is None or hits <= script.media_times


def _answer(request: Request, media: Media, script: Script, fault: Script) -> Response:
    blob, media_type = _render(media, script)
    headers = {"content-type": script.media_type or media_type, "etag": f'"{media.job.media_id(media.index)}"'}
    if not script.media_no_range:
        headers["accept-ranges"] = "bytes"
    start, stop, status = 0, blob.size, 200
    wanted = RANGE.match(request.headers.get("range", ""))
    if wanted and any(wanted.groups()) and not script.media_no_range:
        start, stop = _bounds(wanted[1], wanted[2], blob.size)
        if start >= stop:
            return Response(status_code=416, headers={"content-range": f"bytes */{blob.size}"})
        status = 206
        headers["content-range"] = f"bytes {start}-{stop - 1}/{blob.size}"
    if not script.media_no_length:
        headers["content-length"] = str(stop - start)
    return MediaResponse(blob, start, stop, status, headers, fault)


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(int(last) + 1, size) if last else size


def _render(media: Media, script: Script) -> tuple[Blob, str]:
    order = media.job.order
    label = f"{media.job.history_id}:{media.index}:{media.variant}"
    if media.variant in ("cover", "poster"):
        return picture(COVER_SIDE, COVER_SIDE, label, "webp"), "image/webp"
    if media.variant == "image":
        if script.media_format == "png":
            return png(order.width, order.height, label, script.media_size), "image/png"
        return picture(order.width, order.height, label, script.media_format), f"image/{script.media_format}"
    plain = mp4(order.width, order.height, order.seconds, label)
    extra = HQ_EXTRA_BYTES if media.variant == "hq" else 0
    return mp4(order.width, order.height, order.seconds, label, max(script.media_size, plain.size + extra)), "video/mp4"


class MediaResponse(Response):
    """Streams a part of a blob; a truncating script ends the connection before the announced length."""

    def __init__(self, blob: Blob, start: int, stop: int, status: int, headers: dict[str, str], fault: Script) -> None:
        super().__init__(status_code=status)
        self.raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._parts = blob, start, stop
        self._fault = fault

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Send headers and body chunk by chunk, as the connection takes them."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        blob, start, stop = self._parts
        if scope["method"] == "HEAD":
            stop = start
        limit = self._fault.media_truncate
        cut = stop if limit is None else min(stop, start + limit)
        for chunk in blob.read(start, cut):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await asyncio.sleep(self._fault.media_chunk_delay)
        if cut < stop:
            raise Dropped(reset=False)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
