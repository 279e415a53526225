"""Asking for tasks: states, results that are handed out once, and how the id may be sent."""

import base64
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from jimeng_tasks.service.inline_media import INLINE_SECONDS
from jimeng_tasks.store.memory import MemoryTaskStore
from jimeng_tasks.store.mongo import MongoTaskStore
from tests.integration.api_world import IMAGES, VIDEO, Api, form
from tests.integration.picture_bytes import png
from tests.integration.rogue_server import RogueServer, trickle

QUERY = "/v1/images/query"


@pytest.fixture(params=["memory", "mongodb"])
def api(request: pytest.FixtureRequest) -> Api:
    """The API over each store."""
    if request.param == "memory":
        return Api(store=MemoryTaskStore())
    store: MongoTaskStore = request.getfixturevalue("mongo_store")
    return Api(store=store)


@pytest.fixture
def memory() -> Api:
    return Api()


def test_a_result_that_outlived_its_task_is_handed_out_once(mongo_store: MongoTaskStore, database: Any) -> None:
    api = Api(store=mongo_store)
    orphan = {"task_id": "old", "task_type": "image", "server_id": "s1", "status": "success", "original_urls": ["o"]}
    now = api.container.clock.now()
    database["jimeng_free_generation_results"].insert_one(
        {**orphan, "tos_urls": ["https://cdn.example/a.png"], "metadata": {}, "created_at": now, "expires_at": now + 60}
    )

    first, second = api.get(QUERY, task_id="old"), api.get(QUERY, task_id="old")

    assert (first.data["status"], first.data["state"], first.data["url"]) == (
        *(-1, "completed"),
        "https://cdn.example/a.png",
    )
    assert (second.data["status"], second.data["state"]) == (0, "not_found")


def test_an_unfinished_task_has_status_0_and_its_state(api: Api) -> None:
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    pending = api.get(QUERY, task_id="boat-1")
    api.claim("boat-1")
    processing = api.get(QUERY, task_id="boat-1")
    assert (pending.status, pending.data["status"], pending.data["state"]) == (200, 0, "pending")
    assert (processing.data["status"], processing.data["state"]) == (0, "processing")
    assert processing.data["url"] == ""
    assert processing.data["urls"] == []
    assert processing.data["consumed"] is False
    assert processing.data["created_at"] <= processing.data["updated_at"]


def test_a_result_is_handed_out_once_and_the_task_stays_known(api: Api) -> None:
    # Given a finished task with two files
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    api.complete("boat-1", "https://media.example.com/0.png", "https://media.example.com/1.png")
    # When it is asked for twice
    first, second = api.get(QUERY, task_id="boat-1"), api.get(QUERY, task_id="boat-1")
    # Then the first answer holds the files
    assert first.data["url"] == "https://media.example.com/0.png,https://media.example.com/1.png"
    assert first.data["urls"] == ["https://media.example.com/0.png", "https://media.example.com/1.png"]
    assert (first.data["status"], first.data["state"], first.data["consumed"]) == (-1, "completed", False)
    # And the second says that they are gone
    assert (second.data["status"], second.data["url"], second.data["consumed"]) == (-1, "", True)


def test_a_result_is_repeated_during_the_grace_time() -> None:
    api = Api(RESULT_GRACE_SECONDS="600")
    api.post(VIDEO, {"prompt": "drift", "task_id": "boat-1"})
    api.complete("boat-1", "https://media.example.com/0.mp4")
    answers = [api.get("/v1/video/query", task_id="boat-1").data for _ in range(3)]
    assert [answer["url"] for answer in answers] == ["https://media.example.com/0.mp4"] * 3


def test_a_failed_task_says_why_before_and_after_its_result_is_consumed(api: Api) -> None:
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    api.fail("boat-1", "the prompt was refused by moderation", "2038")
    answers = [api.get(QUERY, task_id="boat-1") for _ in range(2)]
    for answer in answers:
        assert (answer.status, answer.data["status"], answer.data["state"]) == (200, -2, "failed")
        assert answer.data["error_message"] == "the prompt was refused by moderation"
        assert answer.data["fail_code"] == "2038"
    assert [answer.data["consumed"] for answer in answers] == [False, True]


@pytest.mark.parametrize(
    "task_id", ["nobody-has-this", "012837823", "favicon.ico", "\0", "a b", "%00", "x" * 500, "{$ne:1}", "一"]
)
def test_an_id_that_is_no_tasks_is_not_found_whatever_its_form(memory: Api, task_id: str) -> None:
    reply = memory.get(QUERY, task_id=task_id)
    assert reply.status == 200
    assert (reply.data["status"], reply.data["state"]) == (0, "not_found")


def test_an_image_task_is_not_found_among_videos(api: Api) -> None:
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    api.complete("boat-1", "https://media.example.com/0.png")
    assert api.get("/v1/video/query", task_id="boat-1").data["state"] == "not_found"
    assert api.get(QUERY, task_id="boat-1").data["url"] == "https://media.example.com/0.png"


@pytest.fixture
def pending(memory: Api) -> Api:
    memory.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    return memory


