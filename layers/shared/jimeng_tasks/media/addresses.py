"""Which addresses this service goes to: public http and https ones."""

import ipaddress
import re
import socket
from urllib.parse import SplitResult, urlsplit

from requests_hardened.ip_filter import EXTRA_BLOCKED_NET_RANGES

from jimeng_tasks.exceptions import UrlForbidden

type IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# The only IPv6 space in use for public hosts. What lies outside (site-local fec0::/10, IPv4-compatible ::/96,
# NAT64) would otherwise count as global or lead back to IPv4.
_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\\]")
_SHOWN_PATH = 200


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


def is_public(address: IpAddress) -> bool:
    """Whether an IP address belongs to a public host: not private, local, shared, reserved, multicast or translated."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _PUBLIC_IPV6:
            return False
    blocked = any(address in network for network in EXTRA_BLOCKED_NET_RANGES)
    return address.is_global and not address.is_multicast and not blocked


def refuse_private_host(parts: SplitResult) -> None:
    """Refuse a host that is, or whose name stands for, an address that is not public, however it is spelled.

    A name that cannot be resolved now passes: fetching it fails, or finds another address and checks that one.

    Raises:
        UrlForbidden: any address of the host is not public, or the name can never be one.
    """
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return
    except UnicodeError:
        raise UrlForbidden("the address has a malformed host name") from None
    if not all(is_public(ipaddress.ip_address(str(sockaddr[0]))) for *_, sockaddr in found):
        raise UrlForbidden(f"{parts.scheme}://{parts.netloc} is, or stands for, a private or reserved address")
