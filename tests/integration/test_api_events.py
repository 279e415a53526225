"""Lambda events of every kind through the handler, as ``events/http`` holds them and as consoles mangle them."""

import json
import logging
from typing import Any

import pytest

from tests.integration.api_world import EVENTS, TOKEN, Api, fixture_event

NEEDS_BUCKET = {"upload-images", "upload-images-multipart"}
STATUS = {"upload-images-mangled": 400, "token-points": 200, **dict.fromkeys(NEEDS_BUCKET, 503)}
ROUTED = sorted(path.stem for path in EVENTS.glob("*.json"))


class Context:
    """What Lambda passes as context."""

    aws_request_id = "lambda-request-1"


@pytest.fixture
def api() -> Api:
    return Api(API_BASE_PATH="/gateway", JIMENG_BASE_URL="http://127.0.0.1:1")


@pytest.mark.parametrize("name", ROUTED)
def test_every_event_of_the_folder_reaches_its_route(api: Api, name: str) -> None:
    reply = api.event(fixture_event(name), Context())
    assert reply.status == STATUS.get(name, 200), reply.body
    assert TOKEN.encode() not in reply.body


def test_there_is_an_event_for_every_route(api: Api) -> None:
    routes = {(method.upper(), path) for path, methods in api.app.openapi()["paths"].items() for method in methods}
    events = [fixture_event(name) for name in ROUTED]
    covered = {(e["requestContext"]["http"]["method"], e["rawPath"]) for e in events if e.get("version") == "2.0"}
    assert routes <= covered


def test_the_same_handler_serves_one_event_after_another(api: Api) -> None:
    api.event(fixture_event("images-generations"))
    for _ in range(3):
        assert api.event(fixture_event("images-query")).data["state"] == "pending"
        assert api.event(fixture_event("images-query-v1")).data["state"] == "pending"
        assert api.event(fixture_event("images-query-post")).data["state"] == "pending"


def test_load_balancers_send_encoded_values_and_lists(api: Api) -> None:
    api.event(fixture_event("video-generations"))
    assert api.event(fixture_event("video-query-alb")).data["state"] == "pending"
    assert api.event(fixture_event("video-generations-alb")).data["task_id"] == "boat-video-2"


def v1(path: str, **changes: Any) -> dict[str, Any]:
    return {"path": path, "httpMethod": "GET", "headers": None, "requestContext": {"stage": "prod"}, **changes}


def v2(path: str, stage: str = "$default", **changes: Any) -> dict[str, Any]:
    return {"version": "2.0", "rawPath": path, "requestContext": {"stage": stage}, **changes}


def alb(path: str) -> dict[str, Any]:
    return {"requestContext": {"elb": {"targetGroupArn": "arn"}}, "httpMethod": "GET", "path": path, "headers": {}}


@pytest.mark.parametrize(
    ("event", "root"),
    [
        (v2("/v1/models"), ""),
        (v2("/default/v1/models", "default"), "/default"),
        (v2("/gateway/v1/models"), "/gateway"),
        (v2("/gateway/default/v1/models", "default"), "/gateway/default"),
        (v2("/default/gateway/v1/models", "default"), "/default/gateway"),
        (v2("/v1/models", "v1"), ""),
        (v2("/v1/v1/models", "v1"), "/v1"),
        (v1("/v1/models"), ""),
        (v1("/v1/models", requestContext={"stage": "prod", "path": "/prod/v1/models"}), "/prod"),
        (v1("/gateway/v1/models", requestContext={"stage": "prod", "path": "/gateway/v1/models"}), "/gateway"),
        (v1("/prod/v1/models"), "/prod"),
        (alb("/v1/models"), ""),
        (alb("/gateway/v1/models"), "/gateway"),
    ],
)
def test_stage_and_base_path_are_taken_off_and_known_to_the_documents(api: Api, event: Any, root: str) -> None:
    # The route is found
    assert api.event(event).json["object"] == "list"
    # And the docs page of the same address finds its document
    docs = json.loads(json.dumps(event).replace("/v1/models", "/docs"))
    page = api.event(docs).body.decode()
    assert f"'{root}/openapi.json'" in page


@pytest.mark.parametrize(
    "event",
    [
        v2("/gatewayx/v1/models"),
        v2("/defaulted/v1/models", "default"),
        v2("/other/v1/models"),
        v1("/production/v1/models"),
        alb("/gatewa/v1/models"),
        v2("/v1/images/generations/"),
        v2("/"),
        v2("/favicon.ico"),
        v2("/%00"),
        v2("/v1/tasks/012837823"),
    ],
)
def test_other_paths_are_not_found_in_the_one_error_shape(api: Api, event: Any) -> None:
    reply = api.event(event, Context())
    assert reply.status == 404
    assert set(reply.json) == {"code", "error", "message", "data", "request_id"}
    assert (reply.json["error"], reply.json["request_id"]) == ("not_found", "lambda-request-1")


@pytest.mark.parametrize(("method", "allow"), [("DELETE", "GET, POST"), ("PUT", "GET, POST")])
def test_a_wrong_method_is_405_and_names_the_right_ones(api: Api, method: str, allow: str) -> None:
    reply = api.call(method, "/v1/images/query")
    assert (reply.status, reply.json["error"]) == (405, "method_not_allowed")
    assert reply.headers["allow"] == allow
    assert api.call("GET", "/v1/images/generations").headers["allow"] == "POST"


