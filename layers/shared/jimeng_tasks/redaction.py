"""Takes secrets out of text before it leaves the process."""

import re

MASK = "***"

# A name, perhaps quoted, and what separates it from its value; quotes may be escaped inside a JSON line.
_NAMED = r"""((?<![A-Za-z])(?:{names})\\?["']?\s*[:=]\s*\\?["']?)"""
_LINES = "|".join(("authorization", "proxy-authorization", "(?:set-)?cookie", "x-api-key", "api_?keys?"))
_FIELDS = "|".join(
    (
        r"(?:\w{1,30}[_-])?token",
        "session_?token",
        r"session_?id(?:_ss)?",
        r"s?uid_tt(?:_ss)?|sid_tt|sid_guard|odin_tt",
        "access_?key(?:_?id)?",
        "secret_?(?:access_?)?key",
        "session_?key",
        "password",
        "sign",
        r"x-(?:amz|tos)-(?:signature|credential|security-token)",
    )
)
_QUERY = r"""((?:[?&]|\\u0026|&amp;)(?:x-amz-[\w-]+|x-tos-[\w-]+|x-signature|x-expires|signature|policy|auth_key)=)"""

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), rf"\1{MASK}")
    for pattern in (
        # credentials in connection strings and proxies
        r"""(\b[a-z][a-z0-9+.-]{0,20}://)[^/@\s"']{1,500}(?=@)""",
        # headers whose whole value is secret, up to a quote or the end of the line
        _NAMED.format(names=_LINES) + r"""[^"'\\\r\n}]+""",
        r"""((?:bearer|AWS4-HMAC-SHA256)\s+)[^"'\\\r\n;}]+""",
        # fields, cookies and headers of one word
        _NAMED.format(names=_FIELDS) + r"""[^\s"'\\,;&}]+""",
        # signed addresses
        _QUERY + r"""[^&\s"'\\]+""",
        # pictures inside texts
        r"""(data:[\w.+-]+/[\w.+-]+;base64,)[A-Za-z0-9+/=_-]+""",
    )
)


def redact(text: str) -> str:
    """``text`` with every token, key, credential, signed query and inline picture masked."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
