"""Reading history records, however odd they are (jimeng-wire 5)."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jimeng_tasks.domain.provider import Progress, ProgressState
from jimeng_tasks.exceptions import (
    AccessDenied,
    ContentRejected,
    ProviderBlocked,
    ProviderError,
    ServerRefused,
)
from jimeng_tasks.jimeng.regions import parse_token
from jimeng_tasks.jimeng.results import progress_of

Json = dict[str, Any]
RUNNING, SUCCEEDED, FAILED = ProgressState.RUNNING, ProgressState.SUCCEEDED, ProgressState.FAILED
ACCOUNT = parse_token("hk-5e55104c0ffee")
A, B = "https://p3.example/a.png?x-expires=1&s=2", "https://p3.example/b.png"


def picture(url: str = A) -> Json:
    return {"common_attr": {"id": "7"}, "image": {"large_images": [{"image_url": url}]}}


def record(status: Any, *items: Any, **fields: Any) -> Json:
    return {"history_record_id": "H1", "status": status, "item_list": list(items), **fields}


def read(value: Mapping[str, Any]) -> Progress:
    return progress_of(value, "H1", "LOG1", ACCOUNT)


@pytest.mark.parametrize(
    ("status", "items", "state"),
    [
        (0, 0, RUNNING),
        (20, 0, RUNNING),
        (42, 1, RUNNING),
        (45, 0, RUNNING),
        (45, 1, RUNNING),
        (45, 2, SUCCEEDED),
        (50, 2, SUCCEEDED),
        ("50", 2, SUCCEEDED),
        (50.0, 2, SUCCEEDED),
        (50, 0, SUCCEEDED),
        (10, 1, SUCCEEDED),
        (10, 0, FAILED),
        (21, 1, SUCCEEDED),
        (21, 0, RUNNING),
        (30, 0, FAILED),
        (30, 1, FAILED),
        (40, 0, FAILED),
        (60, 0, FAILED),
        (70, 0, FAILED),
        (80, 0, FAILED),
        (100, 0, FAILED),
        (77, 2, RUNNING),
        (-30, 0, RUNNING),
        (None, 2, RUNNING),
        (True, 0, RUNNING),
        ("", 0, RUNNING),
        ("done", 0, RUNNING),
        ([50], 1, RUNNING),
        ({}, 1, RUNNING),
        (1e400, 1, RUNNING),
    ],
)
def test_status(status: Any, items: int, state: ProgressState) -> None:
    progress = read(record(status, *[picture(A), picture(B)][:items], total_image_count=2))
    assert progress.state is state
    assert len(progress.urls) == items
    assert (progress.error is not None) == (state is FAILED)


def test_a_missing_status_is_looked_for_in_the_task() -> None:
    assert read({"task": {"status": 50}, "item_list": [picture()]}).state is SUCCEEDED
    assert read({"status": "odd", "task": {"status": 50}}).state is RUNNING


def test_partial_results_without_a_promise_are_still_running() -> None:
    assert read(record(45, picture(), total_image_count=0)).state is RUNNING


@pytest.mark.parametrize(
    ("fields", "error", "fail_code"),
    [
        ({"fail_code": "2038"}, ContentRejected, "2038"),
        ({"fail_code": 2038}, ContentRejected, "2038"),
        ({"error_code": "2039"}, ContentRejected, "2039"),
        ({"fail_code": "", "fail_starling_key": "ErrMessage_APP_OutputVideoRisk"}, ContentRejected, "content_rejected"),
        ({"fail_code": "77", "fail_starling_key": "web_risk_control_x"}, ProviderBlocked, "77"),
        ({"fail_code": "1017"}, AccessDenied, "1017"),
        ({"fail_code": "100402"}, ServerRefused, "100402"),
        ({"fail_code": "999999"}, ServerRefused, "999999"),
        ({}, ServerRefused, "provider_failed"),
        ({"fail_code": None, "fail_starling_key": 7, "fail_msg": []}, ServerRefused, "provider_failed"),
    ],
)
def test_why_a_job_failed(fields: Json, error: type[ProviderError], fail_code: str) -> None:
    failure = read(record(30, **fields)).error
    assert type(failure) is error
    assert (failure.fail_code, failure.log_id) == (fail_code, "LOG1")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (record(30, fail_code="2038"), "the prompt was rejected by moderation (input text; status 30, code 2038"),
        (record(30, fail_code=2039), "an input picture was rejected by moderation (input image; status 30, code 2039"),
        (record(30, fail_code="2004"), "a generated picture was rejected by moderation (output image; status 30"),
        (record(30, fail_code="2040"), "the content was rejected by moderation (stage unknown; status 30, code 2040"),
        (
            record(30, fail_starling_key="ErrMessage_APP_OutputVideoRisk", fail_starling_message="no  luck"),
            "the generated video was rejected by moderation: no luck (output video; status 30, key ErrMessage",
        ),
        (
            record(30, fail_starling_key="ErrMessage_APP_OutputAudioRisk"),
            "the sound of the generated video was rejected by moderation (output audio; status 30",
        ),
        (record(10), "the input was rejected by moderation (input; status 10, logid LOG1)"),
        (record(40), "the output was rejected by moderation (output; status 40, logid LOG1)"),
        (record(40, fail_code="2004"), "a generated picture was rejected by moderation (output image; status 40"),
        ({"task": {"status": 40}}, "the output was rejected by moderation (output; status 40"),
    ],
)
def test_a_rejection_says_at_which_stage_it_happened(value: Json, told: str) -> None:
    failure = read(value).error
    assert type(failure) is ContentRejected
    assert str(failure).startswith(told)


def test_a_failure_of_another_kind_has_no_stage() -> None:
    failure = read(record(30, fail_code="2038", fail_starling_key="web_risk_control_x")).error
    assert type(failure) is ProviderBlocked
    assert str(failure) == (
        "Jimeng failed the job: no message (status 30, code 2038, key web_risk_control_x, logid LOG1)"
    )


@pytest.mark.parametrize("status", [10, 40])
def test_statuses_that_mean_moderation(status: int) -> None:
    assert type(read(record(status)).error) is ContentRejected


@pytest.mark.parametrize("fail_code", ["", "2038"])
def test_the_reason_is_told_without_the_session(fail_code: str) -> None:
    fields = {"fail_starling_message": f"sorry {ACCOUNT.session_id}", "fail_msg": "other", "fail_code": fail_code}
    told = str(read(record(30, **fields)).error)
    assert "sorry ***" in told
    assert ACCOUNT.session_id not in told
    assert "LOG1" in told


@pytest.mark.parametrize(
    ("item", "url"),
    [
        (picture(), A),
        ({"image": {"large_images": [{"image_url": ""}, {"image_url": B}]}}, B),
        ({"image": {"large_images": []}, "common_attr": {"cover_url": A}}, A),
        ({"image": {}, "common_attr": {"cover_url": "", "cover_url_map": {"360": B, "2400": A}}}, A),
        ({"image": None, "common_attr": {"item_urls": [None, B]}}, B),
        ({"common_attr": {"cover_url": A}}, A),
        (picture() | {"video": None, "url": None}, A),
        (picture() | {"video": {}, "url": B, "common_attr": {"transcoded_video": None}}, A),
        (picture(A.replace("&", "\\u0026")), A),
        (picture(f" {A}\n"), A),
        (picture("ftp://h/a.png"), None),
        (picture("file:///etc/passwd"), None),
        (picture("http://"), None),
        (picture("http://[bad"), None),
        ({"image": {"large_images": {"image_url": A}}}, None),
        ({"image": {"large_images": ["x", 1, None]}}, None),
        ({}, None),
    ],
)
def test_where_the_address_of_a_picture_stands(item: Json, url: str | None) -> None:
    assert read(record(50, item)).urls == ((url,) if url else ())


V = "https://v3-dreamnia.example/video.mp4?x-expires=1&s=2"


@pytest.mark.parametrize(
    ("item", "url"),
    [
        ({"common_attr": {"transcoded_video": {"origin": {"video_url": V}}}, "video": {"play_url": B}}, V),
        ({"video": {"transcoded_video": {"origin": {"video_url": V}}, "play_url": B}}, V),
        ({"video": {"play_url": V, "download_url": B}}, V),
        ({"video": {"download_url": V, "url": B}}, V),
        ({"video": {"url": V}}, V),
        ({"video": {}, "url": V}, V),
        ({"url": V, "common_attr": {"cover_url": A}}, V),
        ({"video": {"play_url": V.replace("&", "\\u0026")}}, V),
        ({"video": {"moved": {"deep": "https://x.vlabvod.com/v.mp4?a=1"}}}, "https://x.vlabvod.com/v.mp4?a=1"),
        (
            {"video": {"json": '{"u":"https://a.vod.com/1?a=1\\u0026b=2"}', "c": "https://vlabvod.com/1.webp"}},
            "https://a.vod.com/1?a=1&b=2",
        ),
        ({"video": {"cover_url": "https://p3-vod.example/cover.webp"}, "common_attr": {"cover_url": A}}, None),
        ({"video": {}, "common_attr": {"description": "see https://vod.example/mine.mp4"}}, None),
        ({"video": {"play_url": V}, "image": None, "common_attr": {"cover_url": A}}, V),
    ],
)
def test_where_the_address_of_a_video_stands(item: Json, url: str | None) -> None:
    assert read(record(50, item)).urls == ((url,) if url else ())


def test_a_video_that_moved_out_of_its_items_is_found_once_it_is_done() -> None:
    moved = {"somewhere": {"else": "https://x.vlabvod.com/v.mp4"}}
    assert read(record(50, **moved)).urls == ("https://x.vlabvod.com/v.mp4",)
    assert read(record(30, **moved)).urls == ()
    assert read(record(50, picture(), **moved)).urls == (A,)


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([A, "H1", "50"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["status", "item_list", "image", "video", "common_attr", "large_images", "image_url", "task"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON_VALUES)
def test_no_record_is_too_odd_to_read(value: Any) -> None:
    progress = read(value if isinstance(value, dict) else {"status": 50, "item_list": value})
    assert all(url.startswith("http") for url in progress.urls)
