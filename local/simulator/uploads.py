"""Uploads: temporary keys, ImageX and VOD by `Action`, the store (jimeng-wire 6)."""

import re
import secrets
import zlib

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from local.simulator.answers import Dropped, Refusal, envelope, http_fault, invalid
from local.simulator.checks import identify, read_object
from local.simulator.context import note, world_of
from local.simulator.sigv4 import parse, problem
from local.simulator.state import Grant, Upload
from local.simulator.tables import SERVICE_IDS, SIGV4_REGIONS, STORE_PREFIXES
from local.simulator.upload_actions import ACTIONS, ServiceError

router = APIRouter()


@router.post("/mweb/v1/get_upload_token")
async def get_upload_token(request: Request) -> Response:
    """Fresh upload keys (jimeng-wire 6.1); abroad the image service hides in `space_name`."""
    world = world_of(request)
    caller = identify(request, world)
    scene = (await read_object(request)).get("scene")
    if scene not in (1, 2) or isinstance(scene, bool):
        raise invalid("scene")
    script = world.rules.side(caller.session, "upload_token_")
    if script.upload_token_ret is not None:
        raise Refusal(script.upload_token_ret, "refused by script")
    grant = (_image_grant if scene == 2 else _video_grant)(caller.session, caller.region or "cn")
    world.grants[grant.access_key] = grant
    abroad = scene == 2 and caller.region != "cn"
    data = {
        "access_key_id": grant.access_key,
        "secret_access_key": grant.secret_key,
        "session_token": grant.session_token,
        "service_id": "not-for-images" if abroad else SERVICE_IDS["cn"],
        "space_name": grant.space if abroad else "dreamina",
    }
    return envelope(data)


@router.api_route("/", methods=["GET", "POST"])
async def dispatch(request: Request) -> Response:
    """ImageX and VOD, told apart by `Action`."""
    action = request.query_params.get("Action", "")
    note(request, action=action)
    try:
        if action not in ACTIONS:
            raise ServiceError("InvalidActionOrVersion", f"unknown action {action!r}", 404)
        method, service, version, handle = ACTIONS[action]
        if request.method != method or request.query_params.get("Version") != version:
            raise ServiceError("InvalidActionOrVersion", "method or Version does not go with the action", 404)
        grant = await _granted(request, service)
        result = await handle(request, grant)
    except ServiceError as error:
        note(request, error=error.code)
        told = {"Code": error.code, "Message": error.message}
        return JSONResponse({"ResponseMetadata": {**_metadata(request), "Error": told}}, error.status)
    meta = _metadata(request)
    return JSONResponse({"ResponseMetadata": meta, "Result": {"RequestId": meta["RequestId"], **result}})


@router.post("/upload/v1/{uri:path}")
async def store(request: Request, uri: str) -> Response:
    """Take the bytes of an applied upload (jimeng-wire 6.4)."""
    world = world_of(request)
    upload = next((one for one in world.uploads.values() if one.uri == uri), None)
    if upload is None:
        return JSONResponse({"code": 4004, "message": "unknown uri"}, 404)
    note(request, ids=[uri])
    script = world.rules.side(upload.session, "store_")
    if script.store_drop:
        raise Dropped
    if script.store_http is not None:
        return http_fault(script.store_http, "html", script.retry_after)
    body = await request.body()
    wrong = _store_problem(request, upload, body)
    if wrong is not None:
        return JSONResponse({"code": 4000, "message": wrong}, 400)
    if script.store_code is not None:
        return JSONResponse({"code": script.store_code, "message": "refused by script"})
    upload.body = body
    return JSONResponse({"code": 2000, "message": "Success", "data": {"crc32": f"{zlib.crc32(body):08x}"}})


def _image_grant(session: str, region: str) -> Grant:
    service_id = SERVICE_IDS[region]
    return Grant(
        session, "imagex", service_id, frozenset({SIGV4_REGIONS[region]}), f"{STORE_PREFIXES[region]}-{service_id}"
    )


def _video_grant(session: str, region: str) -> Grant:
    regions = frozenset({SIGV4_REGIONS[region], "cn-north-1"})
    return Grant(session, "vod", "dreamina", regions, "tos-cn-v-000001")


def _metadata(request: Request) -> dict[str, str]:
    credential = parse(request.headers.get("authorization", ""))
    return {
        "RequestId": secrets.token_hex(17),
        "Action": request.query_params.get("Action", ""),
        "Version": request.query_params.get("Version", ""),
        "Service": credential.service if credential else "",
        "Region": credential.region if credential else "",
    }


def _store_problem(request: Request, upload: Upload, body: bytes) -> str | None:
    headers = request.headers
    if headers.get("authorization") != upload.auth:
        return "Authorization is not the Auth of the store info"
    crc = headers.get("content-crc32", "")
    if not re.fullmatch("[0-9a-f]{8}", crc) or int(crc, 16) != zlib.crc32(body):
        return "Content-CRC32 does not match"
    if headers.get("content-type") != "application/octet-stream":
        return "Content-Type is not application/octet-stream"
    return None if len(body) == upload.size else f"{len(body)} bytes instead of FileSize {upload.size}"


async def _granted(request: Request, service: str) -> Grant:
    credential = parse(request.headers.get("authorization", ""))
    grant = world_of(request).grants.get(credential.key) if credential else None
    if credential is None or grant is None:
        raise ServiceError("InvalidAccessKeyId", "unknown access key or malformed Authorization", 403)
    if request.headers.get("x-amz-security-token") != grant.session_token:
        raise ServiceError("InvalidSecurityToken", "the security token does not belong to the key", 403)
    if credential.service != service or grant.service != service or credential.region not in grant.regions:
        raise ServiceError("InvalidCredential", "service or region of the credential scope", 403)
    headers = {name.lower(): value for name, value in request.headers.items()}
    wrong = problem(request.method, request.url.query, headers, await request.body(), grant.secret_key)
    if wrong is not None:
        raise ServiceError(wrong, "the signature is not valid", 403)
    return grant
