"""Session tokens: where they belong, and which are refused at once."""

import pytest

from jimeng_tasks.exceptions import LoginMissing, LoginRejected, RegionUnknown
from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.jimeng.regions import parse_token
from jimeng_tasks.settings import Settings

SECRET = "5e55104c0ffee"


@pytest.fixture
def web() -> JimengWeb:
    return JimengWeb(Settings())


@pytest.mark.parametrize(
    ("token", "region", "session"),
    [
        ("abc123", "cn", "abc123"),
        ("us-abc123", "us", "abc123"),
        ("hk-abc123", "hk", "abc123"),
        ("jp-abc123", "jp", "abc123"),
        ("sg-abc123", "sg", "abc123"),
        ("US-abc123", "us", "abc123"),
        ("Hk-ABC", "hk", "ABC"),
        ("  us-abc123 ", "us", "abc123"),
        ("abc-123", "cn", "abc-123"),
        ("a1-123", "cn", "a1-123"),
        ("us-hk-abc", "us", "hk-abc"),
        ("abc%2Fdef", "cn", "abc%2Fdef"),
    ],
)
def test_the_prefix_of_a_token_names_its_region(web: JimengWeb, token: str, region: str, session: str) -> None:
    assert web.region(token) == region
    assert parse_token(token).session_id == session


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("us-", "empty after its region prefix"),
        (f"eu-{SECRET}", "us-, hk-, jp-, sg-"),
        (f"CN-{SECRET}", "us-, hk-, jp-, sg-"),
        (f"{SECRET} {SECRET}", "blank"),
        (f"{SECRET}\t{SECRET}", "blank"),
        (f"{SECRET}\r\nX-Evil: 1", "blank"),
        (f"{SECRET}\x00", "character"),
        (f"{SECRET}é", "character"),
        (f"{SECRET};a=b", "character"),
        (f'"{SECRET}"', "character"),
        (f"http://u:{SECRET}@10.0.0.9:8080@hk-abc", "proxies"),
        (f"socks5://10.0.0.9:1080@{SECRET}", "proxies"),
        (SECRET * 100, "512"),
    ],
)
def test_a_malformed_token_is_refused_with_the_reason_and_never_repeated(
    web: JimengWeb, token: str, reason: str
) -> None:
    with pytest.raises((LoginMissing, RegionUnknown)) as refusal:
        web.region(token)
    assert reason in str(refusal.value)
    assert SECRET not in str(refusal.value)


def test_a_stored_task_with_a_malformed_token_fails_as_a_dead_login(web: JimengWeb) -> None:
    with pytest.raises(LoginRejected, match="unknown region prefix"):
        web.poll("eu-abc", ["1"])


def test_the_session_does_not_show_when_an_account_is_printed() -> None:
    assert SECRET not in repr(parse_token(f"us-{SECRET}"))
