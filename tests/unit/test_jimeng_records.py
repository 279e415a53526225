"""Which record of an answer is which job's, and the better quality of finished videos (jimeng-wire 5.2, 5.7)."""

from collections.abc import Mapping
from typing import Any

import pytest

from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.exceptions import LoginRejected
from tests.unit.jimeng_server import answer, answering, client, ok

Json = dict[str, Any]
RUNNING, SUCCEEDED, FAILED = ProgressState.RUNNING, ProgressState.SUCCEEDED, ProgressState.FAILED
A = "https://p3.example/a.png?x-expires=1&s=2"


def picture() -> Json:
    return {"common_attr": {"id": "7"}, "image": {"large_images": [{"image_url": A}]}}


def record(status: Any, *items: Any, **fields: Any) -> Json:
    return {"history_record_id": "H1", "status": status, "item_list": list(items), **fields}


def poll(body: Any, *wanted: str) -> Mapping[str, Progress]:
    with answering(answer(body)) as server:
        return client(server.address).poll("tok", wanted or ("H1",))


def find(body: Any, *wanted: str) -> Mapping[str, Progress]:
    with answering(answer(body)) as server:
        return client(server.address).find("tok", wanted or ("S1",))


RECORD = record(50, picture(), submit_id="S1")


@pytest.mark.parametrize(
    "body",
    [
        {"data": {"H1": RECORD}},
        {"data": {"H1": record(50, picture(), history_record_id=None)}},
        {"data": {"history_list": [RECORD]}},
        {"data": {"history_records": [RECORD]}},
        {"data": {"S1": RECORD}},
        {"data": [RECORD]},
        {"data": RECORD},
        {"H1": RECORD},
        {"data": {"history_list": [{"status": 50, "item_list": [picture()]}]}},
        {"data": {"H1": record(50, picture(), history_record_id=0)}},
    ],
)
def test_every_shape_of_a_look_up_by_history_id(body: Json) -> None:
    found = poll({"ret": "0", **body})
    assert (found["H1"].state, found["H1"].urls) == (SUCCEEDED, (A,))


@pytest.mark.parametrize(
    "data",
    [
        {"S1": record(20)},
        {"H1": record(20, submit_id="S1")},
        {"history_list": [record(20, submit_id="S1")]},
        [record(20, task={"submit_id": "S1"})],
        {"S1": {"status": 20, "task": {"history_id": "H1"}}},
    ],
)
def test_every_shape_of_a_look_up_by_submit_id(data: Any) -> None:
    found = find({"ret": 0, "data": data})
    assert (found["S1"].history_id, found["S1"].state) == ("H1", RUNNING)


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        [],
        "x",
        {"H1": None},
        {"H2": record(50, picture(), history_record_id="H2")},
        {"H1": record(50, picture(), history_record_id="H2")},
        record(50, picture(), history_record_id="H2"),
        {"history_list": [record(50, picture(), history_record_id="H2")]},
        {"history_list": [{"status": 50}, {"status": 50}]},
        {"status": 50, "item_list": [picture()]},
        {"S2": record(50, picture(), history_record_id=None, submit_id="S2")},
    ],
)
def test_the_record_of_another_job_is_never_taken_for_ours(data: Any) -> None:
    assert poll({"ret": "0", "data": data}) == {}


@pytest.mark.parametrize(
    "data", [{}, {"S2": record(50, submit_id="S2")}, {"S1": record(50, submit_id="S2")}, record(50), {"H1": record(20)}]
)
def test_a_submission_that_the_site_does_not_name_is_missing(data: Any) -> None:
    assert find({"ret": "0", "data": data}) == {}


def test_a_known_submission_without_an_id_to_poll_is_not_called_missing() -> None:
    found = find({"ret": "0", "data": {"S1": {"status": 20}}})
    assert (found["S1"].history_id, found["S1"].state) == ("", RUNNING)


def test_one_bad_record_does_not_spoil_the_others() -> None:
    data = {
        "H1": record(30, fail_code="2038"),
        "H2": "garbage",
        "H3": {"history_record_id": "H3", "status": {}, "item_list": "x", "task": []},
        "H4": record(50, 1, None, picture(), history_record_id="H4"),
    }
    found = poll({"ret": "0", "data": data}, "H1", "H2", "H3", "H4", "H5")
    assert {key: progress.state for key, progress in found.items()} == {
        "H1": FAILED,
        "H2": RUNNING,
        "H3": RUNNING,
        "H4": SUCCEEDED,
    }
    assert found["H4"].urls == (A,)


def test_all_ids_go_out_in_one_request() -> None:
    with answering(ok({})) as server:
        client(server.address).poll("tok", ["1", "2"])
        client(server.address).find("tok", ["a", "b"])
        bodies = [request.body for request in server.requests]
    assert bodies == [b'{"history_ids": ["1", "2"]}', b'{"submit_ids": ["a", "b"]}']


def test_a_dead_account_is_told_while_polling() -> None:
    with pytest.raises(LoginRejected):
        poll({"ret": "1015", "errmsg": "login error", "data": None})


VIDEO = {"common_attr": {"id": "77"}, "video": {"play_url": "https://h/preview.mp4"}}
BEST = "https://h/best.mp4"


def better(item: Any, key: str = "item_list") -> Any:
    return ok({key: [item]})


@pytest.mark.parametrize(
    ("behaviour", "url"),
    [
        (better({"common_attr": {"id": "77", "transcoded_video": {"origin": {"video_url": BEST}}}}), BEST),
        (better({"video": {"transcoded_video": {"origin": {"video_url": BEST}}}}, "local_item_list"), BEST),
        (better({"video": {"download_url": BEST, "play_url": A}}), BEST),
        (better({"x": "https://v9-dreamnia.jimeng.com/a.mp4"}), "https://v9-dreamnia.jimeng.com/a.mp4"),
        (better({"x": "https://v26-other.jimeng.com/a.mp4"}), "https://v26-other.jimeng.com/a.mp4"),
        (better({"x": "https://v.vlabvod.com/a.mp4"}), "https://v.vlabvod.com/a.mp4"),
        (better({"common_attr": {"id": "78"}, "video": {"download_url": BEST}}), "https://h/preview.mp4"),
        (better({}), "https://h/preview.mp4"),
        (ok({"item_list": []}), "https://h/preview.mp4"),
        (ok(None), "https://h/preview.mp4"),
        (answer({"ret": "1000"}), "https://h/preview.mp4"),
        (answer({}, "502 Bad Gateway"), "https://h/preview.mp4"),
        (lambda peer: peer.close(), "https://h/preview.mp4"),
    ],
)
def test_a_finished_video_is_taken_in_the_best_quality_there_is(behaviour: Any, url: str) -> None:
    with answering(ok({"H1": record(50, VIDEO)}), behaviour) as server:
        assert client(server.address).poll("tok", ["H1"])["H1"].urls == (url,)
        assert b'"item_id_list": ["77"]' in server.requests[1].body


@pytest.mark.parametrize("status", [20, 42, 45, 30])
def test_the_better_quality_is_asked_for_only_at_the_end(status: int) -> None:
    with answering(ok({"H1": record(status, VIDEO)})) as server:
        client(server.address).poll("tok", ["H1"])
        assert len(server.requests) == 1
