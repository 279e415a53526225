"""What the site's codes mean, as tables, and the order in which they are asked.

Codes are text: the site sends them as numbers, too. Sources: jimeng-wire 3.4 (``ret``), 3.5 (``fail_code`` and
starling keys), 3.6 (automation checks), 3.7 (both, from public lists).
"""

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

ErrorClass = type[ProviderError]

STARLING_KEYS: tuple[tuple[str, ErrorClass], ...] = (
    ("violates_community_guidelines", ContentRejected),
    ("violate_guidelines", ContentRejected),
    ("sensitive_text", ContentRejected),
    ("fail2generate_input", ContentRejected),
    ("fail2generate_copyright", ContentRejected),
    ("inputtextrisk", ContentRejected),
    ("inputimagerisk", ContentRejected),
    ("outputimagerisk", ContentRejected),
    ("outputvideorisk", ContentRejected),
    ("content_violation", ContentRejected),
    ("account_block", ProviderBlocked),
    ("risk_notification", ProviderBlocked),
    ("risk_control", ProviderBlocked),
    ("authorization", LoginRejected),
    ("unauthorized", LoginRejected),
    ("login", LoginRejected),
    ("token", LoginRejected),
    ("daily_usage_limit", QuotaExhausted),
    ("credit_ininsufficient", QuotaExhausted),
    ("timeout", ServerRefused),
    ("timed out", ServerRefused),
    ("generation_failed", ServerRefused),
    ("100402", ServerRefused),
    ("network", ServerRefused),
)
"""Parts of a starling key in lower case, first match wins (jimeng-wire 3.5; 3.2 for the credits key)."""

CONTENT_CODES: dict[str, ErrorClass] = {
    "1063": ContentRejected,  # text audit
    "1159": ContentRejected,  # copyright
    "2003": ContentRejected,  # picture, before generation
    "2004": ContentRejected,  # picture, after generation
    "2005": ContentRejected,  # text, before generation
    "2038": ContentRejected,  # input text
    "2039": ContentRejected,  # input picture
    "2040": ContentRejected,
    "2041": ContentRejected,
    "2042": ContentRejected,  # video
    "2043": ContentRejected,
    "2047": ContentRejected,  # text
    "2048": ContentRejected,
    "2050": ContentRejected,  # copyright
}

RET_CODES: dict[str, ErrorClass] = CONTENT_CODES | {
    "1015": LoginRejected,
    "5000": QuotaExhausted,
    "1006": QuotaExhausted,
    "121101": QuotaExhausted,  # daily generation limit
    # One gateway reads 4001 as a content violation, a public list as missing credits; either way it is final.
    "4001": ContentRejected,
    "1": RateLimited,
    "1010": RateLimited,  # too many running jobs
    "1057": RateLimited,
    "2014": RateLimited,
    "2020": RateLimited,
    "10020": RateLimited,
    "4013": ProviderBlocked,
    "1018": ProviderBlocked,  # account penalty
    "1019": ProviderBlocked,
    "1021": ProviderBlocked,
    "2035": ProviderBlocked,
    "-4": ProviderBlocked,
    "-6": ProviderBlocked,
    "3018": VersionRejected,
    "3000": RegionMismatch,
    "2061": AccessDenied,  # model withdrawn
    "4002": ParameterRejected,
    "1000": ParameterRejected,
    "1001": ParameterRejected,
    "1002": ParameterRejected,
    "1014": ParameterRejected,  # Sign header
    "1161": ParameterRejected,
    "1162": ParameterRejected,  # language
    "2008": ParameterRejected,
    "3021": ParameterRejected,  # beta only
    "4003": ParameterRejected,
    "4010": ParameterRejected,  # wants a confirmation
    "34010100": ParameterRejected,
    "2002": ServerRefused,
    "5001": ServerRefused,
    "5002": ServerRefused,
}

FAIL_CODES: dict[str, ErrorClass] = RET_CODES | {
    "1017": AccessDenied,
    "100402": ServerRefused,
}


def classify(
    *, ret: str = "", fail_code: str = "", starling_key: str = "", default: ErrorClass = ServerRefused
) -> ErrorClass:
    """The error class of a refusal: by starling key, else ``fail_code``, else ``ret``, else ``default``.

    An unknown ``ret`` means ServerRefused: the site said no, so nothing was accepted and nothing was paid.
    """
    key = starling_key.lower()
    by_key = next((error for part, error in STARLING_KEYS if part in key), None)
    return by_key or FAIL_CODES.get(fail_code) or RET_CODES.get(ret) or default
