"""Whatever comes, the API answers in its own words: no crash, no 500, no other shape."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.api_world import BEARER, IMAGES, UPLOAD, VIDEO, Api

FIELDS = [
    *(
        "prompt",
        "model",
        "negative_prompt",
        "width",
        "height",
        "size",
        "ratio",
        "aspect_ratio",
        "resolution",
        "n",
        "seed",
    ),
    *(
        "sample_strength",
        "images",
        "image",
        "image_url",
        "filePath",
        "response_format",
        "task_id",
        "server_id",
        "is_pro",
    ),
    *("duration", "token", "url", "file"),
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(
        ["16:9", "2k", "1024x1024", "data:image/png;base64,AAAA", "http://10.0.0.1/", "5000", "jimeng-4.5"]
    )
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(), inner)
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), JSON) | JSON
ROUTES = st.sampled_from([IMAGES, VIDEO, UPLOAD, "/v1/images/query", "/v1/video/query"])

API = Api(SERVICE_IDS="s1")


@settings(max_examples=150, deadline=None)
@given(ROUTES, BODIES, st.booleans())
def test_any_json_is_taken_or_refused(route: str, body: Any, with_prompt: bool) -> None:
    if with_prompt and isinstance(body, dict):
        body = {"prompt": "a boat", **body}
    reply = API.call("POST", route, json.dumps(body).encode(), BEARER)
    assert reply.status in (200, 400, 413, 415, 409, 503 if route == UPLOAD else 200)
    if reply.status != 200:
        assert set(reply.json) == {"code", "error", "message", "data", "request_id"}


@settings(max_examples=100, deadline=None)
@given(ROUTES, st.binary(), st.sampled_from(["application/json", "multipart/form-data; boundary=b", "text/plain", ""]))
def test_any_bytes_are_refused_in_the_one_shape(route: str, body: bytes, content_type: str) -> None:
    reply = API.call("POST", route, body, BEARER | {"content-type": content_type})
    assert reply.status in (200, 400, 413, 415)
    assert "request_id" in reply.json or "created" in reply.json


EVENT_FIELDS = [
    *("version", "rawPath", "path", "httpMethod", "headers", "multiValueHeaders", "queryStringParameters", "body"),
    *("multiValueQueryStringParameters", "rawQueryString", "cookies", "isBase64Encoded", "requestContext", "resource"),
    *("warmer", "source", "Records"),
]
CONTEXTS = st.dictionaries(
    st.sampled_from(["http", "stage", "path", "requestId", "identity", "elb"]),
    SCALARS | st.dictionaries(st.sampled_from(["method", "path", "sourceIp"]), SCALARS),
)
EVENTS = st.dictionaries(
    st.sampled_from(EVENT_FIELDS), SCALARS | CONTEXTS | st.dictionaries(st.text(), SCALARS | st.lists(SCALARS))
)


@settings(max_examples=200, deadline=None)
@given(EVENTS, CONTEXTS, st.sampled_from(["/ping", "/v1/images/query", "/x"]), st.sampled_from(["path", "rawPath"]))
def test_any_event_gets_an_answer(event: dict[str, Any], context: Any, path: str, where: str) -> None:
    event = {**event, "httpMethod": "GET", "requestContext": context, where: path}
    answer = API.handler(event, None)
    assert answer["statusCode"] < 500
