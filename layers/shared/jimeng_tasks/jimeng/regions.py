"""The sites of Jimeng / Dreamina as data, and the account that a session token stands for (jimeng-wire 1.1, 1.2)."""

import re
from dataclasses import dataclass, field

from jimeng_tasks.exceptions import LoginMissing, RegionUnknown

MAX_TOKEN_LENGTH = 512
SECRET_LENGTH = 16
PREFIX_LENGTH = 3
LOOKS_LIKE_PREFIX = re.compile(r"[A-Za-z]{2}-")
COOKIE_VALUE = re.compile(r"[!#-+\--:<-\[\]-~]+")
"""What a cookie may hold: printable ASCII but blank, double quote, comma, semicolon and backslash (RFC 6265)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One site: its hosts and constants (jimeng-wire 1.1, Referer pages 2.2)."""

    name: str
    query: str
    lan: str
    loc: str
    api: str
    commerce: str
    imagex: str
    generate_page: str
    credit_page: str
    signing_region: str
    service_id: str

    @property
    def is_cn(self) -> bool:
        """Whether this is the Chinese site, which has its own app id and sends a `webId`."""
        return self.name == "cn"


def _abroad(name: str, *, lan: str = "en") -> Region:
    return Region(
        name=name,
        query=name.upper(),
        lan=lan,
        loc=name,
        api="https://mweb-api-sg.capcut.com",
        commerce="https://commerce-api-sg.capcut.com",
        imagex="https://imagex-normal-sg.capcutapi.com",
        generate_page="https://dreamina.capcut.com/ai-tool/generate",
        credit_page="https://dreamina.capcut.com/",
        signing_region="ap-southeast-1",
        service_id="wopfjsm1ax",
    )


CN = Region(
    name="cn",
    query="cn",
    lan="zh-Hans",
    loc="cn",
    api="https://jimeng.jianying.com",
    commerce="https://jimeng.jianying.com",
    imagex="https://imagex.bytedanceapi.com",
    generate_page="https://jimeng.jianying.com/ai-tool/generate",
    credit_page="https://jimeng.jianying.com/ai-tool/image/generate",
    signing_region="cn-north-1",
    service_id="tb4s082cfz",
)
US = Region(
    name="us",
    query="US",
    lan="en",
    loc="us",
    api="https://dreamina-api.us.capcut.com",
    commerce="https://commerce.us.capcut.com",
    imagex="https://imagex16-normal-us-ttp.capcutapi.us",
    generate_page="https://dreamina.capcut.com/ai-tool/generate",
    credit_page="https://dreamina.capcut.com/",
    signing_region="us-east-1",
    service_id="wopfjsm1ax",
)
BY_PREFIX = {"us-": US, "hk-": _abroad("hk"), "jp-": _abroad("jp", lan="ja"), "sg-": _abroad("sg")}
ALL_REGIONS = (CN, *BY_PREFIX.values())


@dataclass(frozen=True, slots=True)
class Account:
    """Where a session belongs, and the value of its `sessionid` cookie."""

    region: Region
    session_id: str = field(repr=False)

    def mask(self, text: str) -> str:
        """``text`` with every occurrence of the session replaced by stars."""
        return text.replace(self.session_id, "***")

    def hide(self, body: bytes) -> bytes:
        """An answer without the session, wherever the site may have repeated it; a very short one could be anything."""
        if len(self.session_id) < SECRET_LENGTH:
            return body
        return body.replace(self.session_id.encode(), b"***")


def parse_token(token: str) -> Account:
    """The account of one session token, whose region prefix is read case-insensitively.

    Raises:
        LoginMissing: the token is malformed; the message never repeats it.
        RegionUnknown: it has an unknown region prefix; the known ones are listed.
    """
    token = token.strip()
    _check_form(token)
    prefix = token[:PREFIX_LENGTH].lower()
    region = BY_PREFIX.get(prefix)
    if region is None and LOOKS_LIKE_PREFIX.match(token):
        raise RegionUnknown(f"unknown region prefix {prefix!r}; known: {', '.join(BY_PREFIX)}, or none for China")
    session_id = token[PREFIX_LENGTH:] if region else token
    if not session_id:
        raise LoginMissing("the session token is empty after its region prefix; put the sessionid cookie's value there")
    return Account(region or CN, session_id)


def _check_form(token: str) -> None:
    if not token:
        raise LoginMissing("the session token is empty; send the value of the site's sessionid cookie")
    if "://" in token:
        raise LoginMissing("proxies inside session tokens are not supported; send the sessionid cookie's value alone")
    if len(token) > MAX_TOKEN_LENGTH:
        raise LoginMissing(f"the session token has {len(token)} characters, at most {MAX_TOKEN_LENGTH} are allowed")
    if not COOKIE_VALUE.fullmatch(token):
        raise LoginMissing("the session token holds a blank or a character that no cookie can; allowed is plain ASCII")
