"""Signed media links at the simulator's own address, and the check of them (jimeng-wire 5.5)."""

import base64
import hashlib
import hmac
import time
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Request

from local.simulator.jobs import Job
from local.simulator.scripts import Script
from local.simulator.state import Media, World

PATHS = {
    "image": "/tos-cn-i-tb4s082cfz/{name}~tplv-tb4s082cfz-aigc_resize:0:0",
    "cover": "/tos-cn-i-tb4s082cfz/{name}~tplv-tb4s082cfz-aigc_resize:360:360.webp",
    "poster": "/tos-cn-i-tb4s082cfz/{name}~tplv-tb4s082cfz-poster.webp",
    "video": "/video/tos/{name}-preview",
    "hq": "/video/tos/{name}-origin",
}
"""Variant to path. None ends in the type's extension where the site's do not: the bytes tell."""


@dataclass(frozen=True)
class Links:
    """Makes media links for one request's base url."""

    world: World
    base_url: str

    def media(self, job: Job, index: int, variant: str, script: Script) -> str:
        """A link that works for `media_ttl` seconds from now."""
        path = PATHS[variant].format(name=job.media_id(index))
        self.world.media[path] = Media(job, index, variant)
        expires = str(int(time.time() + script.media_ttl))
        query = urlencode({"x-expires": expires, "x-signature": signature(self.world.secret, path, expires)})
        url = f"{self.base_url}{path}?{query}"
        return url.replace("&", "\\u0026") if script.escape_urls else url


def signature(secret: bytes, path: str, expires: str) -> str:
    """The `x-signature` value of a path and an expiry."""
    return base64.b64encode(hmac.new(secret, f"{path}|{expires}".encode(), hashlib.sha256).digest()).decode()


def refusal(request: Request, secret: bytes) -> str | None:
    """Why a media request is refused with HTTP 403, None if it is not."""
    expires = request.query_params.get("x-expires", "")
    right = signature(secret, request.url.path, expires)
    if not hmac.compare_digest(right, request.query_params.get("x-signature", "")):
        return "signature does not match"
    return "link has expired" if int(expires) <= time.time() else None
