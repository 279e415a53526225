"""Endpoints of the object storage: which are TOS itself, and what is wrong with one (volcengine-wire C.1)."""

import re
from urllib.parse import SplitResult, urlsplit

TOS_DOMAINS = (".volces.com", ".ivolces.com", ".bytepluses.com")
EXAMPLE = "https://tos-s3-cn-beijing.volces.com"
_TOS_HOST = re.compile(
    rf"(?P<bucket>.+\.)?tos-(?P<s3>s3-)?(?P<region>[a-z0-9-]+)(?P<domain>{'|'.join(map(re.escape, TOS_DOMAINS))})"
)


def is_tos(endpoint: str) -> bool:
    """Whether an endpoint is TOS itself, in the mainland or abroad, public or intranet."""
    return (urlsplit(endpoint).hostname or "").rstrip(".").endswith(TOS_DOMAINS)


def endpoint_faults(endpoint: str, bucket: str, region: str) -> list[str]:
    """Why objects could not be stored or fetched at an endpoint, and what to write instead; empty if nothing is wrong.

    Any S3 server may be named; of one that is TOS the host is known, and has to be that of the region.
    """
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    faults = _faults_of_form(endpoint, parts)
    if is_tos(endpoint):
        faults += _faults_of_tos(host, parts.scheme, region)
    elif bucket and host.startswith(f"{bucket}."):
        faults.append("TOS_ENDPOINT_URL must not contain the bucket: leave it out of the host, it is added by itself")
    return faults


def _faults_of_form(endpoint: str, parts: SplitResult) -> list[str]:
    unwanted = {
        "user info": "@" in parts.netloc,
        "a path": bool(parts.path),
        "a query": "?" in endpoint.partition("#")[0],
        "a fragment": "#" in endpoint,
    }
    found = " or ".join(name for name, is_there in unwanted.items() if is_there)
    advice = (
        f"write scheme, host and port only, such as {EXAMPLE}; the bucket goes into TOS_BUCKET, a folder into "
        "TOS_PREFIX, keys into TOS_ACCESS_KEY and TOS_SECRET_KEY"
    )
    return [f"TOS_ENDPOINT_URL must not have {found}: {advice}"] if found else []


def _faults_of_tos(host: str, scheme: str, region: str) -> list[str]:
    named = _TOS_HOST.fullmatch(host)
    if not named:
        return [f"TOS_ENDPOINT_URL must be the S3-compatible endpoint of a region of TOS, such as {EXAMPLE}"]
    found = named["region"]
    right = f"{scheme}://tos-s3-{found}{named['domain']}"
    faults = {
        f"TOS_ENDPOINT_URL must not contain the bucket, which is put in front of the host by itself: write {right}": (
            named["bucket"] is not None
        ),
        f"TOS_ENDPOINT_URL must be the S3-compatible endpoint, not the native one of TOS: write {right}": (
            named["s3"] is None
        ),
        f"TOS_REGION must be the region of TOS_ENDPOINT_URL: write {found}, or the endpoint of the bucket's region": (
            found != region
        ),
    }
    return [fault for fault, is_there in faults.items() if is_there]
