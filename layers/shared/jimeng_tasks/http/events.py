"""Lambda events: telling their kinds apart, and bringing HTTP ones into the form that the adapter expects.

HTTP events come from API Gateway (HTTP API 2.0 and REST 1.0 payloads), function URLs (like 2.0) and load balancers, and
by hand from consoles: then fields are null, missing or of another type.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

type Event = dict[str, Any]

WELL_FORMED = {"host": re.compile(r"[^:]+(:\d{1,5})?", re.ASCII), "x-forwarded-port": re.compile(r"\d{1,5}", re.ASCII)}
PAIRS = ("headers", "queryStringParameters")
LISTS = ("multiValueHeaders", "multiValueQueryStringParameters")


def kind(event: Any) -> str:
    """``http``, ``warmer``, ``schedule``, ``records`` (SNS, SQS, S3 ...) or ``unknown``."""
    if not isinstance(event, Mapping):
        return "unknown"
    http = _present(event.get("requestContext")).get("http")
    checks: tuple[tuple[str, object], ...] = (
        ("http", event.get("rawPath") or http or (event.get("httpMethod") and event.get("path"))),
        ("warmer", event.get("warmer") or event.get("source") == "serverless-plugin-warmup"),
        ("schedule", event.get("source") in ("aws.events", "aws.scheduler") or event.get("detail-type")),
        ("records", event.get("Records")),
    )
    return next((name for name, applies in checks if applies), "unknown")


def normalised(event: Mapping[str, Any], base_path: str, is_route: Callable[[str], bool]) -> Event:
    """An HTTP event of the same payload version, with nothing null, a text body and ``rootPath``.

    ``rootPath`` is what stands before our routes in the address that the client used: the ``base_path`` of a custom
    domain, the stage, or both. The path keeps it; the framework takes it off again, and documents with it.
    """
    clean = {name: value for name, value in event.items() if value is not None}
    clean["requestContext"] = context = _present(event.get("requestContext"))
    context["identity"] = _present(context.get("identity"))
    clean["httpMethod"] = _text(event.get("httpMethod") or "GET").upper()
    for name in PAIRS:
        clean[name] = {_text(key): _text(value) for key, value in _present(event.get(name)).items()}
    for name in LISTS:
        if name in clean:
            clean[name] = {_text(key): _texts(value) for key, value in _present(event.get(name)).items()}
    _set_host(clean)
    _set_body(clean)
    if clean.get("version") == "2.0" or "rawPath" in clean or "http" in context:
        _complete_v2(clean)
    elif "elb" not in clean["requestContext"]:
        clean["version"] = "1.0"
    _set_paths(clean, base_path, is_route)
    return clean


def _complete_v2(event: Event) -> None:
    given = _present(event["requestContext"].get("http"))
    http = {"method": event["httpMethod"], "path": event.get("rawPath", "/"), "sourceIp": ""} | given
    event["requestContext"]["http"] = {name: _text(value) for name, value in http.items()}
    event["version"] = "2.0"
    event["rawQueryString"] = _text(event.get("rawQueryString", urlencode(event["queryStringParameters"])))
    event["cookies"] = _texts(event.get("cookies", []))


def _set_paths(event: Event, base_path: str, is_route: Callable[[str], bool]) -> None:
    context = event["requestContext"]
    is_v2 = event.get("version") == "2.0"
    path = "/" + _text(event.get("rawPath") or context["http"]["path"] if is_v2 else event.get("path", "/")).lstrip("/")
    root, route = _split(path, base_path, f"/{context.get('stage', '')}", is_route)
    if not root and not is_v2 and _text(context.get("path", "")).endswith(path):
        root = _text(context["path"]).removesuffix(path)  # a REST API's path leaves the stage out
    event["rootPath"] = root
    if is_v2:
        context["http"]["path"] = root + route
    event["path"] = root + route


def _split(path: str, base_path: str, stage: str, is_route: Callable[[str], bool]) -> tuple[str, str]:
    """What stands before a route, and the route."""
    root, route = "", path
    for prefix in (base_path, stage, base_path):
        if len(prefix) > 1 and not is_route(route) and f"{route}/".startswith(f"{prefix}/"):
            root, route = root + prefix, route[len(prefix) :] or "/"
    return root, route


def _set_host(event: Event) -> None:
    """Leave out a Host or port that is none: the adapter would fail on it, and no route needs it."""
    for headers in (event["headers"], event.get("multiValueHeaders", {})):
        for name in list(headers):
            pattern = WELL_FORMED.get(name.lower())
            if pattern and not pattern.fullmatch("".join(headers[name])):
                del headers[name]


def _set_body(event: Event) -> None:
    body = event.get("body", "")
    text = body if isinstance(body, str) else json.dumps(body)
    event["body"], event["isBase64Encoded"] = text, event.get("isBase64Encoded") is True
    if event["isBase64Encoded"]:
        event["isBase64Encoded"] = _is_base64(text)
    elif not text.isascii() and _text(text) != text:
        # Half a surrogate pair cannot be encoded; as bytes that are no UTF-8 it is refused like any other bad text.
        event["body"] = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
        event["isBase64Encoded"] = True


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text)
    except ValueError:
        return False
    return True


def _present(value: Any) -> dict[str, Any]:
    """The entries of a mapping that are not null; none if it is no mapping."""
    return {key: entry for key, entry in value.items() if entry is not None} if isinstance(value, Mapping) else {}


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [_text(entry) for entry in values if entry is not None]


def _text(value: Any) -> str:
    """Text that can be encoded."""
    return str(value).encode("utf-8", "replace").decode()
