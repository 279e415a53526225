"""The simulator can be told to be slow, to lie and to fail in every documented way."""

import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import requests

from tests.integration.simulator_site import Json, Site, body_of, image_draft, serving, video_draft

GENERATE = "/mweb/v1/aigc_draft/generate"
HISTORY = "/mweb/v1/get_history_by_ids"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def site(address: str) -> Site:
    return Site(address, f"tok{uuid4().hex}")


def counted(site: Site, body: Json) -> Json:
    told: Json = site.admin("GET", "submissions")[body["submit_id"]]
    return told


def test_submit_refused_by_ret_with_its_data(site: Site) -> None:
    body = body_of(image_draft("[[sim submit_ret=4013 submit_starling=web_risk_control_message_reject_generation]]"))

    answer = site.generate(body)

    assert answer["ret"] == "4013"
    assert answer["data"]["fail_starling_key"] == "web_risk_control_message_reject_generation"
    assert counted(site, body) == {"received": 1, "accepted": 0}


@pytest.mark.parametrize(("keys", "data"), [("numeric_ret", dict), ("submit_data=null", type(None))])
def test_submit_refusal_forms(site: Site, keys: str, data: type) -> None:
    answer = site.generate(body_of(image_draft(f"[[sim submit_ret=1019 {keys}]]")))

    assert answer["ret"] == (1019 if keys == "numeric_ret" else "1019")
    assert isinstance(answer["data"], data)


