"""Polling against the simulated Jimeng: a job's life, failures, and every place of its media."""

import pytest
import requests

from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.exceptions import (
    ContentRejected,
    LoginRejected,
    OutcomeUnknown,
    ProviderBlocked,
    ProviderError,
    RateLimited,
    ServerRefused,
)
from jimeng_tasks.jimeng import JimengWeb
from tests.integration.jimeng_jobs import FAILED, IMAGE, SUCCEEDED, VIDEO, finished, generated, submit
from tests.integration.simulator_site import Site


def stepped(web: JimengWeb, token: str, directive: str, kind: TaskType = IMAGE) -> list[tuple[str, int] | None]:
    """State and number of addresses at each of four polls; None while the record is missing."""
    history_id = submit(web, token, {"prompt": f"[[sim per_poll {directive}]] x"}, kind=kind)
    polls = [web.poll(token, [history_id]).get(history_id) for _ in range(4)]
    return [(progress.state.value, len(progress.urls)) if progress else None for progress in polls]


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("statuses=20,42,45:0,50", [("running", 0), ("running", 0), ("running", 0), ("succeeded", 4)]),
        ("statuses=42:1,45:2,45:4,50:4", [("running", 1), ("running", 2), ("succeeded", 4), ("succeeded", 4)]),
        ("statuses=missing,20,missing,50", [None, ("running", 0), None, ("succeeded", 4)]),
        ("statuses=none,0,77:2,50", [("running", 0), ("running", 0), ("running", 2), ("succeeded", 4)]),
        ("statuses=20,21:0,21:1", [("running", 0), ("running", 0), ("succeeded", 1), ("succeeded", 1)]),
        ("statuses=20,10:4", [("running", 0), ("succeeded", 4), ("succeeded", 4), ("succeeded", 4)]),
        ("statuses=20,30:2", [("running", 0), ("failed", 2), ("failed", 2), ("failed", 2)]),
        ("statuses=20,50:0", [("running", 0), ("succeeded", 0), ("succeeded", 0), ("succeeded", 0)]),
        ("stuck", [("running", 0)] * 4),
        ("vanish=2-3 statuses=20,20,20,50", [("running", 0), None, None, ("succeeded", 4)]),
    ],
)
def test_a_job_poll_by_poll(web: JimengWeb, token: str, directive: str, expected: list[tuple[str, int] | None]) -> None:
    assert stepped(web, token, directive) == expected


@pytest.mark.parametrize(
    ("directive", "error", "fail_code", "items"),
    [
        ("fail=30 fail_code=2038", ContentRejected, "2038", 0),
        ("fail=30 fail_code=2038 numeric_fail_code", ContentRejected, "2038", 0),
        ("fail=30 starling_key=ErrMessage_APP_OutputVideoRisk", ContentRejected, "content_rejected", 0),
        ("fail=30:2 fail_code=100402", ServerRefused, "100402", 2),
        ("fail=10:0", ContentRejected, "content_rejected", 0),
        ("fail=40", ContentRejected, "content_rejected", 0),
        ("fail=60", ServerRefused, "provider_failed", 0),
        ("fail=100", ServerRefused, "provider_failed", 0),
    ],
)
def test_a_job_that_fails(
    web: JimengWeb, token: str, directive: str, error: type[ProviderError], fail_code: str, items: int
) -> None:
    progress = generated(web, token, {"prompt": f"[[sim {directive}]] x"})
    assert progress.state is FAILED
    assert type(progress.error) is error
    assert progress.error.fail_code == fail_code
    assert progress.error.log_id
    assert len(progress.urls) == items


@pytest.mark.parametrize(
    ("directive", "told"),
    [
        ("fail=30 fail_code=2038 numeric_fail_code", "(input text; status 30, code 2038"),
        ("fail=30 fail_code=2039", "(input image; status 30, code 2039"),
        ("fail=30 starling_key=ErrMessage_APP_OutputVideoRisk", "(output video; status 30, key ErrMessage"),
        ("fail=10:0", "(input; status 10"),
        ("fail=40", "(output; status 40"),
    ],
)
def test_a_rejected_job_says_at_which_stage(web: JimengWeb, token: str, directive: str, told: str) -> None:
    error = generated(web, token, {"prompt": f"[[sim {directive}]] x"}).error
    assert type(error) is ContentRejected
    assert "was rejected by moderation" in str(error)
    assert told in str(error)