def test_the_id_may_come_as_json_as_a_form_or_in_the_query_of_a_post(pending: Api) -> None:
    multipart, multipart_headers = form(("task_id", None, b"boat-1"))
    urlencoded = {"content-type": "application/x-www-form-urlencoded"}
    for reply in (
        pending.call("POST", QUERY, b'{"task_id": "boat-1"}', {"content-type": "application/json"}),
        pending.call("POST", QUERY, b'{"task_id": "boat-1"}'),
        pending.call("POST", QUERY, b"task_id=boat-1", urlencoded),
        pending.call("POST", QUERY, multipart, multipart_headers),
        pending.call("POST", QUERY, query="task_id=boat-1"),
        pending.call("POST", QUERY, b"{}", query="task_id=boat-1"),
        pending.call("GET", QUERY, query="task_id=boat%2D1"),
    ):
        assert (reply.status, reply.data["state"]) == (200, "pending")


@pytest.mark.parametrize(
    ("body", "query", "reason"),
    [
        (b"", "", "task_id: is missing"),
        (b"{}", "", "task_id: is missing"),
        (b'{"task_id": null}', "", "task_id: is missing"),
        (b'{"task_id": "  "}', "", "task_id: is missing"),
        (b'{"task_id": 5}', "", "must be text"),
        (b'{"task_id": {"$ne": ""}}', "", "must be text"),
        (b'{"task_id": "\\ud800"}', "", "must be text"),
        (b'["boat-1"]', "", "JSON object"),
        (b'{"task_id": "a"}', "task_id=b", "more than once"),
        (b"", "task_id=a&task_id=b", "more than once"),
        (b"task_id=boat-1", "", "not JSON"),
    ],
)
def test_a_post_without_one_clear_id_is_refused(pending: Api, body: bytes, query: str, reason: str) -> None:
    reply = pending.call("POST", QUERY, body, query=query)
    assert reply.status == 400
    assert reason in reply.message


@pytest.mark.parametrize(("query", "reason"), [("", "task_id"), ("task_id=a&task_id=b", "more than once")])
def test_a_get_without_one_clear_id_is_refused(pending: Api, query: str, reason: str) -> None:
    reply = pending.call("GET", QUERY, query=query)
    assert reply.status == 400
    assert reason in reply.message


def test_a_query_body_of_another_type_is_refused(pending: Api) -> None:
    reply = pending.call("POST", QUERY, b"<task_id/>", {"content-type": "text/xml"})
    assert (reply.status, reply.json["error"]) == (415, "unsupported_media")


@pytest.fixture
def pictures() -> Iterator[dict[str, bytes]]:
    """Pictures that a web server gives out; their address is under the key of the empty path."""
    files: dict[str, bytes] = {}

    class Files(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path in files else 404)
            self.send_header("Content-Length", str(len(files.get(self.path, b""))))
            self.end_headers()
            self.wfile.write(files.get(self.path, b""))

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    files[""] = f"http://127.0.0.1:{server.server_address[1]}".encode()
    yield files
    server.shutdown()
    thread.join()
    server.server_close()


def test_b64_json_brings_the_pictures_beside_their_addresses(pictures: dict[str, bytes]) -> None:
    # Given a finished task that asked for b64_json
    api = Api(ALLOW_PRIVATE_URLS="true")
    pictures["/0.png"], pictures["/1.png"] = png(8, 6), png(6, 8)
    urls = [f"{pictures[''].decode()}/{index}.png" for index in range(2)]
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1", "response_format": "b64_json"})
    api.complete("boat-1", *urls)
    # When it is asked for
    data = api.get(QUERY, task_id="boat-1").data
    # Then both are there
    assert data["urls"] == urls
    assert [base64.b64decode(text) for text in data["b64_json"]] == [pictures["/0.png"], pictures["/1.png"]]
    assert data["notice"] is None


@pytest.mark.parametrize(("size", "reason"), [(5 * 1024 * 1024, "too many for b64_json"), (0, "could not be read")])
def test_pictures_that_do_not_fit_come_as_addresses_with_a_notice(
    pictures: dict[str, bytes], size: int, reason: str
) -> None:
    api = Api(ALLOW_PRIVATE_URLS="true")
    if size:
        pictures["/0.png"] = png(8, 6) + bytes(size)
    url = f"{pictures[''].decode()}/0.png"
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1", "response_format": "b64_json"})
    api.complete("boat-1", url)
    data = api.get(QUERY, task_id="boat-1").data
    assert data["urls"] == [url]
    assert data["b64_json"] is None
    assert reason in data["notice"]


def test_a_storage_that_is_slow_costs_the_pictures_but_not_their_addresses() -> None:
    api = Api(ALLOW_PRIVATE_URLS="true")
    with RogueServer().running() as server:
        urls = [server.on(f"/{index}", trickle(server, b"HTTP/1.1 200 OK\r\n\r\n", 0.5)) for index in range(4)]
        api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1", "response_format": "b64_json"})
        api.complete("boat-1", *urls)
        began = time.monotonic()

        data = api.get(QUERY, task_id="boat-1").data

    assert time.monotonic() - began < 2 * INLINE_SECONDS
    assert (data["urls"], data["b64_json"]) == (urls, None)
    assert "urls" in data["notice"]
