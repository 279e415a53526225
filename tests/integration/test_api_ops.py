"""Operators' routes: health, models, numbers and session tokens, the last against the simulated site."""

from collections.abc import Iterator

import pytest
import requests
from pymongo import MongoClient

from jimeng_tasks.domain.workload import Server
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from tests.integration.api_world import IMAGES, LEASE, TOKEN, VIDEO, Api
from tests.integration.simulator_site import serving


@pytest.fixture
def api() -> Api:
    return Api()


def test_ping_answers_plain_text(api: Api) -> None:
    reply = api.get("/ping")
    assert (reply.status, reply.body) == (200, b"pong")
    assert reply.headers["content-type"].startswith("text/plain")


def test_health_tells_the_mode_and_version(api: Api, mongodb_uri: str, mongo_store: MongoTaskStore) -> None:
    assert api.get("/health").json["database"] == "memory"
    reply = Api(store=mongo_store, USE_DATABASE_MODE="true", MONGODB_URI=mongodb_uri).get("/health")
    assert reply.status == 200
    assert (reply.json["status"], reply.json["database"]) == ("ok", "ok")
    assert reply.json["version"]


def test_health_is_503_in_the_one_error_shape_while_the_database_is_away() -> None:
    client: MongoClient[Document] = MongoClient("mongodb://127.0.0.1:1", serverSelectionTimeoutMS=200)
    with client:
        reply = Api(store=MongoTaskStore(client, "nowhere")).get("/health")
    assert reply.status == 503
    assert (reply.json["error"], reply.json["data"]) == ("store_unavailable", None)
    assert (reply.json["status"], reply.json["database"]) == ("unavailable", "unavailable")
    assert int(reply.headers["retry-after"]) > 0


def test_models_are_listed_with_what_they_can_make(api: Api) -> None:
    listing = api.get("/v1/models").json
    assert listing["object"] == "list"
    models = {model["id"]: model for model in listing["data"]}
    image, video = models["jimeng-4.5"], models["jimeng-video-3.0"]
    assert (image["object"], image["type"], image["owned_by"]) == ("model", "image", "jimeng")
    assert image["sizes"]["2k"]["16:9"] == "2560x1440"
    assert image["default"] is True
    assert video["durations"] == [5000, 10000]
    assert video["regions"] == ["cn", "hk", "jp", "sg", "us"]
    assert video["max_references"] == 2


def test_every_listed_image_size_is_accepted_as_it_is_listed(api: Api) -> None:
    for model in api.get("/v1/models", type="image").json["data"]:
        headers = {"authorization": "Bearer a1,us-b2,hk-c3"}
        for resolution, sizes in model["sizes"].items():
            for ratio, size in sizes.items():
                reply = api.post(IMAGES, {"prompt": "a", "model": model["id"], "size": size}, headers)
                assert reply.status == 200, reply.message
                assert (reply.data["params"]["resolution"], reply.data["params"]["ratio"]) == (resolution, ratio)


def test_every_listed_duration_is_accepted(api: Api) -> None:
    for model in api.get("/v1/models", type="video").json["data"]:
        headers = {"authorization": "Bearer a1,us-b2,hk-c3"}
        for duration in model["durations"]:
            reply = api.post(VIDEO, {"prompt": "a", "model": model["id"], "duration": duration}, headers)
            assert reply.status == 200, reply.message
            assert reply.data["params"]["duration"] == duration


def test_models_may_be_filtered_by_type(api: Api) -> None:
    for kind in ("image", "video"):
        assert {model["type"] for model in api.get("/v1/models", type=kind).json["data"]} == {kind}
    reply = api.get("/v1/models", type="audio")
    assert reply.status == 400
    assert "image" in reply.message


def test_stats_count_tasks_load_and_services_online() -> None:
    # Given two services, one of them online, with three tasks
    api = Api(SERVICE_IDS="s1,s2")
    now = api.container.clock.now()
    for task_id, server_id in (("a", "s1"), ("b", "s1"), ("c", "s2")):
        api.post(IMAGES, {"prompt": "a", "task_id": task_id, "server_id": server_id})
    api.claim("a")
    api.fail("c", "refused", "2038")
    server = Server(server_id="s1", status="online", last_heartbeat_at=now, load=1, version="1")
    api.store.heartbeat(server, "owner", now + LEASE)
    # When everything is asked for, and one service
    everything, one = api.get("/v1/tasks/stats").data, api.get("/v1/tasks/stats", server_id="s2").data
    # Then
    assert everything["tasks"] == {"pending": 1, "processing": 1, "polling": 0, "completed": 0, "failed": 1}
    assert everything["load"]["s1"] == 1
    assert [online["server_id"] for online in everything["servers_online"]] == ["s1"]
    assert everything["oldest_pending_age"] <= 2
    assert everything["error_rate"] == 1
    assert one["tasks"]["failed"] == 1
    assert one["tasks"]["pending"] == 0
    assert one["servers_online"] == []


def test_stats_of_a_malformed_service_are_refused(api: Api) -> None:
    assert api.get("/v1/tasks/stats", server_id="$where").status == 400


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of a simulated Jimeng."""
    with serving() as address:
        yield address


@pytest.fixture
def at_site(site: str) -> Api:
    return Api(JIMENG_BASE_URL=site)


def kill(site: str, token: str) -> None:
    requests.post(f"{site}/_sim/tokens", json={"token": token, "dead": True}, timeout=10).raise_for_status()


def test_a_token_check_tells_live_dead_and_mistyped_apart(at_site: Api, site: str) -> None:
    kill(site, "dead0token")
    live = at_site.post("/token/check", {"token": TOKEN})
    dead = at_site.post("/token/check", {"token": "dead0token"})
    region = at_site.post("/token/check", {"token": "de-0token"})
    mistyped = at_site.post("/token/check", {"token": "a b"})
    assert (live.status, live.json) == (200, {"live": True, "reason": None})
    assert (dead.json["live"], region.json["live"], mistyped.json["live"]) == (False, False, False)
    assert "us-" in region.json["reason"]
    assert len({reply.json["reason"] for reply in (dead, region, mistyped)}) == 3


def test_a_token_check_that_cannot_reach_the_site_is_undecided() -> None:
    reply = Api(JIMENG_BASE_URL="http://127.0.0.1:1").post("/token/check", {"token": TOKEN})
    assert (reply.status, reply.json["live"]) == (200, None)
    assert TOKEN not in reply.json["reason"]


@pytest.mark.parametrize("body", [{}, {"token": ""}, {"token": 5}, {"token": None}, []])
def test_a_token_check_without_a_token_is_refused(api: Api, body: object) -> None:
    assert api.post("/token/check", body).status == 400


def test_points_of_all_tokens_come_in_order_and_a_dead_one_spoils_none(at_site: Api, site: str) -> None:
    kill(site, "dead0token")
    headers = {"authorization": f"Bearer {TOKEN},dead0token,us-{TOKEN[::-1]}"}
    reply = at_site.call("POST", "/token/points", headers=headers)
    assert reply.status == 200
    first, dead, last = reply.json
    assert first["token"] == "0123***"
    assert first["points"]["totalCredit"] == sum(
        first["points"][name] for name in ("giftCredit", "purchaseCredit", "vipCredit")
    )
    assert (dead["token"], dead["error"], dead["points"]) == ("dead***", "login_rejected", None)
    assert last["points"]["totalCredit"] > 0
    assert TOKEN.encode() not in reply.body
