"""Outcomes of the paid call, against the simulated Jimeng: accepted, refused, or nobody knows."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from jimeng_tasks.exceptions import (
    ContentRejected,
    LoginRejected,
    OutcomeUnknown,
    ParameterRejected,
    ProviderBlocked,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RegionMismatch,
    ServerRefused,
    VersionRejected,
)
from jimeng_tasks.jimeng import JimengWeb
from tests.integration.jimeng_jobs import SUCCEEDED, finished, make_client, picture, submit
from tests.integration.simulator_site import Site


@pytest.mark.parametrize(
    ("directive", "error", "fail_code"),
    [
        ("submit_http=429 retry_after=7", RateLimited, "rate_limited"),
        ("submit_http=404", ServerRefused, "provider_failed"),
        ("submit_ret=1010", RateLimited, "1010"),
        ("submit_ret=2002", ServerRefused, "2002"),
        ("submit_ret=5001", ServerRefused, "5001"),
        ("submit_ret=5002", ServerRefused, "5002"),
        ("submit_ret=1006 submit_fail_code=1006", QuotaExhausted, "1006"),
        ("submit_ret=5000", QuotaExhausted, "5000"),
        ("submit_ret=121101 submit_data=null", QuotaExhausted, "121101"),
        ("submit_ret=1015 submit_data=null", LoginRejected, "1015"),
        ("submit_ret=4013 submit_starling=web_risk_control_message_reject_generation", ProviderBlocked, "4013"),
        ("submit_ret=1019", ProviderBlocked, "1019"),
        ("submit_ret=-6", ProviderBlocked, "-6"),
        ("submit_ret=2003", ContentRejected, "2003"),
        ("submit_ret=9 submit_fail_code=2038", ContentRejected, "2038"),
        ("submit_ret=1000", ParameterRejected, "1000"),
        ("submit_ret=3000", RegionMismatch, "3000"),
        ("submit_ret=3018", VersionRejected, "3018"),
        ("submit_ret=1010 numeric_ret", RateLimited, "1010"),
    ],
)
def test_a_refused_submission(
    web: JimengWeb, token: str, site: Site, directive: str, error: type[ProviderError], fail_code: str
) -> None:
    submit_id = str(uuid4())
    with pytest.raises(error) as refusal:
        submit(web, token, {"prompt": f"[[sim {directive}]] x"}, submit_id=submit_id)
    assert type(refusal.value) is error
    assert refusal.value.fail_code == fail_code
    assert refusal.value.retry_after == (7 if "retry_after" in directive else None)
    assert site.admin("GET", "submissions")[submit_id] == {"received": 1, "accepted": 0}


@pytest.mark.parametrize(
    "directive",
    [
        "submit_drop=after",
        "submit_delay=2",
        "submit_http=502 submit_accepted",
        "submit_http=500 submit_body=json submit_accepted",
        "submit_http=503 submit_body=empty submit_accepted",
        "submit_html submit_accepted",
        "no_history_id",
    ],
)
def test_a_submission_that_was_accepted_unheard_is_found_by_its_id(
    address: str, token: str, site: Site, directive: str
) -> None:
    web = make_client(address, jimeng_timeout=1)
    submit_id = str(uuid4())
    with pytest.raises(OutcomeUnknown):
        submit(web, token, {"prompt": f"[[sim {directive}]] x"}, submit_id=submit_id)
    assert site.admin("GET", "submissions")[submit_id] == {"received": 1, "accepted": 1}

    found = web.find(token, [submit_id, str(uuid4())])

    assert list(found) == [submit_id]
    assert finished(web, token, found[submit_id].history_id).state is SUCCEEDED


@pytest.mark.parametrize("directive", ["submit_drop=before", "submit_http=502", "submit_html"])
def test_a_submission_that_got_lost_is_not_found(web: JimengWeb, token: str, directive: str) -> None:
    submit_id = str(uuid4())
    with pytest.raises(OutcomeUnknown):
        submit(web, token, {"prompt": f"[[sim {directive}]] x"}, submit_id=submit_id)
    assert web.find(token, [submit_id]) == {}


def test_numeric_ret_and_id(web: JimengWeb, token: str) -> None:
    history_id = submit(web, token, {"prompt": "[[sim numeric_ret numeric_history_id]] x"})
    assert history_id.isdecimal()
    assert finished(web, token, history_id).history_id == history_id


def test_an_account_without_credits(web: JimengWeb, token: str, site: Site) -> None:
    site.admin("POST", "tokens", {"token": token, "credits": 0})
    with pytest.raises(QuotaExhausted):
        submit(web, token, {"prompt": "x"})


@pytest.mark.parametrize(
    "call",
    [
        lambda web, token: submit(web, token, {"prompt": "x"}),
        lambda web, token: web.poll(token, ["1"]),
        lambda web, token: web.find(token, [str(uuid4())]),
        lambda web, token: web.credits(token),
        lambda web, token: web.upload_reference(token, picture()),
    ],
)
def test_a_dead_account_is_rejected_by_every_call(
    web: JimengWeb, token: str, site: Site, call: Callable[[JimengWeb, str], object]
) -> None:
    site.admin("POST", "tokens", {"token": token, "dead": True})
    with pytest.raises(LoginRejected):
        call(web, token)


def test_a_client_version_that_is_too_old(address: str, token: str) -> None:
    with pytest.raises(VersionRejected):
        submit(make_client(address, jimeng_appvr="5.8.0"), token, {"prompt": "x"})


def test_a_token_with_the_prefix_of_another_region(web: JimengWeb, token: str, site: Site) -> None:
    site.admin("POST", "tokens", {"token": token, "region": "us"})
    with pytest.raises(RegionMismatch):
        submit(web, token, {"prompt": "x"})
    assert submit(web, f"us-{token}", {"prompt": "x"})
