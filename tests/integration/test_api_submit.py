"""Posting generations: what is accepted, echoed and stored, and that the same order twice is one task."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pymongo import MongoClient

from jimeng_tasks.bootstrap import Container
from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.domain.workload import Server
from jimeng_tasks.http.schemas import ImageGeneration
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.memory import MemoryTaskStore
from jimeng_tasks.store.mongo import MongoTaskStore
from tests.integration.api_world import BEARER, IMAGES, LEASE, TOKEN, VIDEO, Api


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


def test_an_image_order_becomes_a_pending_task_with_its_effective_values(api: Api) -> None:
    # When an order leaves most things open
    reply = api.post(IMAGES, {"prompt": " a boat\n on a lake ", "ratio": "16x9", "seed": "7"})
    # Then a task waits, and the answer names what will be made
    assert reply.status == 200
    assert reply.data["url"] == ""
    assert (reply.data["status"], reply.data["state"]) == (0, "pending")
    assert reply.data["params"] == {
        "model": "jimeng-4.5",
        "width": 2560,
        "height": 1440,
        "ratio": "16:9",
        "resolution": "2k",
        "sample_strength": 0.5,
        "response_format": "url",
        "seed": 7,
    }
    # And the task holds the prompt as it was sent, and the account
    task = api.store.get(reply.data["task_id"])
    assert task is not None
    assert task.original_params["prompt"] == " a boat\n on a lake "
    assert task.account == TOKEN
    assert task.status is TaskStatus.PENDING
    assert abs(reply.json["created"] - task.created_at) <= 1


def test_a_video_order_with_two_frames_keeps_both_in_order(api: Api) -> None:
    frames = [{"url": "https://192.0.78.9/a.png", "width": 16, "height": 9}, "https://192.0.78.9/b.png"]
    reply = api.post(VIDEO, {"prompt": "drift", "images": frames, "duration": "10000"})
    assert reply.status == 200
    assert reply.data["references"] == 2
    task = api.store.get(reply.data["task_id"])
    assert task is not None
    assert api.store.references(task.task_id) == ["https://192.0.78.9/a.png", "https://192.0.78.9/b.png"]
    assert task.original_params["duration"] == 10000


@pytest.mark.parametrize(
    "spelling",
    [
        {"images": "https://192.0.78.9/a.png"},
        {"images": ["https://192.0.78.9/a.png"]},
        {"images": [{"url": "https://192.0.78.9/a.png"}]},
        {"images": [{"image_url": "https://192.0.78.9/a.png"}]},
        {"images": [{"type": "image_url", "image_url": {"url": "https://192.0.78.9/a.png"}}]},
        {"image": "https://192.0.78.9/a.png"},
        {"image_url": "https://192.0.78.9/a.png"},
        {"filePath": "https://192.0.78.9/a.png"},
        {"file_paths": ["https://192.0.78.9/a.png"]},
        {"filePaths": ["https://192.0.78.9/a.png"], "images": None},
        {"images": [{"image_url": {"url": "https://192.0.78.9/a.png", "detail": "high"}, "name": "boat"}]},
    ],
)
def test_every_documented_spelling_of_input_pictures_is_used(memory: Api, spelling: dict[str, Any]) -> None:
    reply = memory.post(IMAGES, {"prompt": "blend", **spelling})
    assert reply.data["references"] == 1
    task = memory.store.get(reply.data["task_id"])
    assert task is not None
    assert task.original_params["images"] == [{"url": "https://192.0.78.9/a.png", "width": 0, "height": 0}]


@pytest.mark.parametrize("route", [IMAGES, VIDEO])
@pytest.mark.parametrize(
    "field",
    [
        {"user": "u1", "quality": "hd", "style": "vivid", "stream": False, "background": "opaque"},
        {"moderation": "low", "output_format": "png", "output_compression": 90, "partial_images": []},
        {"note": "as on https://example.com/boat.png", "metadata": {"page": "https://example.com/boat"}},
        {"metadata": {"order": 17, "note": "see the data: 3/4", "tags": ["a", None, True]}},
        {"profile": {"x": 1}, "messages": [{"role": "user", "content": "a boat"}], "": 1, "-": 2},
        {"callback_url": "https://example.com/done", "webhookUrl": "https://example.com/done"},
        {"notify-url": "https://example.com/done", "metadata": {"callback": {"url": "https://example.com/done"}}},
        {"mask": None, "image_size": "", "url": [], "Ratio": None, "content": {}},
    ],
)
def test_unknown_fields_that_ask_for_nothing_are_ignored(memory: Api, route: str, field: dict[str, Any]) -> None:
    plain = memory.post(route, {"prompt": "a boat"})
    reply = memory.post(route, {"prompt": "a boat", **field})
    assert reply.status == 200, reply.message
    assert (reply.data["references"], reply.data["params"]) == (0, plain.data["params"])


@pytest.mark.parametrize(
    ("given", "ratio"),
    [
        ({"width": 720, "height": 1280}, "9:16"),
        ({"width": "1280", "height": "720"}, "16:9"),
        ({"width": 720, "height": 1280, "ratio": "1:1"}, "1:1"),
    ],
)
def test_width_and_height_of_a_video_give_its_ratio(memory: Api, given: dict[str, Any], ratio: str) -> None:
    assert memory.post(VIDEO, {"prompt": "drift", **given}).data["params"]["ratio"] == ratio


def test_one_video_may_be_asked_for_by_its_number(memory: Api) -> None:
    assert memory.post(VIDEO, {"prompt": "drift", "n": 1, "negative_prompt": ""}).status == 200


def test_the_same_task_id_and_body_is_the_same_task(api: Api) -> None:
    first = api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    second = api.post(IMAGES, {"task_id": "boat-1", "prompt": "a boat"})
    assert first.data == second.data
    assert first.data["task_id"] == "boat-1"
    assert api.stored == 1


def test_the_same_idempotency_key_and_body_is_the_same_task(api: Api) -> None:
    key = {"Idempotency-Key": "order 4711"}
    first = api.post(VIDEO, {"prompt": "drift"}, key)
    second = api.post(VIDEO, {"prompt": "drift"}, key)
    assert first.status == second.status == 200
    assert first.data["task_id"] == second.data["task_id"]
    assert api.stored == 1


def test_an_idempotency_key_with_another_body_is_a_conflict(api: Api) -> None:
    key = {"Idempotency-Key": "order 4711"}
    api.post(VIDEO, {"prompt": "drift"}, key)
    reply = api.post(VIDEO, {"prompt": "sink"}, key)
    assert (reply.status, reply.json["error"]) == (409, "task_conflict")
    assert api.stored == 1


def test_a_task_id_of_another_account_is_a_conflict(api: Api) -> None:
    api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"})
    reply = api.post(IMAGES, {"prompt": "a boat", "task_id": "boat-1"}, {"authorization": "Bearer other0token"})
    assert reply.status == 409


def test_many_equal_posts_at_once_make_one_task(mongo_store: MongoTaskStore) -> None:
    # Given several processes of the API
    apis = [Api(store=mongo_store) for _ in range(4)]
    order = {"prompt": "a boat", "task_id": "boat-1"}
    # When all of them get the same order at the same time
    services = [api.container for api in apis]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda n: _direct(services[n % 4], order), range(16)))
    # Then all answers name the one task
    assert set(replies) == {"boat-1"}
    assert apis[0].stored == 1


def _direct(container: Container, order: dict[str, str]) -> str:
    request = ImageGeneration.model_validate(order).to_request([TOKEN], None)
    return container.submit(container.validator.image(request, container.source.check)).task_id


def test_a_repeated_order_of_a_finished_task_shows_its_state_but_no_result(api: Api) -> None:
    order = {"prompt": "a boat", "task_id": "boat-1"}
    api.post(IMAGES, order)
    api.complete("boat-1", "https://media.example.com/0.png")
    reply = api.post(IMAGES, order)
    assert (reply.data["state"], reply.data["status"], reply.data["url"]) == ("completed", -1, "")


def test_one_of_several_tokens_is_kept_for_the_task(memory: Api) -> None:
    reply = memory.post(IMAGES, {"prompt": "a boat"}, {"authorization": "bearer  alpha1 , hk-beta2 "})
    task = memory.store.get(reply.data["task_id"])
    assert task is not None
    assert task.account in ("alpha1", "hk-beta2")


def test_a_model_uses_only_tokens_of_regions_that_offer_it(memory: Api) -> None:
    for _ in range(8):
        order = {"prompt": "a boat", "model": "nanobanana", "ratio": "1:1"}
        reply = memory.post(IMAGES, order, {"authorization": "Bearer china1,hk-beta2"})
        task = memory.store.get(reply.data["task_id"])
        assert task is not None
        assert task.account == "hk-beta2"


def test_the_least_loaded_online_service_is_taken() -> None:
    api = Api(SERVICE_IDS="s1,s2")
    now = api.container.clock.now()
    for name, load in (("s1", 3), ("s2", 1)):
        server = Server(server_id=name, status="online", last_heartbeat_at=now, load=load, version="1")
        api.store.heartbeat(server, "owner", now + LEASE)
    assert api.post(IMAGES, {"prompt": "a boat"}).data["server_id"] == "s2"
    assert api.post(IMAGES, {"prompt": "a boat", "server_id": "s1"}).data["server_id"] == "s1"


@pytest.fixture
def dead_database() -> Iterator[MongoTaskStore]:
    """A store whose MongoDB does not answer."""
    client: MongoClient[Document] = MongoClient("mongodb://127.0.0.1:1", serverSelectionTimeoutMS=200)
    with client:
        yield MongoTaskStore(client, "nowhere")


def test_without_a_database_a_post_is_answered_503_with_a_time_to_come_again(dead_database: MongoTaskStore) -> None:
    api = Api(store=dead_database)
    reply = api.post(IMAGES, {"prompt": "a boat"})
    assert (reply.status, reply.json["error"]) == (503, "store_unavailable")
    assert int(reply.headers["retry-after"]) > 0


def test_nothing_of_the_token_is_in_the_answer(memory: Api) -> None:
    reply = memory.post(IMAGES, {"prompt": "a boat"}, BEARER | {"Idempotency-Key": "k"})
    assert TOKEN.encode() not in reply.body