def test_submit_http_errors_end_after_submit_times(site: Site) -> None:
    draft = image_draft("[[sim submit_http=429 retry_after=7 submit_times=2 submit_body=json]] x")

    answers = [site.post(GENERATE, body_of(draft)) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [429, 429, 200]
    assert answers[0].headers["retry-after"] == "7"
    assert answers[2].json()["ret"] == "0"


@pytest.mark.parametrize(("keys", "accepted"), [("submit_drop=before", 0), ("submit_drop=after", 1)])
def test_submit_connection_is_dropped(site: Site, keys: str, accepted: int) -> None:
    body = body_of(image_draft(f"[[sim {keys}]] x"))

    with pytest.raises(requests.ConnectionError):
        site.post(GENERATE, body)

    assert counted(site, body) == {"received": 1, "accepted": accepted}


def test_submit_times_out_after_it_was_accepted(site: Site) -> None:
    body = body_of(image_draft("[[sim submit_delay=2]] x"))

    with pytest.raises(requests.ReadTimeout):
        site.post(GENERATE, body, timeout=0.3)
    found = site.call(HISTORY, {"submit_ids": [body["submit_id"]]})["data"]

    assert found[body["submit_id"]]["submit_id"] == body["submit_id"]


def test_submit_answers_a_502_page_although_accepted(site: Site) -> None:
    body = body_of(image_draft("[[sim submit_http=502 submit_accepted]] x"))

    answer = site.post(GENERATE, body)

    assert answer.status_code == 502
    assert "<html>" in answer.text
    assert counted(site, body)["accepted"] == 1


def test_odd_success_answers(site: Site) -> None:
    numeric = site.generate(body_of(image_draft("[[sim numeric_ret numeric_history_id]] x")))
    nameless = site.generate(body_of(image_draft("[[sim no_history_id]] x")))

    assert numeric["ret"] == 0
    assert isinstance(numeric["data"]["aigc_data"]["history_record_id"], int)
    assert "history_record_id" not in nameless["data"]["aigc_data"]


def test_dedupe_is_an_option(site: Site) -> None:
    body = body_of(image_draft("[[sim dedupe]] x"))

    assert site.submit(body) == site.submit(body)
    assert counted(site, body) == {"received": 2, "accepted": 1}


def test_record_is_invisible_at_first_and_vanishes_later(site: Site) -> None:
    late = site.submit(body_of(image_draft("[[sim visible_after=0.3]] x")))
    gone = site.submit(body_of(image_draft("[[sim vanish=2-3]] x")))
    never = site.submit(body_of(image_draft("[[sim vanish=always]] x")))

    early = site.look_up(late)
    seen = [bool(site.look_up(gone)) for _ in range(4)]
    time.sleep(0.35)

    assert early == {}
    assert seen == [True, False, False, True]
    assert site.look_up(never) == {}
    assert late in site.look_up(late)


def test_explicit_statuses_one_per_poll(site: Site) -> None:
    keys = "per_poll statuses=missing,20,42,none,45:0,45:2,99,50:4"
    history_id = site.submit(body_of(image_draft(f"[[sim {keys}]] x")))

    records = [site.look_up(history_id).get(history_id) for _ in range(9)]
    seen = [(record.get("status"), len(record["item_list"])) if record else "missing" for record in records]

    assert seen == ["missing", (20, 0), (42, 0), (None, 0), (45, 0), (45, 2), (99, 0), (50, 4), (50, 4)]


@pytest.mark.parametrize(
    ("keys", "status", "code", "key", "items"),
    [
        ("fail=30", 30, "100402", "", 0),
        ("fail=30 fail_code=2038", 30, "2038", "", 0),
        ("fail=30:2 fail_code=2039", 30, "2039", "", 2),
        ("fail=30 starling_key=ErrMessage_APP_OutputVideoRisk", 30, "", "ErrMessage_APP_OutputVideoRisk", 0),
        ("fail=30 fail_code=2038 numeric_fail_code", 30, 2038, "", 0),
        ("fail=10", 10, "", "", 0),
        ("fail=40 fail_code=2004", 40, "2004", "", 0),
    ],
)
def test_failed_jobs(site: Site, keys: str, status: int, code: Any, key: str, items: int) -> None:
    record = site.finished(site.submit(body_of(image_draft(f"[[sim {keys}]] x"))))

    assert (record["status"], record["fail_code"], record["fail_starling_key"]) == (status, code, key)
    assert len(record["item_list"]) == items


def test_queue_moves_and_stuck_stays(site: Site) -> None:
    queued = site.submit(body_of(image_draft("[[sim queue=1 queue_length=900]] x")))
    stuck = site.submit(body_of(image_draft("[[sim stuck]] x")))

    first = site.look_up(queued)[queued]
    info = site.call("/mweb/v1/get_history_queue_info", {"history_ids": [queued, "1"]})["data"]
    last = site.finished(queued)

    assert first["status"] == 20
    assert first["queue_info"]["queue_status"] == 1
    assert first["queue_info"]["queue_idx"] > 0
    assert set(info) == {queued}
    assert last["queue_info"]["queue_status"] == 3
    assert site.look_up(stuck)[stuck]["status"] == 20


def test_poll_faults_hit_a_window_of_polls(site: Site) -> None:
    html = site.submit(body_of(image_draft("[[sim poll_html poll_from=2 poll_times=1]] x")))
    dead = site.submit(body_of(image_draft("[[sim poll_ret=1015 poll_times=1]] x")))
    broken = site.submit(body_of(image_draft("[[sim poll_http=503 poll_times=1]] x")))
    dropped = site.submit(body_of(image_draft("[[sim poll_drop poll_times=1]] x")))

    pages = [site.post(HISTORY, {"history_ids": [html]}).text.startswith("<!DOCTYPE") for _ in range(3)]
    rets = [site.call(HISTORY, {"history_ids": [dead]})["ret"] for _ in range(2)]
    codes = [site.post(HISTORY, {"history_ids": [broken]}).status_code for _ in range(2)]
    with pytest.raises(requests.ConnectionError):
        site.look_up(dropped)

    assert (pages, rets, codes) == ([False, True, False], ["1015", "0"], [503, 200])
    assert dropped in site.look_up(dropped)


def test_rules_match_token_and_prompt_and_can_run_out(site: Site, address: str) -> None:
    site.script({"submit_ret": "1010"}, prompt="crowded", times=1)
    site.script({"fail": "30", "fail_code": "2043"}, prompt="doomed")

    first, second = (site.generate(body_of(image_draft("crowded"))) for _ in range(2))
    doomed = site.finished(site.submit(body_of(image_draft("doomed"))))
    other = Site(address, f"tok{uuid4().hex}")

    assert (first["ret"], second["ret"], doomed["fail_code"]) == ("1010", "0", "2043")
    assert other.finished(other.submit(body_of(image_draft("doomed"))))["status"] == 50


def test_account_dies_and_slots_run_out_under_running_jobs(site: Site) -> None:
    site.admin("POST", "tokens", {"token": site.token, "max_running": 1})
    history_id = site.submit(body_of(image_draft("[[sim stuck]] x")))

    full = site.generate(body_of(image_draft("y")))
    site.admin("POST", "tokens", {"token": site.token, "dead": True})

    assert full["ret"] == "1010"
    assert site.call(HISTORY, {"history_ids": [history_id]})["ret"] == "1015"


def test_upload_faults(site: Site) -> None:
    keys = site.keys()
    site.script({"store_code": 5000}, times=1)
    site.script({"commit_status": 2001}, times=1)
    address = site.apply(keys, 3)

    codes = [site.store(address, b"abc").json()["code"] for _ in range(2)]
    status = site.commit(keys, address)["Result"]["Results"][0]["UriStatus"]
    site.script({"apply_error": "Throttled", "store_drop": True, "upload_token_ret": "1010"})
    query = f"Action=ApplyImageUpload&Version=2018-08-01&ServiceId={keys['service']}&FileSize=3&s=abcde12345"

    assert (codes, status) == ([5000, 2000], 2001)
    assert site.signed("GET", query, keys).json()["ResponseMetadata"]["Error"]["Code"] == "Throttled"
    assert site.call("/mweb/v1/get_upload_token", {"scene": 2})["ret"] == "1010"
    with pytest.raises(requests.ConnectionError):
        site.store(address, b"abc")


@pytest.mark.parametrize("keys", ["nonsense=1", "cost=dear", "fail=abc"])
def test_wrong_script_keys_are_refused(site: Site, keys: str) -> None:
    assert site.generate(body_of(image_draft(f"[[sim {keys}]] x")))["ret"] == "1000"


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("common", ["common_attr", "transcoded_video", "origin", "video_url"]),
        ("transcoded", ["video", "transcoded_video", "origin", "video_url"]),
        ("play", ["video", "play_url"]),
        ("download", ["video", "download_url"]),
        ("url", ["video", "url"]),
        ("item", ["url"]),
    ],
)
def test_video_url_places(site: Site, place: str, path: list[str]) -> None:
    record = site.finished(site.submit(body_of(video_draft(f"[[sim video_url={place}]] x"))))
    found = record["item_list"][0]
    for key in path:
        found = found[key]

    assert requests.head(str(found), timeout=5).headers["content-type"] == "video/mp4"


