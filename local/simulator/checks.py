"""Who is calling and whether the call is well formed: Sign, versions, region, session (jimeng-wire 2)."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from local.simulator.answers import Refusal
from local.simulator.scripts import REGION_PREFIX
from local.simulator.state import Account, World
from local.simulator.tables import AIDS

VERSION = re.compile(r"^\d+\.\d+\.\d+$")


@dataclass(frozen=True)
class Caller:
    """The account behind a call and the site it called; `region` is None where no query tells."""

    account: Account
    aid: int
    region: str | None

    @property
    def session(self) -> str:
        """The session id, the account's key."""
        return self.account.session


def sign(path: str, platform: str, appvr: str, device_time: str) -> str:
    """The Sign header of a request path without query (jimeng-wire 2.4)."""
    text = f"9e2c|{path[-7:]}|{platform}|{appvr}|{device_time}||11ac"
    return hashlib.md5(text.encode()).hexdigest()


def identify(request: Request, world: World, *, with_query: bool = True) -> Caller:
    """Check headers, query and cookie; raises Refusal 1014, 3018, 1000, 3000 or 1015."""
    if world.settings.check_sign:
        _check_sign(request)
    _check_version(request, world.settings.min_appvr)
    region = _region(request) if with_query else None
    aid = AIDS[region] if region else _known_appid(request)
    return Caller(_authenticate(request, world, region), aid, region)


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON object of a request; raises Refusal 1002 for anything else."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise Refusal("1002", "common error: content-type is not application/json")
    try:
        body = json.loads(await request.body())
    except ValueError:
        raise Refusal("1002", "common error: body is not JSON") from None
    if not isinstance(body, dict):
        raise Refusal("1002", "common error: body is not an object")
    return body


def _check_sign(request: Request) -> None:
    header = request.headers
    appvr, platform, device_time = header.get("appvr", ""), header.get("pf", ""), header.get("device-time", "")
    if platform != "7" or not device_time.isdigit() or header.get("sign-ver") != "1":
        raise Refusal("1014", "sign error: pf, device-time or sign-ver")
    if header.get("sign") != sign(request.url.path, platform, appvr, device_time):
        raise Refusal("1014", "sign error")


def _check_version(request: Request, oldest: str) -> None:
    appvr = request.headers.get("appvr", "")
    if not VERSION.match(appvr) or version_tuple(appvr) < version_tuple(oldest):
        raise Refusal("3018", "permission denied: appvr too old")


def version_tuple(version: str) -> tuple[int, ...]:
    """A dotted version as comparable numbers."""
    return tuple(int(part) for part in version.split("."))


def _region(request: Request) -> str:
    query = request.query_params
    region = query.get("region", "").lower()
    if region not in AIDS or query.get("device_platform") != "web":
        raise Refusal("1000", "invalid parameter: region or device_platform")
    if query.get("aid") != str(AIDS[region]):
        raise Refusal("3000", "region not allow: aid and region disagree")
    if request.headers.get("appid") != query["aid"]:
        raise Refusal("1014", "sign error: appid and aid disagree")
    return region


def _known_appid(request: Request) -> int:
    appid = request.headers.get("appid", "")
    if appid not in {str(aid) for aid in AIDS.values()}:
        raise Refusal("1014", "sign error: unknown appid")
    return int(appid)


def _authenticate(request: Request, world: World, region: str | None) -> Account:
    session = request.cookies.get("sessionid", "")
    if not session or "@" in session or REGION_PREFIX.match(session):
        raise Refusal("1015", "login error")
    account = world.account(session)
    if account.dead:
        raise Refusal("1015", "login error")
    if account.region and region and account.region != region:
        raise Refusal("3000", "region not allow")
    return account
