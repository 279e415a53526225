"""What ImageX and VOD do for a signed request: Apply and Commit (jimeng-wire 6.3, 6.5, 6.8)."""

import hashlib
import json
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from fastapi import Request

from local.simulator.answers import Json
from local.simulator.context import base_of, note, world_of
from local.simulator.probes import image_facts, movie_facts
from local.simulator.scripts import Script
from local.simulator.state import Grant, Upload, World

MAX_UPLOAD_BYTES = 100 * 1024 * 1024


class ServiceError(Exception):
    """An error in the upload services' own shape."""

    def __init__(self, code: str, message: str, status: int = 200) -> None:
        super().__init__(code)
        self.code, self.message, self.status = code, message, status


def _apply(request: Request, grant: Grant, space_key: str) -> tuple[Upload, Script]:
    world = world_of(request)
    query = request.query_params
    script = world.rules.side(grant.session, "apply_")
    if script.apply_error is not None:
        raise ServiceError(script.apply_error, "refused by script")
    if query.get(space_key) != grant.space:
        raise ServiceError("InvalidParameter", f"{space_key} is not the granted one", 400)
    size = query.get("FileSize", "")
    if not size.isdigit() or not 0 < int(size) <= MAX_UPLOAD_BYTES:
        raise ServiceError("InvalidParameter", "FileSize", 400)
    if not re.fullmatch("[A-Za-z0-9]{10,11}", query.get("s", "")):
        raise ServiceError("InvalidParameter", "s", 400)
    return _new_upload(world, grant, int(size)), script


def _new_upload(world: World, grant: Grant, size: int) -> Upload:
    name = secrets.token_hex(16)
    auth = f"SpaceKey/{grant.space}/0/:version:v2:{secrets.token_hex(16)}"
    session_key = secrets.token_urlsafe(24)
    upload = Upload(
        grant.session, grant.service, f"{grant.store_prefix}/{name}", "v0280" + name[:21], auth, size, session_key
    )
    world.uploads[session_key] = upload
    return upload


async def _apply_image(request: Request, grant: Grant) -> Json:
    upload, script = _apply(request, grant, "ServiceId")
    note(request, ids=[upload.uri])
    address: Json = {"StoreInfos": [{"StoreUri": upload.uri, "Auth": upload.auth}], "SessionKey": upload.session_key}
    host = base_of(request)
    hosts: Json = {"UploadHosts": [host]} if script.apply_host_form == "list" else {"UploadHost": host}
    return {"UploadAddress": address | hosts}


async def _apply_video(request: Request, grant: Grant) -> Json:
    if request.query_params.get("FileType") != "video" or request.query_params.get("IsInner") != "1":
        raise ServiceError("InvalidParameter", "FileType or IsInner", 400)
    upload, _ = _apply(request, grant, "SpaceName")
    node = {
        "Type": "Edge",
        "Vid": upload.vid,
        "UploadHost": base_of(request),
        "SessionKey": upload.session_key,
        "StoreInfos": [{"StoreUri": upload.uri, "Auth": upload.auth}],
    }
    return {"InnerUploadAddress": {"UploadNodes": [node]}}


async def _committed(request: Request, grant: Grant, space_key: str) -> tuple[Upload, bytes, Script]:
    world = world_of(request)
    script = world.rules.side(grant.session, "commit_")
    if script.commit_error is not None:
        raise ServiceError(script.commit_error, "refused by script")
    try:
        session_key = json.loads(await request.body())["SessionKey"]
    except (ValueError, KeyError, TypeError):
        raise ServiceError("InvalidParameter", "SessionKey", 400) from None
    upload = world.uploads.get(str(session_key))
    right = upload is not None and upload.session == grant.session and upload.service == grant.service
    if upload is None or not right or request.query_params.get(space_key) != grant.space:
        raise ServiceError("InvalidSessionKey", "no such upload of this account", 400)
    if upload.body is None:
        raise ServiceError("UploadNotFinished", "nothing was stored under this uri", 400)
    return upload, upload.body, script


async def _commit_image(request: Request, grant: Grant) -> Json:
    upload, body, script = await _committed(request, grant, "ServiceId")
    note(request, ids=[upload.uri])
    facts = image_facts(body)
    status = script.commit_status or (2000 if facts else 2001)
    results = [{"Uri": upload.uri, "UriStatus": status}]
    if status != 2000 or facts is None:
        return {"Results": results, "PluginResult": []}
    world_of(request).account(grant.session).committed.add(upload.uri)
    width, height, form = facts
    plugin = {"ImageUri": upload.uri, "SourceUri": upload.uri, "ImageWidth": width, "ImageHeight": height}
    digest = hashlib.md5(body).hexdigest()
    return {
        "Results": results,
        "PluginResult": [plugin | {"ImageFormat": form, "ImageSize": len(body), "ImageMd5": digest}],
    }


async def _commit_video(request: Request, grant: Grant) -> Json:
    upload, body, _ = await _committed(request, grant, "SpaceName")
    world_of(request).account(grant.session).committed.add(upload.vid)
    meta = {"Uri": upload.uri, "Size": len(body), "Md5": hashlib.md5(body).hexdigest(), **movie_facts(body)}
    return {"Results": [{"Vid": upload.vid, "VideoMeta": meta}]}


class Action(NamedTuple):
    """How an `Action` is called and what answers it."""

    method: str
    service: str
    version: str
    handle: Callable[[Request, Grant], Awaitable[Json]]


ACTIONS = {
    "ApplyImageUpload": Action("GET", "imagex", "2018-08-01", _apply_image),
    "CommitImageUpload": Action("POST", "imagex", "2018-08-01", _commit_image),
    "ApplyUploadInner": Action("GET", "vod", "2020-11-19", _apply_video),
    "CommitUploadInner": Action("POST", "vod", "2020-11-19", _commit_video),
}
"""`Action` to its rules (jimeng-wire 6.3, 6.5, 6.8)."""
