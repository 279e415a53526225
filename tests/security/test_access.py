"""Who sees what: queries see their own tasks only, operators' numbers want a key, ids cannot be guessed."""

import re
import uuid

import pytest

from jimeng_tasks.store.memory import MemoryTaskStore
from jimeng_tasks.store.mongo import MongoTaskStore
from tests.integration.api_world import IMAGES, TOKEN, Api, Reply

QUERY = "/v1/images/query"
URL = "https://media.example.com/0.png"
OWNER = {"authorization": f"Bearer {TOKEN}"}
STRANGER = {"authorization": "Bearer ffffffffffffffffffffffffffffffff"}
OPEN = {"/ping", "/health"}


@pytest.fixture(params=["memory", "mongodb"])
def api(request: pytest.FixtureRequest) -> Api:
    """An API that holds one finished task of TOKEN."""
    store = MemoryTaskStore() if request.param == "memory" else request.getfixturevalue("mongo_store")
    api = Api(store=store)
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    api.complete("boat-1", URL)
    return api


def by_get(api: Api, headers: dict[str, str], task_id: str = "boat-1") -> Reply:
    return api.get(QUERY, headers, task_id=task_id)


def by_post(api: Api, headers: dict[str, str], task_id: str = "boat-1") -> Reply:
    return api.call("POST", QUERY, f'{{"task_id": "{task_id}"}}'.encode(), headers)


WAYS = pytest.mark.parametrize("ask", [by_get, by_post])


@WAYS
def test_anothers_task_looks_like_none_and_keeps_its_result(api: Api, ask: object) -> None:
    assert callable(ask)
    # When a stranger asks for it, with one token or with several
    for headers in (STRANGER, {"authorization": "Bearer a1,us-b2"}, {"authorization": f"Bearer us-{TOKEN}"}):
        seen, unknown = ask(api, headers), ask(api, headers, "nobody-has-this")
        # Then the answer is that to an id which nobody has
        assert seen.status == unknown.status == 200
        assert seen.data == unknown.data | {"task_id": "boat-1"}
    # And the owner still gets the result
    assert ask(api, OWNER).data["urls"] == [URL]


@WAYS
def test_the_owner_sees_it_among_other_tokens(api: Api, ask: object) -> None:
    assert callable(ask)
    assert ask(api, {"authorization": f"bearer a1, {TOKEN} "}).data["urls"] == [URL]


def test_without_tokens_the_id_is_enough(api: Api) -> None:
    assert by_get(api, {}).data["urls"] == [URL]


@WAYS
@pytest.mark.parametrize("header", ["Bearer", "Bearer a1,,b2", "Bearer a1,a1", "Basic dXNlcjpwYXNz", TOKEN])
def test_tokens_that_cannot_be_read_are_no_way_round_the_check(api: Api, ask: object, header: str) -> None:
    assert callable(ask)
    reply = ask(api, {"authorization": header})
    assert (reply.status, reply.json["error"]) == (401, "login_required")
    assert ask(api, OWNER).data["urls"] == [URL]


@WAYS
@pytest.mark.parametrize("headers", [{}, {"authorization": " "}])
def test_a_query_can_be_made_to_need_tokens(ask: object, headers: dict[str, str]) -> None:
    assert callable(ask)
    api = Api(REQUIRE_QUERY_AUTH="true")
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    reply = ask(api, headers)
    assert (reply.status, reply.json["error"]) == (401, "login_required")
    assert ask(api, OWNER).data["state"] == "pending"
    assert ask(api, STRANGER).data["state"] == "not_found"


def test_the_open_api_document_names_the_optional_tokens() -> None:
    security = Api().app.openapi()["paths"][QUERY]["get"]["security"]
    assert {name for entry in security for name in entry} == {"SessionTokens", "ApiKey"}


def test_every_route_but_the_two_for_machines_wants_a_key_when_there_is_one() -> None:
    api = Api(API_KEYS="key-1", MONGODB_URI="")
    for path, methods in api.app.openapi()["paths"].items():
        for method in methods:
            reply = api.call(method.upper(), path, b"{}" if method == "post" else None, OWNER)
            assert (reply.status == 401) == (path not in OPEN), path


def test_a_token_cannot_be_sent_in_the_form_in_which_it_is_stored(api: Api) -> None:
    reply = api.call("POST", IMAGES, b'{"prompt": "a boat"}', {"authorization": "Bearer enc:v1:AAAA"})
    assert (reply.status, reply.json["error"]) == (401, "login_required")


def test_ids_that_the_client_did_not_choose_are_random(mongo_store: MongoTaskStore) -> None:
    api = Api(store=mongo_store)
    ids = {api.post(IMAGES, {"prompt": "a boat"}).data["task_id"] for _ in range(50)}
    assert len(ids) == 50
    assert all(uuid.UUID(hex=task_id).version == 4 for task_id in ids)


def test_an_id_made_from_an_idempotency_key_needs_the_tokens_to_be_computed() -> None:
    # Given the same key of two callers
    ids = []
    for token in (TOKEN, "f" * 32):
        headers = {"authorization": f"Bearer {token}", "idempotency-key": "order-17"}
        ids.append(Api().call("POST", IMAGES, b'{"prompt": "a boat"}', headers).data["task_id"])
    # Then their ids have nothing in common, and nothing of the key
    assert ids[0] != ids[1]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32,64}", task_id) and "order" not in task_id for task_id in ids)
