"""What every part shares that goes where somebody else sends it: which addresses are public, and one hop at a time."""

import ipaddress
from collections.abc import Iterator
from typing import Any

import requests

type IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# The only IPv6 space in use for public hosts. What lies outside (site-local fec0::/10, IPv4-compatible ::/96,
# NAT64) would otherwise count as global or lead back to IPv4.
_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")


def is_public(address: IpAddress) -> bool:
    """Whether an IP address belongs to a public host: not private, local, shared, reserved, multicast or translated."""
    from requests_hardened.ip_filter import EXTRA_BLOCKED_NET_RANGES  # here, to keep it out of a cold start

    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _PUBLIC_IPV6:
            return False
    blocked = any(address in network for network in EXTRA_BLOCKED_NET_RANGES)
    return address.is_global and not address.is_multicast and not blocked


class OneHopSession(requests.Session):
    """Leaves redirects to its caller: told not to follow, requests would still read and parse the answer."""

    def resolve_redirects(self, *_args: Any, **_options: Any) -> Iterator[requests.Response]:
        """No further hop."""
        yield from ()
