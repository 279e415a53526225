"""The envelope: refusals become errors with code, log id and a safe message; requests carry what the site checks."""

from typing import Any
from urllib.parse import parse_qs

import pytest

from jimeng_tasks.domain.provider import Credits
from jimeng_tasks.domain.task import TaskType
from jimeng_tasks.exceptions import (
    AccessDenied,
    ContentRejected,
    LoginRejected,
    OutcomeUnknown,
    ProviderBlocked,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ServerRefused,
    VersionRejected,
)
from jimeng_tasks.jimeng.signing import sign
from tests.unit.jimeng_server import Request, answer, answering, client, ok, submit

Json = dict[str, Any]
SESSION = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("body", "error", "fail_code"),
    [
        ({"ret": "1015", "errmsg": "login error", "data": None}, LoginRejected, "1015"),
        ({"ret": 1015, "errmsg": "login error"}, LoginRejected, "1015"),
        ({"ret": 1015.0}, LoginRejected, "1015"),
        ({"ret": " 1015 "}, LoginRejected, "1015"),
        ({"ret": "-6", "errmsg": "shark not pass reject"}, ProviderBlocked, "-6"),
        ({"ret": "1010", "errmsg": "concurrency"}, RateLimited, "1010"),
        ({"ret": "2002"}, ServerRefused, "2002"),
        ({"ret": "424242", "errmsg": "new"}, ServerRefused, "424242"),
        ({"ret": "1006", "data": {"fail_code": "1006"}}, QuotaExhausted, "1006"),
        ({"ret": "1006", "data": {"fail_code": 2038}}, ContentRejected, "2038"),
        ({"ret": "3018", "errmsg": "permission denied"}, VersionRejected, "3018"),
        ({"ret": "3018", "data": {"fail_code": "1017"}}, AccessDenied, "1017"),
        (
            {"ret": "9", "data": {"fail_starling_key": "web_risk_control_message_reject_generation"}},
            ProviderBlocked,
            "9",
        ),
        ({"ret": "2038", "data": "not an object"}, ContentRejected, "2038"),
    ],
)
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request", "403 Forbidden"])
def test_ret_decides_whatever_the_http_status(
    body: Json, error: type[ProviderError], fail_code: str, status: str
) -> None:
    with answering(answer({"logid": "LOG7", **body}, status)) as server, pytest.raises(error) as refusal:
        submit(client(server.address))
    assert type(refusal.value) is error
    assert (refusal.value.fail_code, refusal.value.log_id) == (fail_code, "LOG7")
    assert "LOG7" in str(refusal.value)


def test_a_message_is_short_on_one_line_and_without_the_session() -> None:
    body = {"ret": "1000", "errmsg": f"bad\n{SESSION} " + "x" * 1000, "data": {"aigc_data": "secret dump"}}
    with answering(answer(body)) as server, pytest.raises(ProviderError) as refusal:
        submit(client(server.address), f"us-{SESSION}")
    text = str(refusal.value)
    assert SESSION not in text
    assert "ret 1000" in text
    assert "\n" not in text
    assert "secret dump" not in text
    assert len(text) < 400


@pytest.mark.parametrize(
    "data",
    [
        {"aigc_data": {"history_record_id": "90010002000300"}},
        {"aigc_data": {"history_record_id": 90010002000300}},
        {"history_record_id": "90010002000300"},
    ],
)
@pytest.mark.parametrize("ret", ["0", 0])
def test_the_id_of_an_accepted_job_is_text(data: Json, ret: str | int) -> None:
    with answering(answer({"ret": ret, "data": data})) as server:
        assert submit(client(server.address)) == "90010002000300"


@pytest.mark.parametrize("found", [None, "", 0, "0", [], {"id": 1}, True])
def test_an_accepted_job_without_a_usable_id_has_to_be_looked_up(found: Any) -> None:
    with answering(ok({"aigc_data": {"history_record_id": found}})) as server, pytest.raises(OutcomeUnknown):
        submit(client(server.address))


def first_request(account: str, kind: TaskType = TaskType.IMAGE) -> Request:
    with answering(ok({"history_record_id": "1"})) as server:
        submit(client(server.address), account, kind)
        return server.requests[0]


