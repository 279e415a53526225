"""Hands a reference picture over for free: token, Apply, store, Commit, and the content check (jimeng-wire 6)."""

import json
import logging
import secrets
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from jimeng_tasks.exceptions import ContentRejected, ProviderError, ServerRefused
from jimeng_tasks.settings import Settings

from .answers import describe, first_text, mapping_of, parse_object, text_of
from .regions import Account
from .signing import UploadKeys, upload_headers
from .site import CONTENT_CHECK_PATH, UPLOAD_KEYS_PATH, Site
from .transport import Reply, Transport

API_VERSION = "2018-08-01"
IMAGE_SCENE = 2
UPLOADED = "2000"
REFUSING_PHRASES = ("risk not pass", "detected risk")
CHECK_PARAMETERS = {
    "scenario": "image_video_generation",
    "feature_key": "aigc_to_image",
    "feature_entrance": "to-generate",
    "feature_entrance_detail": "to-generate-algo_proxy",
}

log = logging.getLogger("jimeng_tasks.jimeng")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Space:
    account: Account
    keys: UploadKeys
    service_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    host: str
    store_uri: str
    authorization: str
    session_key: str


class Uploads:
    """Uploads pictures to the image service of an account's region; ``stores`` goes to the hosts which that names."""

    def __init__(
        self, settings: Settings, site: Site, transport: Transport, stores: Transport, now: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._site = site
        self._transport = transport
        self._stores = stores
        self._now = now

    def upload(self, account: Account, data: bytes) -> str:
        """Upload one picture; returns the uri that drafts name it by.

        Raises:
            ContentRejected: the site's check refused the picture.
            ProviderError: a step failed; with OutcomeUnknown nothing was paid for either.
        """
        space = self._space(account)
        slot = self._apply(space, len(data))
        self._store(slot, data)
        uri = self._commit(space, slot)
        if account.region.is_cn:
            self._check_content(account, uri)
        return uri

    def _space(self, account: Account) -> _Space:
        data = mapping_of(self._site.call(account, UPLOAD_KEYS_PATH, {"scene": IMAGE_SCENE}).data)
        region = account.region
        keys = UploadKeys(
            access_key=_required(data, "access_key_id", "upload keys"),
            secret_key=_required(data, "secret_access_key", "upload keys"),
            session_token=_required(data, "session_token", "upload keys"),
            region=region.signing_region,
        )
        service_id = first_text(data, "service_id" if region.is_cn else "space_name") or region.service_id
        return _Space(account=account, keys=keys, service_id=service_id)

    def _apply(self, space: _Space, size: int) -> _Slot:
        query = {"FileSize": str(size), "s": secrets.token_hex(5)}
        if not space.account.region.is_cn:
            query["device_platform"] = "web"
        address = mapping_of(self._call(space, "ApplyImageUpload", query).get("UploadAddress"))
        info = _first(address.get("StoreInfos"))
        hosts = address.get("UploadHosts")
        host = text_of(hosts[0]) if isinstance(hosts, list) and hosts else first_text(address, "UploadHost")
        if not host:
            raise ServerRefused("the upload service named no host to send the picture to")
        return _Slot(
            host=host.rstrip("/") if "://" in host else f"https://{host}",
            store_uri=_required(info, "StoreUri", "upload address"),
            authorization=_required(info, "Auth", "upload address"),
            session_key=_required(address, "SessionKey", "upload address"),
        )

    def _store(self, slot: _Slot, data: bytes) -> None:
        headers = {
            "Authorization": slot.authorization,
            "Content-CRC32": f"{zlib.crc32(data):08x}",
            "Content-Type": "application/octet-stream",
            "Content-Disposition": 'attachment; filename="undefined"',
        }
        # A host that the settings name is the operator's choice; any other one is the site's word.
        is_ours = slot.host in (self._settings.jimeng_base_url, self._settings.jimeng_imagex_url)
        transport = self._transport if is_ours else self._stores
        reply = transport.exchange("POST", f"{slot.host}/upload/v1/{slot.store_uri}", headers, data)
        # Not every host answers with JSON, but where a code is given it has to be the good one.
        code = text_of((parse_object(reply.body) or {}).get("code"))
        log.debug("store status=%d code=%s bytes=%d", reply.status, code, len(data))
        if reply.status >= 400 or code not in ("", UPLOADED):
            raise ServerRefused(f"the picture could not be stored (HTTP {reply.status}, code {code or 'missing'})")

    def _commit(self, space: _Space, slot: _Slot) -> str:
        body = json.dumps({"SessionKey": slot.session_key}).encode()
        result = _first(self._call(space, "CommitImageUpload", {}, body).get("Results"))
        status = text_of(result.get("UriStatus"))
        if status != UPLOADED:
            raise ServerRefused(f"the uploaded picture was not taken over (UriStatus {status or 'missing'})")
        return _required(result, "Uri", "committed upload")

    def _call(
        self, space: _Space, action: str, extra: Mapping[str, str], body: bytes | None = None
    ) -> Mapping[str, Any]:
        """One signed call of the image service; returns its `Result`."""
        query = {"Action": action, "Version": API_VERSION, "ServiceId": space.service_id, **extra}
        amz_date = datetime.fromtimestamp(self._now(), UTC).strftime("%Y%m%dT%H%M%SZ")
        origin = self._site.base(space.account.region)
        headers = {"Origin": origin, "Referer": f"{origin}/ai-tool/generate"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        headers |= upload_headers(space.keys, query, body, amz_date)
        base = self._settings.jimeng_imagex_url or space.account.region.imagex
        url = f"{base}/?{urlencode(query)}"
        reply = self._transport.exchange("GET" if body is None else "POST", url, headers, body)
        log.debug("%s status=%d", action, reply.status)
        return _result(action, reply, space.account)

    def _check_content(self, account: Account, uri: str) -> None:
        """Ask the site's own check of pictures (jimeng-wire 6.7); only a clear refusal stops the task."""
        body = {
            "scene": "image_face_ip",
            "options": {"ip_check": True},
            "req_key": "benchmark_test_user_upload_image_input",
            "file_list": [{"file_uri": uri}],
            "req_params": {},
        }
        try:
            self._site.call(account, CONTENT_CHECK_PATH, body, query={"babi_param": json.dumps(CHECK_PARAMETERS)})
        except ContentRejected:
            raise
        except ProviderError as error:
            if any(phrase in str(error).lower() for phrase in REFUSING_PHRASES):
                message = f"an input picture was rejected by moderation (input image): {error}"
                raise ContentRejected(message, fail_code=error.fail_code, log_id=error.log_id) from error
            log.warning("the content check of a picture failed: %s", error)


def _result(action: str, reply: Reply, account: Account) -> Mapping[str, Any]:
    answer = parse_object(account.hide(reply.body)) or {}
    fault = mapping_of(mapping_of(answer.get("ResponseMetadata")).get("Error"))
    if fault:
        code, message = first_text(fault, "Code", "CodeN"), describe(text_of(fault.get("Message")), account)
        raise ServerRefused(f"{action} was refused: {message} ({code})", fail_code=code)
    result = mapping_of(answer.get("Result"))
    if reply.status >= 400 or not result:
        raise ServerRefused(f"{action} has no result (HTTP {reply.status})")
    return result


def _first(value: Any) -> Mapping[str, Any]:
    return mapping_of(value[0]) if isinstance(value, list) and value else {}


def _required(source: Mapping[str, Any], name: str, where: str) -> str:
    text = text_of(source.get(name))
    if not text:
        raise ServerRefused(f"the site left {name} out of its {where}")
    return text
