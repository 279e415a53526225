"""A hostile text in any field of a reply: no session, no unstorable or endless text leaves the adapter."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.faults.deployment import TOKEN
from tests.faults.raw_site import CREDIT, GENERATE, HISTORY, RawSite, envelope, image_record, say
from tests.faults.test_replies_to_calls import CALLS, HID, SID, assert_clean, outcome

HOSTILE = {
    "the session": TOKEN,
    "the session within": f"<{TOKEN}>",
    "a lone surrogate": "https://media.example/\ud800",
    "endless": "https://media.example/" + "9" * 3_000_000,
    "endless digits": "9" * 5000,
    "a NUL": "https://media.example/a\x00b",
}


def refused(data: Any = None, **fields: Any) -> Any:
    return envelope(data, ret="2038", **fields)


def failed(**fields: Any) -> Any:
    return envelope({HID: image_record(HID, SID, 30) | fields})


def delivered(url: str) -> Any:
    picture = {"image": {"large_images": [{"image_url": url}]}}
    return envelope({HID: image_record(HID, SID) | {"item_list": [picture]}})


REFUSALS: dict[str, Callable[[str], Any]] = {
    "errmsg": lambda text: refused(errmsg=text),
    "logid": lambda text: refused(logid=text),
    "fail_code": lambda text: refused(data={"fail_code": text}),
    "starling key": lambda text: refused(data={"fail_starling_key": text}),
    "starling message": lambda text: refused(errmsg="", data={"fail_starling_message": text}),
    "history id": lambda text: envelope({"aigc_data": {"history_record_id": text}}),
}
RECORDS: dict[str, Callable[[str], Any]] = {
    "record fail_code": lambda text: failed(fail_code=text),
    "record fail_msg": lambda text: failed(fail_msg=text),
    "record starling key": lambda text: failed(fail_starling_key=text),
    "record logid": lambda text: failed() | {"logid": text},
    "url": delivered,
}
CASES = [(GENERATE, CALLS[0][1], name, make) for name, make in REFUSALS.items()]
CASES += [(HISTORY, CALLS[1][1], name, make) for name, make in RECORDS.items()]
CASES += [(CREDIT, CALLS[3][1], "credits", lambda text: envelope({"credit": {"gift_credit": text}}))]


@pytest.fixture(scope="module")
def site() -> Iterator[RawSite]:
    with RawSite().running() as site:
        yield site


PAIRS = [
    (*case, hostile) for case in CASES for hostile in HOSTILE if (case[2], "session" in hostile) != ("history id", 1)
]


@pytest.mark.parametrize(("name", "call", "field", "make", "hostile"), PAIRS, ids=[f"{p[2]}: {p[4]}" for p in PAIRS])
def test_a_hostile_text_stays_outside(
    site: RawSite, name: str, call: Any, field: str, make: Callable[[str], Any], hostile: str
) -> None:
    assert_clean(outcome(site, name, call, say(make(HOSTILE[hostile]))))
