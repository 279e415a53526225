"""The two signatures of the wire: the site's Sign header and the upload hosts' AWS version 4 style one."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

SIGN_PATH_CHARACTERS = 7


def sign(path: str, platform: str, appvr: str, device_time: int) -> str:
    """The Sign header of a request path without query; ``device_time`` in epoch seconds (jimeng-wire 2.4)."""
    text = f"9e2c|{path[-SIGN_PATH_CHARACTERS:]}|{platform}|{appvr}|{device_time}||11ac"
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadKeys:
    """Short-lived keys of one upload (jimeng-wire 6.1), and the signing region they belong to."""

    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    session_token: str = field(repr=False)
    region: str
    service: str = "imagex"


def upload_headers(keys: UploadKeys, query: Mapping[str, str], body: bytes | None, amz_date: str) -> dict[str, str]:
    """Headers that sign one call to an upload host: GET without a body, else POST (jimeng-wire 6.2).

    ``amz_date`` is UTC as ``YYYYMMDDTHHMMSSZ``. Unlike AWS, neither host nor content type is signed.
    """
    payload_hash = hashlib.sha256(body or b"").hexdigest()
    headers = {"x-amz-date": amz_date, "x-amz-security-token": keys.session_token}
    if body is not None:
        headers["x-amz-content-sha256"] = payload_hash
    names = ";".join(sorted(headers))
    request_hash = hashlib.sha256(_canonical_request(query, headers, names, body, payload_hash).encode()).hexdigest()
    scope = f"{amz_date[:8]}/{keys.region}/{keys.service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{amz_date}\n{scope}\n{request_hash}"
    signature = hmac.new(_signing_key(keys, scope), text.encode(), hashlib.sha256).hexdigest()
    credential = f"Credential={keys.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return headers | {"authorization": f"AWS4-HMAC-SHA256 {credential}"}


def _canonical_request(
    query: Mapping[str, str], headers: Mapping[str, str], names: str, body: bytes | None, payload_hash: str
) -> str:
    method = "GET" if body is None else "POST"
    pairs = "&".join(f"{key}={query[key]}" for key in sorted(query))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    return "\n".join([method, "/", pairs, lines, names, payload_hash])


def _signing_key(keys: UploadKeys, scope: str) -> bytes:
    key = b"AWS4" + keys.secret_key.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key
