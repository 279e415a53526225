"""Secrets never leave the process in a log line, and nothing else is taken away."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jimeng_tasks.redaction import redact

CANARY = "c4n4ry0123456789abcdef0123456789"

PLACES = {
    "bearer header": f"Authorization: Bearer {CANARY}",
    "bearer header, lower case": f"authorization: bearer  {CANARY} ",
    "several tokens": f"Authorization: Bearer us-aaaa,{CANARY}",
    "several tokens with spaces": f"Authorization: Bearer us-aaaa, {CANARY}",
    "basic header": f"Authorization: Basic {CANARY}",
    "bare token in a header": f"Authorization: {CANARY}",
    "headers of an event": str({"headers": {"authorization": f"Bearer {CANARY}"}}),
    "json event": json.dumps({"headers": {"Authorization": f"Bearer {CANARY}"}}),
    "json inside json": json.dumps({"body": json.dumps({"Authorization": f"Bearer {CANARY}"})}),
    "cookie header": f"Cookie: sessionid={CANARY}; store-region=cn-gd",
    "later cookie": f"Cookie: _tea_web_id=7; sid_tt={CANARY}",
    "guard cookie": f"sid_guard={CANARY}%7C1735689600%7C5184000",
    "unknown cookie": f"Cookie: store-region=cn-gd; odin_tt={CANARY}",
    "set-cookie": f"Set-Cookie: ttwid={CANARY}; Path=/",
    "task document": str({"internal_params": {"refresh_token": f"us-{CANARY}"}}),
    "task document, json": json.dumps({"internal_params": {"refresh_token": f"hk-{CANARY}"}}),
    "upload credentials": json.dumps({"access_key_id": CANARY}),
    "upload secret": json.dumps({"secret_access_key": CANARY}),
    "upload session token": json.dumps({"session_token": CANARY}),
    "sts names of a sdk": json.dumps({"AccessKeyId": CANARY}),
    "sts secret of a sdk": json.dumps({"SecretAccessKey": CANARY}),
    "sts token of a sdk": json.dumps({"SessionToken": CANARY}),
    "upload session": json.dumps({"SessionKey": CANARY}),
    "signature of version 4": (
        f"authorization: AWS4-HMAC-SHA256 Credential=AK/20250101/cn-north-1/imagex/aws4_request, "
        f"SignedHeaders=x-amz-date, Signature={CANARY}"
    ),
    "security token header": f"X-Amz-Security-Token: {CANARY}",
    "security token header, json": json.dumps({"x-amz-security-token": CANARY}),
    "signed address of a bucket": f"https://b.example/k?X-Amz-Date=1&X-Amz-Signature={CANARY}&X-Amz-Expires=9",
    "signed address of tos": f"https://b.example/k?X-Tos-Signature={CANARY}",
    "signed address of jimeng": f"https://p3.example/a~0.png?lk3s=1&x-expires=2&x-signature={CANARY}%3D",
    "signed address in raw json": '{"url":"https://p3.example/a.png?x-expires=2\\u0026x-signature=' + CANARY + '"}',
    "sign in a query": f"https://h.example/p?a=1&sign={CANARY}",
    "sign header": f"Sign: {CANARY}",
    "sign header, json": json.dumps({"sign": CANARY}),
    "mongodb address": f"mongodb://user:{CANARY}@h1.example:27017,h2.example/db?replicaSet=rs0",
    "mongodb srv address": f"mongodb+srv://user:{CANARY}@h.example",
    "proxy address": f"socks5://user:{CANARY}@10.0.0.1:1080",
    "api key header": f"X-API-Key: {CANARY}",
    "api keys setting": f"API_KEYS={CANARY}",
    "several api keys": f"API_KEYS=first,{CANARY}",
    "tos setting": f"TOS_SECRET_KEY={CANARY}",
    "tos access key": f"TOS_ACCESS_KEY={CANARY}",
    "data uri": f"data:image/png;base64,iVBORw0KGgo{CANARY}==",
    "over two lines": f"first\nAuthorization: Bearer {CANARY}\nlast",
}


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES)
def test_a_secret_is_masked_wherever_it_stands(text: str) -> None:
    assert CANARY in text
    assert CANARY not in redact(text)


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES)
def test_redaction_can_be_repeated(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize("text", PLACES.values(), ids=PLACES)
def test_a_log_line_stays_json(text: str) -> None:
    """The message of a line may itself hold quotes, braces and backslashes."""
    line = redact(json.dumps({"message": text, "level": "INFO", "task_id": "t1"}))
    assert CANARY not in line
    assert json.loads(line)["task_id"] == "t1"


@pytest.mark.parametrize(
    "text",
    [
        "task t1 is polling, history_id 4711, submit_id 2f1c9a70-6f0d-4a53-9c9e-2d3f1d0b8a11",
        "https://cdn.example/jimeng/image/2025/01/02/t1/0.png?v=3",
        "mongodb://127.0.0.1:27017/?replicaSet=rs0",
        "content_rejected: moderation refused the prompt (2038)",
        '{"task_id": "t1", "fail_code": "1015", "claim_id": "c", "server_id": "svc-a", "status": "polling"}',
        "写一只猫，在屋顶上；ratio 9：16",
        "LoginRejected: check login error",
        "the design of the sign-in page; tokens: 12",
        "mail to someone@example.com",
        "",
    ],
)
def test_text_without_secrets_is_unchanged(text: str) -> None:
    assert redact(text) == text


@given(text=st.text(st.characters(categories=["L", "N", "Zs", "Po"], exclude_characters=":/?&=,;\"'@\\"), max_size=200))
def test_plain_words_are_unchanged(text: str) -> None:
    if "bearer" not in text.lower():
        assert redact(text) == text


@pytest.mark.timeout(5)
@pytest.mark.parametrize("piece", ["x", "a.b-", "/", "=", "data:image/png;base64,", "bearer ", "cookie: "])
def test_a_long_text_takes_no_longer_than_its_length_asks_for(piece: str) -> None:
    """A whole page or picture may end up in a message; the poller must not hang over it."""
    assert redact(piece * (100_000 // len(piece))) is not None


@given(token=st.from_regex(r"(us-|hk-|jp-|sg-)?[0-9a-f]{32}", fullmatch=True), before=st.text(max_size=50))
def test_any_token_is_masked_after_any_text(token: str, before: str) -> None:
    assert token not in redact(f"{before} Authorization: Bearer {token}")
