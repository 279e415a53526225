"""The one place of every outgoing call: a time limit over the whole exchange, a size limit, and what a fault means."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any, NoReturn

import requests
from urllib3 import Timeout
from urllib3.exceptions import HTTPError, NewConnectionError

from jimeng_tasks.exceptions import NotSent, OutcomeUnknown, RateLimited

from .connections import stop_after

MAX_BODY = 8 * 1024 * 1024
CHUNK = 64 * 1024
MAX_CONNECT_SECONDS = 10.0
UNDECIDED_STATUSES = frozenset({408, 425})


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer that is neither a redirect, a rate limit nor a server fault."""

    status: int
    body: bytes = field(repr=False)


class Transport:
    """Sends requests for any number of threads. ``timeout`` in seconds, from name look-up to the last byte."""

    def __init__(self, session: requests.Session, timeout: float, now: Callable[[], float]) -> None:
        self._session = session
        self._timeout = timeout
        self._now = now

    def exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        """Make one call, never twice, following no redirect.

        Raises:
            NotSent: no connection came about, so nothing was sent.
            RateLimited: HTTP 429.
            OutcomeUnknown: time-out, cut connection, redirect, HTTP 408, 425 or 5xx, or a body over 8 MiB.
        """
        started = monotonic()
        try:
            with self._open(method, url, headers, body) as response:
                content = _read(response, started + self._timeout)
        except requests.RequestException as error:
            _raise_fault(error)
        except (HTTPError, OSError) as error:
            raise OutcomeUnknown(f"the answer was cut off ({type(error).__name__})") from error
        self._check_status(response)
        return Reply(response.status_code, content)

    def _open(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> requests.Response:
        limit: Any = Timeout(total=self._timeout, connect=min(MAX_CONNECT_SECONDS, self._timeout), read=self._timeout)
        return self._session.request(
            method,
            url,
            data=body,
            headers={"Accept-Encoding": "gzip, deflate", "User-Agent": "jimeng-tasks", **headers},
            timeout=limit,
            stream=True,
            allow_redirects=False,
            auth=_keep_authorization,
        )

    def _check_status(self, response: requests.Response) -> None:
        status = response.status_code
        if status == 429:
            wait = self._retry_after(response.headers.get("Retry-After", ""))
            raise RateLimited("too many requests (HTTP 429); wait before the next one", retry_after=wait)
        if status in UNDECIDED_STATUSES or not (200 <= status < 300 or 400 <= status < 500):
            raise OutcomeUnknown(f"the site answered with HTTP {status}")

    def _retry_after(self, raw: str) -> int | None:
        if re.fullmatch(r"[0-9]{1,9}", raw.strip()):
            return int(raw)
        try:
            date = parsedate_to_datetime(raw)
        except (ValueError, OverflowError):
            return None
        # A date in "-0000" comes without a zone and means UTC.
        zoned = date if date.tzinfo else date.replace(tzinfo=UTC)
        return max(0, round((zoned - datetime.fromtimestamp(self._now(), UTC)).total_seconds()))


def _keep_authorization(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Given as ``auth``, since without any requests would put a netrc entry in place of our Authorization header."""
    return request


def _read(response: requests.Response, deadline: float) -> bytes:
    body = bytearray()
    with stop_after(deadline - monotonic(), response.raw.shutdown):
        while chunk := response.raw.read1(CHUNK, decode_content=True):
            body += chunk
            if len(body) > MAX_BODY:
                raise OutcomeUnknown(f"the answer is larger than {MAX_BODY} bytes")
    if monotonic() >= deadline:
        raise OutcomeUnknown("the answer did not end in time")
    return bytes(body)


def _raise_fault(error: requests.RequestException) -> NoReturn:
    reason = getattr(error.args[0], "reason", None) if error.args else None
    before_sending = isinstance(error, requests.ConnectTimeout | requests.exceptions.ProxyError)
    if before_sending or isinstance(reason, NewConnectionError):
        raise NotSent(f"no connection to the site ({type(reason or error).__name__})") from error
    raise OutcomeUnknown(f"the connection failed after the request was sent ({type(error).__name__})") from error