@pytest.mark.parametrize(
    ("variant", "key", "count"), [("ok", "item_list", 1), ("local", "local_item_list", 1), ("empty", "item_list", 0)]
)
def test_better_video_look_up(site: Site, variant: str, key: str, count: int) -> None:
    record = site.finished(site.submit(body_of(video_draft(f"[[sim hq={variant}]] x"))))
    body = {
        "item_id_list": [record["item_list"][0]["common_attr"]["id"]],
        "pack_item_opt": {"scene": 1, "need_data_integrity": True},
        "is_for_video_download": True,
    }

    entries = site.call("/mweb/v1/get_local_item_list", body)["data"][key]

    assert len(entries) == count
    urls = [one["common_attr"]["transcoded_video"]["origin"]["video_url"] for one in entries]
    plain = record["item_list"][0]["common_attr"]["transcoded_video"]["origin"]["video_url"]
    assert all(len(requests.get(url, timeout=5).content) > len(requests.get(plain, timeout=5).content) for url in urls)


def test_tester_sees_jobs_and_requests_without_secrets(site: Site) -> None:
    body = body_of(image_draft("watched"))
    history_id = site.submit(body)
    site.look_up(history_id)

    (job,) = site.admin("GET", f"jobs?submit_id={body['submit_id']}")
    told = site.admin("GET", "requests")

    assert (job["history_id"], job["prompt"], job["polls"], job["accepted"]) == (history_id, "watched", 1, 1)
    assert job["draft"]["type"] == "draft"
    assert told["counts"][HISTORY] >= 1
    assert any(entry.get("ids") == [history_id] for entry in told["last"])
    assert site.token not in json.dumps(told)
