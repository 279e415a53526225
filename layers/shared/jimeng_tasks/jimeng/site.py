"""Calls to one of the sites: queries, headers, cookies and Sign as its web client sends them (jimeng-wire 2)."""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any
from urllib.parse import urlencode, urlsplit

from jimeng_tasks.exceptions import ProviderError
from jimeng_tasks.settings import Settings

from .answers import Answer, read_answer
from .regions import Account, Region
from .signing import sign
from .transport import Transport

PLATFORM = "7"
COMMERCE_PATH = "/commerce/"
GENERATE_PATH = "/mweb/v1/aigc_draft/generate"
HISTORY_PATH = "/mweb/v1/get_history_by_ids"
LOCAL_ITEMS_PATH = "/mweb/v1/get_local_item_list"
UPLOAD_KEYS_PATH = "/mweb/v1/get_upload_token"
CONTENT_CHECK_PATH = "/mweb/v1/algo_proxy"
CREDIT_PATH = "/commerce/v1/benefits/user_credit"
SID_GUARD_EXPIRY = "5184000%7CMon%2C+03-Feb-2025+08%3A17%3A09+GMT"

log = logging.getLogger("jimeng_tasks.jimeng")


class Site:
    """Makes signed calls for any account; the settings may put one address in place of every region's hosts."""

    def __init__(self, settings: Settings, transport: Transport, now: Callable[[], float]) -> None:
        self._settings = settings
        self._transport = transport
        self._now = now

    def app_id(self, region: Region) -> int:
        """The ``aid`` of a region (jimeng-wire 1.1)."""
        return self._settings.jimeng_aid_cn if region.is_cn else self._settings.jimeng_aid_intl

    def base(self, region: Region, path: str = "") -> str:
        """Scheme and host that serve a path (jimeng-wire 1.1)."""
        host = region.commerce if path.startswith(COMMERCE_PATH) else region.api
        return self._settings.jimeng_base_url or host

    def call(
        self,
        account: Account,
        path: str,
        body: Mapping[str, Any],
        *,
        referer: str | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """POST a JSON object and read the answer's envelope.

        ``query`` is added to the default one; commerce paths are called without any (jimeng-wire 2.1).

        Raises:
            ProviderError: as `Transport.exchange` and `read_answer` say.
        """
        base = self.base(account.region, path)
        queries = {} if path.startswith(COMMERCE_PATH) else self._query(account) | dict(query or {})
        headers = self._headers(account, base, path, referer or base)
        url = f"{base}{path}?{urlencode(queries)}" if queries else f"{base}{path}"
        started = monotonic()
        try:
            answer = read_answer(self._transport.exchange("POST", url, headers, json.dumps(body).encode()), account)
        except ProviderError as error:
            _log(path, error.fail_code, error.log_id, started)
            raise
        _log(path, "0", answer.log_id, started)
        return answer

    def _query(self, account: Account) -> dict[str, str]:
        region = account.region
        query = {
            "aid": str(self.app_id(region)),
            "device_platform": "web",
            "region": region.query,
            "da_version": self._settings.jimeng_da_version,
            "web_version": self._settings.jimeng_web_version,
            "os": "windows",
            "web_component_open_flag": "1",
            "aigc_features": "app_lip_sync",
        }
        return query | ({"webId": _web_id(account)} if region.is_cn else {})

    def _headers(self, account: Account, base: str, path: str, referer: str) -> dict[str, str]:
        appvr, device_time = self._settings.jimeng_appvr, int(self._now())
        origin = urlsplit(base)
        return {
            "Content-Type": "application/json",
            "Accept": "application/json, text/plain, */*",
            "Appid": str(self.app_id(account.region)),
            "Appvr": appvr,
            "Pf": PLATFORM,
            "Device-Time": str(device_time),
            "Sign": sign(path, PLATFORM, appvr, device_time),
            "Sign-Ver": "1",
            "App-Sdk-Version": "48.0.0",
            "Lan": account.region.lan,
            "Loc": account.region.loc,
            "Tdid": "",
            "Origin": f"{origin.scheme}://{origin.netloc}",
            "Referer": referer,
            "Cookie": _cookie(account, device_time),
        }


def _log(path: str, code: str, log_id: str | None, started: float) -> None:
    log.debug("%s code=%s logid=%s ms=%d", path, code, log_id, 1000 * (monotonic() - started))


def _device(account: Account) -> str:
    """32 hex characters that stay the same for an account in every process, as a browser's would."""
    return hashlib.sha256(b"device:" + account.session_id.encode()).hexdigest()[:32]


def _web_id(account: Account) -> str:
    return str(7 * 10**18 + int(_device(account), 16) % 10**18)


def _cookie(account: Account, device_time: int) -> str:
    """The Cookie header (jimeng-wire 2.3)."""
    session, device = account.session_id, _device(account)
    pairs = {
        "_tea_web_id": _web_id(account),
        "is_staff_user": "false",
        "sid_guard": f"{session}%7C{device_time}%7C{SID_GUARD_EXPIRY}",
        "uid_tt": device,
        "uid_tt_ss": device,
        "sid_tt": session,
        "sessionid": session,
        "sessionid_ss": session,
    }
    return "; ".join(f"{name}={value}" for name, value in pairs.items())
