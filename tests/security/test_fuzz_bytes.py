"""Bodies made to break a parser, a database or a machine: each is taken or refused, soon and in little memory."""

import json
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from pymongo.database import Database

from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from tests.integration.api_world import BEARER, IMAGES, UPLOAD, VIDEO, Api, Reply, form

QUERY = "/v1/images/query"
ROUTES = (IMAGES, VIDEO, UPLOAD, QUERY, "/v1/video/query", "/token/check", "/token/points")
SHAPE = {"code", "error", "message", "data", "request_id"}
STATUSES = {200, 400, 401, 404, 409, 413, 415}
SECONDS = 10
SIX_MB = 6 * 1024 * 1024
MAY_GROW = 400 * 1024 * 1024
TOKEN_LIKE = "c4n4ry70ken"


def within(value: str) -> bytes:
    """A body that has raw JSON ``value`` in every field that a route looks at."""
    fields = ("prompt", "task_id", "model", "ratio", "size", "images", "width", "n", "seed", "server_id", "token", "x")
    return ("{" + ", ".join(f'"{name}": {value}' for name in fields) + "}").encode()


SMALL = {
    "operator": within('{"$ne": null}'),
    "javascript": within('{"$where": "sleep(10000) || true"}'),
    "operators in a list": within('[{"$gt": ""}, {"$regex": ".*"}]'),
    "keys of operators": b'{"$where": "sleep(9000)", "a.b": 1, "$set": {"status": "completed"}, "prompt": "$ne"}',
    "text of operators": within('"{$ne: 1}"'),
    "prototype": b'{"__proto__": {"a": 1}, "constructor": {"prototype": {}}, "prompt": "a"}',
    "infinite": within("1e999"),
    "minus infinite": within("-1e999"),
    "not a number": within("NaN"),
    "tiny": within("1e-999"),
    "huge": within("9" * 4000),
    "too huge": within("9" * 5000),
    "over 64 bits": within("36893488147419103232"),
    "huge as text": within(f'"{"9" * 5000}"'),
    "null byte": within('"a\\u0000b"'),
    "raw null byte": within('"a\0b"'),
    "only nulls": b"\0" * 1000,
    "half a surrogate pair": within('"\\ud800"'),
    "wrong order of surrogates": within('"\\udc00\\ud800"'),
    "encoded surrogate": within('"a"').replace(b'"a"', b'"\xed\xa0\x80"'),
    "overlong utf-8": b'{"prompt": "\xc0\xaf"}',
    "utf-16": '{"prompt": "a"}'.encode("utf-16"),
    "utf-32": '{"prompt": "a"}'.encode("utf-32"),
    "byte order mark": b'\xef\xbb\xbf{"prompt": "a"}',
    "two keys": b'{"prompt": "a", "task_id": "a", "task_id": {"$ne": 1}}',
    "two keys deep inside": b'{"prompt": "a", "images": [{"url": "http://a.example/", "url": "http://10.0.0.1/"}]}',
    "two spellings": b'{"prompt": "a", "image": "http://a.example/", "images": []}',
    "right to left": within('"\\u202e\\u2066a"'),
    "expands when normalised": within(f'"{"\ufdfa" * 2000}"'),
    "comment": b'/* a */ {"prompt": "a"}',
    "trailing": b'{"prompt": "a"} {"prompt": "b"}',
    "nothing": b"",
    "a number": b"5",
    "null": b"null",
}
LARGE: dict[str, Callable[[], bytes]] = {
    "deep list": lambda: b"[" * SIX_MB,
    "deep list that ends": lambda: b"[" * 100_000 + b"]" * 100_000,
    "deep object": lambda: b'{"a":' * 500_000 + b"1" + b"}" * 500_000,
    "not so deep in a field": lambda: within("[" * 900 + "]" * 900),
    "long prompt": lambda: json.dumps({"prompt": "a" * SIX_MB}).encode(),
    "escaped prompt": lambda: b'{"prompt": "' + b"\\u4e00" * (SIX_MB // 6) + b'"}',
    "long in every field": lambda: within(f'"{"1" * 500_000}"'),
    "long ratio": lambda: json.dumps({"prompt": "a", "ratio": "\ufdfa" * 1_000_000}).encode(),
    "long size": lambda: json.dumps({"prompt": "a", "size": "1" * 3_000_000 + "x" + "1" * 3_000_000}).encode(),
    "long number": lambda: b'{"prompt": "a", "seed": ' + b"9" * SIX_MB + b"}",
    "long fraction": lambda: b'{"prompt": "a", "sample_strength": 0.' + b"9" * SIX_MB + b"}",
    "long exponent": lambda: b'{"prompt": "a", "sample_strength": 1e-' + b"9" * SIX_MB + b"}",
    "many pictures": lambda: json.dumps({"prompt": "a", "images": ["http://10.0.0.1/"] * 250_000}).encode(),
    "large data uri": lambda: json.dumps({"images": ["data:image/png;base64," + "A" * SIX_MB]}).encode(),
    "many keys": lambda: json.dumps({"prompt": "a", **{f"key{n}": n for n in range(400_000)}}).encode(),
    "many keys alike": lambda: b'{"prompt": "a"' + b', "a": 1' * 700_000 + b"}",
    "many empty lists": lambda: b'{"prompt": "a", "x": [' + b"[]," * 2_000_000 + b"1]}",
    "white space": lambda: b" " * SIX_MB,
    "white space inside": lambda: b'{"prompt": "a"' + b"\n" * SIX_MB + b"}",
    "a string without end": lambda: b'{"prompt": "' + b"a" * SIX_MB,
    "backslashes": lambda: b'{"prompt": "' + b"\\" * SIX_MB,
    "over the limit": lambda: b'{"prompt": "' + b"a" * (11 * 1024 * 1024) + b'"}',
}
FORMS: dict[str, Callable[[], tuple[bytes, str]]] = {
    "many parts": lambda: (form(*[("images", None, b"")] * 20_000)[0], "multipart/form-data; boundary=b"),
    "many files": lambda: (form(*[("images", "a.png", b"x")] * 20_000)[0], "multipart/form-data; boundary=b"),
    "a long header": lambda: (b"--b\r\nX: " + b"a" * SIX_MB, "multipart/form-data; boundary=b"),
    "many headers": lambda: (b"--b\r\n" + b"A: b\r\n" * 900_000, "multipart/form-data; boundary=b"),
    "no boundary": lambda: (b"a" * SIX_MB, "multipart/form-data"),
    "a long boundary": lambda: (b"a", f"multipart/form-data; boundary={'b' * 100_000}"),
    "another charset": lambda: (form(("task_id", None, b"a"))[0], "multipart/form-data; boundary=b; charset=x-none"),
    "a nul in a name": lambda: (form(("ima\0ges", "a\0.png", b"x"))[0], "multipart/form-data; boundary=b"),
    "many fields": lambda: (b"task_id=a&" * 600_000, "application/x-www-form-urlencoded"),
    "many empty fields": lambda: (b"&" * SIX_MB, "application/x-www-form-urlencoded"),
    "percent signs": lambda: (b"task_id=" + b"%" * SIX_MB, "application/x-www-form-urlencoded"),
    "nul and surrogate": lambda: (b"task_id=%00%ed%a0%80", "application/x-www-form-urlencoded"),
    "any bytes": lambda: (bytes(range(256)) * 1000, "application/x-www-form-urlencoded"),
    "an odd type": lambda: (b"{}", "a/b; c=\x00\xff" * 1000),
}


@pytest.fixture
def api(mongo_store: MongoTaskStore) -> Api:
    return Api(store=mongo_store, SERVICE_IDS="s1", JIMENG_BASE_URL="http://127.0.0.1:1")


def answered(api: Api, route: str, body: bytes, content_type: str) -> Reply:
    """The answer, once it has been found to come soon, in the right shape and without the memory of the machine."""
    memory, started = psutil.Process().memory_info().rss, time.monotonic()
    reply = api.call("POST", route, body, {**BEARER, "content-type": content_type})
    assert time.monotonic() - started < SECONDS
    assert psutil.Process().memory_info().rss - memory < MAY_GROW
    assert len(reply.body) < 5000
    assert reply.status in STATUSES or (reply.status, route) == (503, UPLOAD), reply.body
    if reply.status != 200:
        assert set(reply.json) == SHAPE
    return reply


@pytest.mark.parametrize("route", ROUTES)
def test_small_bodies_that_mean_harm(api: Api, route: str, subtests: Any, database: Database[Document]) -> None:
    for name, body in SMALL.items():
        with subtests.test(name):
            answered(api, route, body, "application/json")
    # And whatever was stored is a task as any other
    for task in database["jimeng_free_generation_tasks"].find():
        assert task["status"] == "pending"
        assert isinstance(task["task_id"], str)


@pytest.mark.parametrize("name", LARGE)
def test_large_bodies(api: Api, name: str) -> None:
    body = LARGE[name]()
    for route in (IMAGES, UPLOAD, QUERY):
        answered(api, route, body, "application/json")


@pytest.mark.parametrize("name", FORMS)
def test_forms_that_mean_harm(api: Api, name: str) -> None:
    body, content_type = FORMS[name]()
    for route in (UPLOAD, QUERY):
        answered(api, route, body, content_type)


@pytest.mark.parametrize(
    "query", ["task_id[$ne]=", "task_id[]=a", "task_id=%00", "task_id=" + "a" * 100_000, "task_id=%ud800", "&" * 10_000]
)
def test_query_strings_that_mean_harm(api: Api, query: str) -> None:
    api.post(IMAGES, {"prompt": "a boat"})
    reply = api.call("GET", QUERY, query=query)
    assert reply.status in (200, 400)
    assert reply.status == 400 or reply.data["state"] == "not_found"


def test_an_operator_finds_no_task(api: Api) -> None:
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    api.complete("boat-1", "https://media.example.com/0.png")
    for sent in ({"$ne": ""}, {"$gt": ""}, {"$regex": ".*"}, ["boat-1"], {"$in": ["boat-1"]}):
        assert api.call("POST", QUERY, json.dumps({"task_id": sent}).encode(), BEARER).status == 400
    assert api.get(QUERY, task_id="boat-1").data["consumed"] is False
