"""Whatever a single call is answered with, the adapter gives a typed result or a clean error of the product."""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jimeng_tasks.domain.provider import Credits, Picture
from jimeng_tasks.exceptions import OutcomeUnknown, ProviderError, RateLimited
from tests.faults.deployment import TOKEN
from tests.faults.raw_site import (
    COMMIT,
    CREDIT,
    GENERATE,
    HISTORY,
    LOCAL_ITEMS,
    PLAIN,
    STORE,
    UPLOAD_TOKEN,
    RawSite,
    Wire,
    envelope,
    http,
    image_record,
    video_record,
)
from tests.faults.replies import RETRY_AFTER, Reply, replies
from tests.faults.soak import property_test, spread
from tests.unit.jimeng_server import client, submit

MOST_TEXT = 2000  # characters of a message
PICTURE = Picture(data=b"png", format="png", width=64, height=64)
HID, SID = "4000000000", str(uuid4())
SLACK = 1.0  # seconds over the time limit

GOOD: dict[str, Any] = {
    GENERATE: envelope({"aigc_data": {"history_record_id": HID, "task": {"task_id": "1"}}, "fail_code": ""}),
    HISTORY: envelope({HID: image_record(HID, SID), SID: image_record(HID, SID)}),
    CREDIT: PLAIN[CREDIT],
    UPLOAD_TOKEN: PLAIN[UPLOAD_TOKEN],
    STORE: PLAIN[STORE],
    COMMIT: PLAIN[COMMIT],
    LOCAL_ITEMS: envelope({"item_list": [{"item_id": "item-1", "video": {"download_url": "https://v/best"}}]}),
}
type Call = Callable[[Any], Any]
CALLS: list[tuple[str, Call]] = [
    (GENERATE, lambda web: submit(web, TOKEN)),
    (HISTORY, lambda web: web.poll(TOKEN, [HID])),
    (HISTORY, lambda web: web.find(TOKEN, [SID])),
    (CREDIT, lambda web: web.credits(TOKEN)),
    (UPLOAD_TOKEN, lambda web: web.upload_reference(TOKEN, PICTURE)),
    (STORE, lambda web: web.upload_reference(TOKEN, PICTURE)),
    (COMMIT, lambda web: web.upload_reference(TOKEN, PICTURE)),
    (LOCAL_ITEMS, lambda web: web.poll(TOKEN, [HID])),
]
NAMES = ["generate", "poll", "find", "credits", "upload token", "store", "commit", "local items"]


@pytest.fixture(scope="module")
def site() -> Iterator[RawSite]:
    with RawSite().running() as site:
        yield site


@pytest.fixture(autouse=True)
def forgetful(site: RawSite) -> None:
    site.forget()


def outcome(site: RawSite, name: str, call: Call, wire: Wire) -> Any:
    """What the call comes to when it is answered with ``wire``; any error but ours fails the test."""
    site.forget()
    site.jobs = {SID: HID}
    site.record = video_record if name == LOCAL_ITEMS else image_record
    site.speech[name] = lambda _: wire
    try:
        return call(client(site.address, timeout=1))
    except ProviderError as error:
        return error


def assert_clean(found: Any) -> None:
    """Every text is real text, of bearable length, without the session."""
    if isinstance(found, ProviderError):
        for text in (str(found), found.fail_code, found.log_id or ""):
            _assert_clean_text(text)
        assert found.retry_after is None or 0 <= found.retry_after < 2**40
    elif isinstance(found, Credits):
        assert all(type(number) is int for number in (found.gift, found.purchase, found.vip))
    elif isinstance(found, dict):
        for progress in found.values():
            _assert_clean_text(progress.history_id)
            for url in progress.urls:
                _assert_clean_text(url, 10_000)
            assert_clean(progress.error)
    elif found is not None:
        _assert_clean_text(found)


def _assert_clean_text(text: Any, most: int = MOST_TEXT) -> None:
    assert isinstance(text, str)
    text.encode()
    assert TOKEN not in text
    assert len(text) <= most


@pytest.mark.parametrize(("name", "call"), CALLS, ids=NAMES)
@given(data=st.data())
@property_test(25)
def test_any_reply_is_a_clean_outcome(site: RawSite, name: str, call: Call, data: st.DataObject) -> None:
    reply: Reply = data.draw(replies(GOOD[name]))

    found = outcome(site, name, call, reply.wire())

    assert_clean(found)
    assert len(site.calls(name)) == 1, "a call is made once"


@pytest.mark.parametrize(("name", "call"), CALLS[:4], ids=NAMES[:4])
def test_a_reset_at_any_byte_is_an_unknown_outcome(site: RawSite, name: str, call: Call) -> None:
    whole = http(json.dumps(GOOD[name]).encode())

    found = {size: outcome(site, name, call, Wire(whole[:size], "reset")) for size in spread(len(whole), 120)}

    assert {size: error for size, error in found.items() if not isinstance(error, OutcomeUnknown)} == {}


@pytest.mark.parametrize("size", [0, 200])
def test_silence_ends_with_the_time_limit(site: RawSite, size: int) -> None:
    whole = http(json.dumps(GOOD[GENERATE]).encode())
    began = time.monotonic()

    found = outcome(site, GENERATE, CALLS[0][1], Wire(whole[:size], "silence"))

    assert isinstance(found, OutcomeUnknown)
    assert time.monotonic() - began < 1 + SLACK


@pytest.mark.parametrize("status", ["200 OK", "302 Found"])
def test_a_trickle_ends_with_the_time_limit(site: RawSite, status: str) -> None:
    head = http(b"a" * 10**6, status, f"Location: {site.address}/")[: -(10**6)]
    began = time.monotonic()

    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(outcome, site, GENERATE, CALLS[0][1], Wire(head, "trickle"))
        wait([call], timeout=1 + SLACK)
        is_in_time = call.done()
        site.hang_up()

    assert is_in_time, f"it takes {time.monotonic() - began:.0f} s and more"
    assert isinstance(call.result(), ProviderError)


@pytest.mark.parametrize("header", RETRY_AFTER)
def test_any_retry_after_is_read_or_ignored(site: RawSite, header: str) -> None:
    found = outcome(site, GENERATE, CALLS[0][1], Wire(http(b"", "429 Busy", f"Retry-After: {header}")))

    assert isinstance(found, RateLimited)
    assert_clean(found)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed_with_a_paid_call(site: RawSite, status: int) -> None:
    target = f"Location: {site.address}{GENERATE}"

    found = outcome(site, GENERATE, CALLS[0][1], Wire(http(b"", f"{status} Moved", target)))

    assert isinstance(found, OutcomeUnknown)
    assert len(site.asked) == 1


@pytest.mark.parametrize("target", ["http://[", "//", "", "ftp://\x80", "http://a:b/"])
def test_a_redirect_to_a_malformed_address_is_an_unknown_outcome(site: RawSite, target: str) -> None:
    found = outcome(site, GENERATE, CALLS[0][1], Wire(http(b"", "302 Moved", f"Location: {target}")))

    assert isinstance(found, OutcomeUnknown)


def test_a_good_reply_in_pieces_of_gzip_is_read(site: RawSite) -> None:
    body = gzip.compress(json.dumps(GOOD[GENERATE]).encode())

    assert outcome(site, GENERATE, CALLS[0][1], Wire(http(body, "200 OK", "Content-Encoding: gzip"))) == HID
    broken = Wire(http(body[:-20] + bytes(20), "200 OK", "Content-Encoding: gzip"))
    assert isinstance(outcome(site, GENERATE, CALLS[0][1], broken), OutcomeUnknown)
