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
from jimeng_tasks.jimeng.codes import CONTENT_CODES, Stage, classify, moderation_stage

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

STAGES: dict[Stage, str] = {
    Stage.INPUT_TEXT: "1063 2005 2038 2047",
    Stage.INPUT_IMAGE: "2003 2039",
    Stage.OUTPUT_IMAGE: "2004",
    Stage.UNKNOWN: "1159 2040 2041 2042 2043 2048 2050 4001",
}
STAGES_OF_KEYS: dict[Stage, str] = {
    Stage.INPUT_TEXT: "web_text_violates_community_guidelines_toast x_sensitive_text ErrMessage_APP_InputTextRisk",
    Stage.INPUT_IMAGE: "InputImageRisk",
    Stage.INPUT: "web_fail2generate_input_retry",
    Stage.OUTPUT_IMAGE: "OutputImageRisk",
    Stage.OUTPUT_VIDEO: "ErrMessage_APP_OutputVideoRisk",
    Stage.OUTPUT_AUDIO: "ErrMessage_APP_OutputAudioRisk",
    Stage.UNKNOWN: "web_image_violates_community_guidelines_toast web_fail2generate_copyright_block content_violation "
    "violate_guidelines",
}


def _rows[Kind](table: dict[Kind, str]) -> list[tuple[str, Kind]]:
    return [(code, kind) for kind, codes in table.items() for code in codes.split()]


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


@pytest.mark.parametrize(("code", "stage"), _rows(STAGES))
def test_the_stage_of_a_code_of_moderation(code: str, stage: Stage) -> None:
    assert moderation_stage(ret=code) is stage
    assert moderation_stage(fail_code=code) is stage


def test_these_tables_know_every_code_of_moderation() -> None:
    assert {code for code, _ in _rows(STAGES)} == set(CONTENT_CODES)


@pytest.mark.parametrize(("key", "stage"), _rows(STAGES_OF_KEYS))
def test_the_stage_of_a_key_of_moderation(key: str, stage: Stage) -> None:
    assert moderation_stage(starling_key=key) is stage
    assert classify(starling_key=key) is ContentRejected


@pytest.mark.parametrize(
    ("ret", "fail_code", "key", "default", "stage"),
    [
        ("2004", "2038", "inputimagerisk", Stage.OUTPUT, Stage.INPUT_IMAGE),
        ("2004", "2038", "content_violation", Stage.OUTPUT, Stage.INPUT_TEXT),
        ("2004", "2040", "", Stage.OUTPUT, Stage.OUTPUT_IMAGE),
        ("", "2039", "web_fail2generate_input_retry", Stage.UNKNOWN, Stage.INPUT_IMAGE),
        ("", "2040", "", Stage.OUTPUT, Stage.OUTPUT),
        ("77", "88", "unknown_key", Stage.UNKNOWN, Stage.UNKNOWN),
    ],
)
def test_the_source_that_tells_most_gives_the_stage(
    ret: str, fail_code: str, key: str, default: Stage, stage: Stage
) -> None:
    assert moderation_stage(ret=ret, fail_code=fail_code, starling_key=key, default=default) is stage
