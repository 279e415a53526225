"""Who may call: session tokens in the Authorization header, and API keys."""

import pytest

from tests.integration.api_world import BEARER, IMAGES, TOKEN, UPLOAD, VIDEO, Api

ORDER = {"prompt": "a boat"}


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {TOKEN}"},
        {"Authorization": f"bearer {TOKEN}"},
        {"AUTHORIZATION": f"BEARER   {TOKEN}  "},
        {"authorization": f" Bearer a1 ,us-b2,  {TOKEN}"},
    ],
)
def test_header_name_scheme_and_spaces_do_not_matter(api: Api, headers: dict[str, str]) -> None:
    reply = api.call("POST", IMAGES, b'{"prompt": "a boat"}', headers)
    assert reply.status == 200


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "missing"),
        ("", "missing"),
        ("   ", "missing"),
        ("Bearer", "empty"),
        ("Bearer  ", "empty"),
        ("Bearer a1,,b2", "empty"),
        ("Bearer a1,", "empty"),
        ("Bearer a1,b2,a1", "twice"),
        ("Bearer a1 b2", "space"),
        ("Bearer a1, Bearer b2", "space"),
        ("Basic a1", "scheme"),
        (TOKEN, "scheme"),
        ("Bearer us-", "empty"),
        ('Bearer a";b', "character"),
        ("Bearer http://u:p@10.0.0.9:8080@hk-a1", "prox"),
    ],
)
@pytest.mark.parametrize("route", [IMAGES, VIDEO, "/token/points"])
def test_without_usable_tokens_the_answer_is_401_and_says_why(
    api: Api, route: str, value: str | None, reason: str
) -> None:
    headers = {} if value is None else {"authorization": value}
    reply = api.call("POST", route, b'{"prompt": "a boat"}', headers)
    assert (reply.status, reply.json["code"]) == (401, -2002)
    assert reply.json["error"] == "login_required"
    assert reason in reply.message
    assert api.stored == 0


@pytest.mark.parametrize("value", ["Bearer xx-a1", "Bearer a1,de-b2"])
@pytest.mark.parametrize("route", [IMAGES, VIDEO, "/token/points"])
def test_a_token_of_an_unknown_region_is_refused_with_the_known_ones(api: Api, route: str, value: str) -> None:
    reply = api.call("POST", route, b'{"prompt": "a boat"}', {"authorization": value})
    assert (reply.status, reply.json["error"]) == (400, "unknown_region")
    assert "us-, hk-, jp-, sg-" in reply.message
    assert api.stored == 0


def test_a_missing_token_is_told_before_a_bad_body(api: Api) -> None:
    assert api.call("POST", IMAGES, b"{}").status == 401


KEYED = [
    ("POST", IMAGES),
    ("POST", VIDEO),
    ("GET", "/v1/images/query"),
    ("POST", "/v1/images/query"),
    ("GET", "/v1/video/query"),
    ("POST", "/v1/video/query"),
    ("POST", UPLOAD),
    ("GET", "/v1/models"),
    ("GET", "/v1/tasks/stats"),
    ("POST", "/token/check"),
    ("POST", "/token/points"),
]


@pytest.mark.parametrize(("method", "route"), KEYED)
@pytest.mark.parametrize("key", [None, "", "key-3", "key-1,key-2", "KEY-1", "schlüssel"])
def test_with_api_keys_set_every_route_wants_one(method: str, route: str, key: str | None) -> None:
    api = Api(API_KEYS="key-1,key-2")
    headers = BEARER if key is None else BEARER | {"X-API-Key": key}
    reply = api.call(
        method, route, b'{"task_id": "a", "prompt": "a"}' if method == "POST" else None, headers, "task_id=a"
    )
    assert (reply.status, reply.json["error"]) == (401, "api_key_invalid")
    assert "key-1" not in reply.message
    assert api.stored == 0


@pytest.mark.parametrize("key", ["key-1", "key-2", " key-2 "])
def test_each_configured_key_opens_the_routes(key: str) -> None:
    api = Api(API_KEYS="key-1, key-2")
    assert api.post(IMAGES, ORDER, {"x-api-key": key}).status == 200
    assert api.get("/v1/tasks/stats", {"X-API-KEY": key}).status == 200


@pytest.mark.parametrize("route", ["/ping", "/health", "/docs", "/openapi.json"])
def test_health_and_documents_want_no_key(route: str) -> None:
    assert Api(API_KEYS="key-1").get(route).status == 200


def test_a_query_wants_no_token(api: Api) -> None:
    assert api.get("/v1/images/query", task_id="a").status == 200
