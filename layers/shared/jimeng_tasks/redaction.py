"""Takes secrets out of text before it leaves the process."""

import re

MASK = "***"

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        # credentials in connection strings and proxies
        (r"(\w[\w+.-]*://)[^/@\s\"']+@", rf"\1{MASK}@"),
        # the Authorization header, however it is quoted
        (r"(bearer\s+)[^\s\"',;}]+(?:,[^\s\"',;}]+)*", rf"\1{MASK}"),
        (r"(AWS4-HMAC-SHA256\s+)[^\"'}]+", rf"\1{MASK}"),
        # fields and cookies by name
        (
            r"((?:refresh_token|session_?token|sessionid(?:_ss)?|sid_tt|sid_guard|uid_tt(?:_ss)?|access_key(?:_id)?"
            r"|secret_(?:access_)?key|x-api-key|api_keys?|authorization|cookie|password|session_?key)"
            r"\\?[\"']?\s*[:=]\s*\\?[\"']?)(?!bearer\s)[^\s\"'\\,;&}]+",
            rf"\1{MASK}",
        ),
        # signed addresses
        (
            r"([?&](?:x-amz-[\w-]+|x-tos-[\w-]+|x-signature|x-expires|sign|signature|policy|token|auth_key)=)"
            r"[^&\s\"'\\]+",
            rf"\1{MASK}",
        ),
        # pictures inside texts
        (r"(data:[\w.+-]+/[\w.+-]+;base64,)[A-Za-z0-9+/=_-]+", rf"\1{MASK}"),
    )
)


def redact(text: str) -> str:
    """``text`` with every token, key, credential, signed query and inline picture masked."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