@pytest.mark.parametrize(("ret", "stage"), [("2003", "input image"), ("2038", "input text"), ("2041", "stage unknown")])
def test_a_rejected_submission_says_at_which_stage(web: JimengWeb, token: str, ret: str, stage: str) -> None:
    with pytest.raises(ContentRejected, match=rf"was rejected by moderation.* \({stage}; ret {ret}"):
        submit(web, token, {"prompt": f"[[sim submit_ret={ret}]] x"})


@pytest.mark.parametrize(
    ("form", "found"), [("large", True), ("cover", True), ("cover_map", True), ("none", False), ("large x", True)]
)
def test_every_place_of_a_picture(web: JimengWeb, token: str, form: str, found: bool) -> None:
    directive = f"item_form={form.replace(' x', ' escape_urls')}"
    progress = generated(web, token, {"prompt": f"[[sim {directive}]] x", "n": 1})
    assert len(progress.urls) == int(found)
    for url in progress.urls:
        assert requests.get(url, timeout=5).status_code == 200


@pytest.mark.parametrize(
    ("place", "better", "fetched"),
    [
        ("common", "empty", ["video0"]),
        ("transcoded", "empty", ["video0"]),
        ("play", "empty", ["video0"]),
        ("download", "empty", ["video0"]),
        ("url", "empty", ["video0"]),
        ("item", "empty", ["video0"]),
        ("none", "empty", []),
        ("common", "ok", ["hq0"]),
        ("play", "local", ["hq0"]),
        ("url", "error", ["video0"]),
        ("common", "http", ["video0"]),
        ("transcoded", "html", ["video0"]),
        ("download", "drop", ["video0"]),
    ],
)
def test_every_place_of_a_video(
    web: JimengWeb, token: str, site: Site, place: str, better: str, fetched: list[str]
) -> None:
    params = {"prompt": f"[[sim statuses=50 video_url={place} hq={better}]] x"}

    progress = generated(web, token, params, kind=VIDEO)

    for url in progress.urls:
        assert requests.get(url, timeout=5).content[4:8] == b"ftyp"
    assert list(site.admin("GET", "jobs")[-1]["media_hits"]) == fetched


@pytest.mark.parametrize("directive", ["poll_http=502", "poll_html", "poll_drop", "poll_http=503 poll_body=empty"])
def test_a_failed_poll_says_nothing_of_the_job(web: JimengWeb, token: str, directive: str) -> None:
    history_id = submit(web, token, {"prompt": f"[[sim {directive} poll_times=1]] x"})
    with pytest.raises(OutcomeUnknown):
        web.poll(token, [history_id])
    assert finished(web, token, history_id).state is SUCCEEDED


@pytest.mark.parametrize(
    ("ret", "error"),
    [("1015", LoginRejected), ("1010", RateLimited), ("2002", ServerRefused), ("4013", ProviderBlocked)],
)
def test_a_poll_that_is_refused(web: JimengWeb, token: str, ret: str, error: type[ProviderError]) -> None:
    history_id = submit(web, token, {"prompt": f"[[sim poll_ret={ret} poll_times=1]] x"})
    with pytest.raises(error):
        web.poll(token, [history_id])
    assert finished(web, token, history_id).state is SUCCEEDED


def test_many_jobs_in_one_request(web: JimengWeb, token: str, site: Site) -> None:
    good = [submit(web, token, {"prompt": "x"}) for _ in range(3)]
    bad = submit(web, token, {"prompt": "[[sim fail=30 fail_code=2038]] x"})
    for history_id in (*good, bad):
        finished(web, token, history_id)
    before = site.admin("GET", "requests")["counts"]["/mweb/v1/get_history_by_ids"]

    found = web.poll(token, [*good, bad, "99999"])

    assert {key: progress.state for key, progress in found.items()} == dict.fromkeys(good, SUCCEEDED) | {bad: FAILED}
    assert site.admin("GET", "requests")["counts"]["/mweb/v1/get_history_by_ids"] == before + 1
