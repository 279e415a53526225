"""Every documented code has its error class, and the keys outweigh the codes (jimeng-wire 3.3 to 3.7)."""

import pytest

from jimeng_tasks.exceptions import (
    AccessDenied,
    ContentRejected,
    LoginRejected,
    ParameterRejected,
    ProviderBlocked,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RegionMismatch,
    ServerRefused,
    VersionRejected,
)
from jimeng_tasks.jimeng.codes import classify

RETS: dict[type[ProviderError], str] = {
    LoginRejected: "1015",
    QuotaExhausted: "1006 5000 121101",
    RateLimited: "1 1010 1057 2014 2020 10020",
    ContentRejected: "4001 1063 1159 2003 2004 2005 2038 2039 2041 2042 2043 2047 2048 2050",
    ProviderBlocked: "4013 1018 1019 1021 2035 -4 -6",
    ParameterRejected: "4002 1000 1001 1002 1014 1161 1162 2008 3021 4003 4010 34010100",
    VersionRejected: "3018",
    RegionMismatch: "3000",
    AccessDenied: "2061",
    ServerRefused: "2002 5001 5002 987654 -99",
}
FAIL_CODES: dict[type[ProviderError], str] = {
    ContentRejected: "2038 2039 2040 2041 2042 2043 2047 2048 2050 1063 1159",
    QuotaExhausted: "1006",
    AccessDenied: "1017",
    ServerRefused: "100402 123456",
}
KEYS: dict[type[ProviderError], str] = {
    ContentRejected: "web_text_violates_community_guidelines_toast web_image_violates_community_guidelines_toast "
    "ErrMessage_APP_OutputVideoRisk web_fail2generate_input_retry web_fail2generate_copyright_block "
    "x_sensitive_text InputTextRisk InputImageRisk OutputImageRisk content_violation violate_guidelines",
    ProviderBlocked: "web_risk_control_message_reject_generation account_blocked web_risk_notification",
    LoginRejected: "web_login_expired unauthorized token_invalid",
    QuotaExhausted: "daily_usage_limit_toast web_dre_m10n_generate_popup_credit_ininsufficient_title",
    ServerRefused: "generation_failed_toast web_timeout network_error",
}


def _rows(table: dict[type[ProviderError], str]) -> list[tuple[str, type[ProviderError]]]:
    return [(code, error) for error, codes in table.items() for code in codes.split()]


@pytest.mark.parametrize(("ret", "error"), _rows(RETS))
def test_ret(ret: str, error: type[ProviderError]) -> None:
    assert classify(ret=ret) is error


@pytest.mark.parametrize(("fail_code", "error"), _rows(FAIL_CODES))
def test_fail_code(fail_code: str, error: type[ProviderError]) -> None:
    assert classify(fail_code=fail_code) is error


@pytest.mark.parametrize(("key", "error"), _rows(KEYS))
def test_starling_key(key: str, error: type[ProviderError]) -> None:
    assert classify(starling_key=key) is error


@pytest.mark.parametrize(
    ("ret", "fail_code", "key", "error"),
    [
        ("5001", "2038", "", ContentRejected),
        ("3018", "1017", "", AccessDenied),
        ("1006", "2038", "web_risk_control_x", ProviderBlocked),
        ("1015", "77", "unknown_key", LoginRejected),
    ],
)
def test_key_outweighs_fail_code_outweighs_ret(ret: str, fail_code: str, key: str, error: type[ProviderError]) -> None:
    assert classify(ret=ret, fail_code=fail_code, starling_key=key) is error


def test_a_code_that_says_nothing_leaves_the_default() -> None:
    assert classify(fail_code="99", default=ContentRejected) is ContentRejected
