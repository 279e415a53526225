"""Verification of the upload services' request signature (jimeng-wire 6.2), written from the steps there."""

import hashlib
import hmac
import re
from dataclasses import dataclass

AUTHORIZATION = re.compile(
    r"^AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<date>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, "
    r"SignedHeaders=(?P<names>[a-z0-9;-]+), Signature=(?P<signature>[0-9a-f]{64})$"
)
SIGNED_HEADERS = {
    "GET": "x-amz-date;x-amz-security-token",
    "POST": "x-amz-content-sha256;x-amz-date;x-amz-security-token",
}


@dataclass(frozen=True)
class Credential:
    """The parsed `Authorization` header."""

    key: str
    date: str
    region: str
    service: str
    names: str
    signature: str


def parse(authorization: str) -> Credential | None:
    """The parts of an `Authorization` header, None if it is not of the documented form."""
    found = AUTHORIZATION.match(authorization)
    return Credential(**found.groupdict()) if found else None


def canonical_request(method: str, query: str, headers: dict[str, str], names: str, payload_hash: str) -> str:
    """Steps 2 to 5: query pairs sorted by key in byte order, values as they stand on the wire."""
    pairs = sorted(query.split("&"), key=lambda pair: pair.partition("=")[0].encode())
    block = "".join(f"{name}:{headers.get(name, '')}\n" for name in sorted(names.split(";")))
    return "\n".join([method, "/", "&".join(pairs), block, names, payload_hash])


def signature(secret: str, credential: Credential, amz_date: str, request: str) -> str:
    """Steps 6 and 7: the signature of a canonical request."""
    scope = f"{credential.date}/{credential.region}/{credential.service}/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", amz_date, scope, digest])
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def problem(method: str, query: str, headers: dict[str, str], body: bytes, secret: str) -> str | None:
    """What is wrong with a signed request (header names in lower case), None if nothing is."""
    credential = parse(headers.get("authorization", ""))
    amz_date = headers.get("x-amz-date", "")
    if credential is None or not re.fullmatch(r"\d{8}T\d{6}Z", amz_date) or amz_date[:8] != credential.date:
        return "IncompleteSignature"
    if credential.names != SIGNED_HEADERS[method]:
        return "InvalidSignedHeaders"
    payload_hash = hashlib.sha256(body).hexdigest()
    if method == "POST" and headers.get("x-amz-content-sha256") != payload_hash:
        return "ContentSha256Mismatch"
    request = canonical_request(method, query, headers, credential.names, payload_hash)
    right = signature(secret, credential, amz_date, request)
    return None if hmac.compare_digest(right, credential.signature) else "SignatureDoesNotMatch"
