"""Which addresses this service goes to: public http and https ones."""

import ipaddress
import re
import socket
from concurrent.futures import Future
from threading import Thread
from typing import Any
from urllib.parse import SplitResult, urlsplit

from jimeng_tasks.exceptions import UrlForbidden
from jimeng_tasks.network import is_public

_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\\]")
_SHOWN_PATH = 200
LOOK_UP_SECONDS = 2


def checked_url(url: str) -> SplitResult:
    """The parts of a well-formed http or https address.

    Raises:
        UrlForbidden: says what is wrong with it.
    """
    if _UNPRINTABLE.search(url):
        raise UrlForbidden("the address holds spaces, control characters or backslashes; percent-encode them")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UrlForbidden("the address is malformed: its host or port cannot be read") from None
    for wrong, fault in (
        (parts.scheme not in ("http", "https"), "must start with http:// or https://"),
        (not parts.hostname, "has no host"),
        ("%" in parts.netloc, "has a percent sign in its host"),
        ("@" in parts.netloc, "must not hold a user name or password"),
        (port == 0, "has port 0"),
    ):
        if wrong:
            raise UrlForbidden(f"the address {fault}")
    return parts


def shown(url: str) -> str:
    """As much of a checked address as may be shown: the query is left out, for it often is a signature."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{parts.path[:_SHOWN_PATH]}"


def refuse_private_host(parts: SplitResult) -> None:
    """Refuse a host that is, or whose name stands for, an address that is not public, however it is spelled.

    A name that cannot be resolved in ``LOOK_UP_SECONDS`` passes: fetching it fails, or finds another address and checks
    that one.

    Raises:
        UrlForbidden: any address of the host is not public, or the name can never be one.
    """
    try:
        found = _look_up(parts).result(LOOK_UP_SECONDS)
    except (socket.gaierror, TimeoutError):
        return
    except UnicodeError:
        raise UrlForbidden("the address has a malformed host name") from None
    if not all(is_public(ipaddress.ip_address(str(sockaddr[0]))) for *_, sockaddr in found):
        raise UrlForbidden(f"{parts.scheme}://{parts.netloc} is, or stands for, a private or reserved address")


def _look_up(parts: SplitResult) -> "Future[list[Any]]":
    """The addresses of a host, asked for in a thread of its own: the system's resolver knows no time-out."""
    found: Future[list[Any]] = Future()

    def resolve() -> None:
        try:
            found.set_result(socket.getaddrinfo(parts.hostname, parts.port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.set_exception(error)

    Thread(target=resolve, daemon=True).start()
    return found