def test_a_submission_carries_what_the_site_checks() -> None:
    request = first_request(SESSION)

    query = parse_qs(request.query)
    assert request.path == "/mweb/v1/aigc_draft/generate"
    assert {name: value[0] for name, value in query.items() if name != "webId"} == {
        "aid": "513695",
        "device_platform": "web",
        "region": "cn",
        "da_version": "3.3.9",
        "web_version": "7.5.0",
        "os": "windows",
        "web_component_open_flag": "1",
        "aigc_features": "app_lip_sync",
    }
    assert len(query["webId"][0]) == 19
    assert query["webId"][0].isdecimal()
    expected = {
        "Content-Type": "application/json",
        "Appid": "513695",
        "Appvr": "8.4.0",
        "Pf": "7",
        "Device-Time": "1767225600",
        "Sign": "050615d4bfc9047fbab2a4393676b3db",
        "Sign-Ver": "1",
        "App-Sdk-Version": "48.0.0",
        "Lan": "zh-Hans",
        "Loc": "cn",
        "Tdid": "",
        "Referer": "https://jimeng.jianying.com/ai-tool/generate?type=image",
    }
    assert {name: ",".join(request.header(name)) for name in expected} == expected
    assert request.header("Origin")[0].startswith("http://127.0.0.1:")
    cookies = dict(pair.split("=", 1) for pair in request.header("Cookie")[0].split("; "))
    assert cookies["sessionid"] == cookies["sessionid_ss"] == cookies["sid_tt"] == SESSION
    assert cookies["_tea_web_id"] == query["webId"][0]
    assert cookies["sid_guard"].startswith(f"{SESSION}%7C1767225600%7C5184000%7C")


@pytest.mark.parametrize(
    ("account", "region", "lan", "loc"),
    [("us-t", "US", "en", "us"), ("hk-t", "HK", "en", "hk"), ("JP-t", "JP", "ja", "jp"), ("sg-t", "SG", "en", "sg")],
)
def test_abroad_the_constants_differ(account: str, region: str, lan: str, loc: str) -> None:
    request = first_request(account, TaskType.VIDEO)
    query = parse_qs(request.query)
    assert (query["region"], query["aid"]) == ([region], ["513641"])
    assert "webId" not in query
    assert (request.header("Lan"), request.header("Loc"), request.header("Appid")) == ([lan], [loc], ["513641"])
    assert request.header("Referer") == ["https://dreamina.capcut.com/ai-tool/generate?type=video"]
    assert "sessionid=t;" in request.header("Cookie")[0]


def test_an_account_looks_the_same_from_every_process() -> None:
    assert first_request(SESSION).query == first_request(SESSION).query
    assert first_request(SESSION).query != first_request("other").query


def test_configured_versions_are_sent() -> None:
    with answering(ok({"history_record_id": "1"})) as server:
        submit(client(server.address, jimeng_appvr="9.1.0", jimeng_da_version="4.0.0", jimeng_web_version="8.0.0"))
        request = server.requests[0]
    assert request.header("Appvr") == ["9.1.0"]
    assert request.header("Sign") == [sign(request.path, "7", "9.1.0", 1767225600)]
    assert "da_version=4.0.0&web_version=8.0.0" in request.query


CREDIT = {"credit": {"vip_credit": 1, "gift_credit": "40", "purchase_credit": 0}}


@pytest.mark.parametrize(
    "body",
    [
        {"ret": "0", "data": CREDIT},
        {"ret": 0, "data": None, "response": '{"credit":{"vip_credit":1,"gift_credit":40,"purchase_credit":0}}'},
        {"ret": "0", "data": {"credit": {"vip_credit": 1, "gift_credit": 40}}},
    ],
)
def test_credits(body: Json) -> None:
    with answering(answer(body)) as server:
        found = client(server.address).credits("us-tok")
        request = server.requests[0]
    assert found == Credits(gift=40, purchase=0, vip=1)
    assert (request.path, request.query) == ("/commerce/v1/benefits/user_credit", "")
    assert request.header("Referer") == ["https://dreamina.capcut.com/"]


@pytest.mark.parametrize("data", [None, {}, {"credit": None}, {"credit": {"gift_credit": None}}, "x"])
def test_credits_that_are_not_there_are_not_zero(data: Any) -> None:
    body = {"ret": "0", "data": data, "response": "{"}
    with answering(answer(body)) as server, pytest.raises(OutcomeUnknown):
        client(server.address).credits("tok")


def test_a_dead_token_shows_by_its_credits() -> None:
    dead = answer({"ret": "1015", "errmsg": "check login error", "log_id": "L"})
    with answering(dead) as server, pytest.raises(LoginRejected) as refusal:
        client(server.address).credits("tok")
    assert refusal.value.log_id == "L"