@pytest.mark.parametrize(
    "event",
    [
        v1("/ping", multiValueHeaders=None, queryStringParameters=None, body=None, isBase64Encoded=False),
        v1("/ping", requestContext=None),
        v1("/ping", requestContext={"stage": None, "identity": None, "path": None}),
        v1("/ping", headers={"host": None, "accept": None, "x-number": 5}),
        v1("/ping", multiValueHeaders={"accept": None, "host": []}),
        v1("/ping", headers={"Host": "[::1]:3000", "X-Forwarded-Port": "none"}),
        v1("/ping", headers={"x": "\ud800"}, requestContext={"requestId": "\ud800"}),
        v1("/ping", pathParameters=None, stageVariables=None, isBase64Encoded=None, body={"a": 1}),
        v1("/ping", multiValueQueryStringParameters={"a": None}, queryStringParameters={"a": None}),
        v1("/ping", isBase64Encoded=True, body="a"),
        v2("/ping", headers=None, cookies=None, rawQueryString=None, queryStringParameters=None, body=None),
        v2("/ping", cookies=["a=b", None], queryStringParameters={"a": "b", "c": None}),
        {"rawPath": "/ping", "requestContext": {}},
        {"requestContext": {"http": {"path": "/ping", "method": "GET"}}},
        {"requestContext": {"elb": {}}, "httpMethod": "GET", "path": "/ping", "headers": None},
        {"requestContext": {"elb": {}}, "httpMethod": "GET", "path": "/ping", "multiValueHeaders": None},
        {"httpMethod": "GET", "path": "/ping"},
        {"httpMethod": "get", "path": "ping"},
    ],
)
def test_null_and_odd_fields_count_as_absent(api: Api, event: dict[str, Any]) -> None:
    assert api.event(event).body == b"pong"


def test_query_parameters_are_read_from_whichever_field_has_them(api: Api) -> None:
    for event in (
        v2("/v1/models", rawQueryString="type=video"),
        v2("/v1/models", queryStringParameters={"type": "video"}),
        v1("/v1/models", queryStringParameters={"type": "video"}),
        v1("/v1/models", queryStringParameters=None, multiValueQueryStringParameters={"type": ["video"]}),
    ):
        assert {model["type"] for model in api.event(event).data} == {"video"}


@pytest.mark.parametrize("body", ['{"prompt": "\ud800"}', "\ud800", "not base64!"])
def test_a_body_that_cannot_be_encoded_is_refused(api: Api, body: str) -> None:
    event = fixture_event("images-generations") | {"body": body, "isBase64Encoded": body == "not base64!"}
    reply = api.event(event)
    assert (reply.status, reply.json["error"]) == (400, "invalid_request")


def test_the_request_id_is_the_gateways_then_lambdas_then_a_fresh_one(api: Api) -> None:
    gateway = api.event(v2("/nowhere") | {"requestContext": {"requestId": "gateway-1"}}, Context())
    function = api.event(v2("/nowhere"), Context())
    fresh = [api.event(v2("/nowhere")) for _ in range(2)]
    assert gateway.json["request_id"] == gateway.headers["x-request-id"] == "gateway-1"
    assert function.json["request_id"] == function.headers["x-request-id"] == "lambda-request-1"
    assert fresh[0].json["request_id"] == fresh[0].headers["x-request-id"] != fresh[1].json["request_id"]


@pytest.mark.parametrize("event", [{"warmer": True, "concurrency": 3}, {"source": "serverless-plugin-warmup"}])
def test_warmers_are_greeted(api: Api, event: dict[str, Any]) -> None:
    assert api.handler(event, None) == {"ok": True, "kind": "warmer"}


@pytest.mark.parametrize(
    ("event", "sort"),
    [
        ({}, "unknown"),
        (None, "unknown"),
        ([], "unknown"),
        ("hello", "unknown"),
        ({"headers": {"authorization": f"Bearer {TOKEN}"}}, "unknown"),
        ({"source": "aws.events", "detail-type": "Scheduled Event", "detail": {"secret": TOKEN}}, "schedule"),
        ({"Records": [{"EventSource": "aws:sns", "Sns": {"Message": TOKEN}}]}, "records"),
    ],
)
def test_other_events_are_refused_and_logged_by_their_keys_only(
    api: Api, caplog: pytest.LogCaptureFixture, event: Any, sort: str
) -> None:
    logger = logging.getLogger("jimeng_tasks")
    logger.addHandler(caplog.handler)
    answer = api.handler(event, None)
    logger.removeHandler(caplog.handler)
    assert (answer["ok"], answer["kind"]) == (False, sort)
    assert "refused an event" in caplog.text
    assert TOKEN not in caplog.text
    assert "Traceback" not in caplog.text


def test_a_function_serves_only_its_own_group() -> None:
    images = Api("images")
    assert images.get("/v1/images/query", task_id="a").status == 200
    assert images.get("/v1/video/query", task_id="a").status == 404
    assert images.get("/ping").status == 404
