"""Connections that know two things ordinary ones do not tell: whether a request ever began to leave, and when to stop.

A submission costs money, so "failed while connecting" (send it again) and "failed afterwards" (look it up) must never
be mixed up; the exception classes alone cannot tell a TLS handshake that broke from an answer that did.
"""

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from http.cookiejar import DefaultCookiePolicy
from typing import Any, ClassVar

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, NewConnectionError

from jimeng_tasks.network import OneHopSession, is_public

POOL_SIZE = 32


@contextmanager
def stop_after(seconds: float, shut_down: Callable[[], Any]) -> Iterator[None]:
    """Call ``shut_down`` from a timer unless the block ends within ``seconds``: a socket time-out alone starts anew
    with every byte that trickles in."""

    def stop() -> None:
        # The answer may end, and its connection go back to the pool, at this very moment.
        with suppress(OSError, ValueError, RuntimeError, AttributeError):
            shut_down()

    timer = threading.Timer(max(0.0, seconds), stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Guarded(HTTPConnection):
    def connect(self) -> None:
        try:
            super().connect()
        except NewConnectionError:
            raise
        except (OSError, HTTPException, HTTPError) as error:
            raise NewConnectionError(self, f"{type(error).__name__} while connecting") from error

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        connected = self.sock
        with stop_after(self.timeout or 0.0, lambda: connected.shutdown(socket.SHUT_RDWR)):
            return super().getresponse()


class _GuardedHTTPS(_Guarded, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Guarded


class _PoolHTTPS(HTTPSConnectionPool):
    ConnectionCls = _GuardedHTTPS


class GuardedAdapter(HTTPAdapter):
    """Sends over guarded connections and retries nothing: every fault that surfaces as urllib3's
    ``NewConnectionError`` happened before the first byte of the request."""

    POOLS: ClassVar = {"http": _Pool, "https": _PoolHTTPS}

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self.POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        """Make the pools behind a proxy of the environment."""
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = self.POOLS
        return manager


class _SingleUse(HTTPConnectionPool):
    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            conn.close()
        super()._put_conn(None)


class _SingleUsePool(_SingleUse, _Pool):
    pass


class _SingleUsePoolHTTPS(_SingleUse, _PoolHTTPS):
    pass


class HostNotPublic(NewConnectionError):
    """The host that the site named is a private or reserved one; nothing was sent to it."""


class _PublicOnly(_Guarded):
    """Asks who the peer is before anything is sent, so it does not matter how its name resolved before."""

    def _new_conn(self) -> socket.socket:
        connected = super()._new_conn()
        if not is_public(ipaddress.ip_address(connected.getpeername()[0])):
            connected.close()
            raise HostNotPublic(self, "the host is private or reserved")
        return connected


class _PublicOnlyHTTPS(_PublicOnly, _GuardedHTTPS):
    pass


class _PublicPool(_Pool):
    ConnectionCls = _PublicOnly


class _PublicPoolHTTPS(_PoolHTTPS):
    ConnectionCls = _PublicOnlyHTTPS


class PublicAdapter(GuardedAdapter):
    """Goes to public hosts only; behind a proxy of the environment it is the proxy that chooses."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _PublicPool, "https": _PublicPoolHTTPS}


class SingleUseAdapter(GuardedAdapter):
    """Opens a connection for each request: a pooled one may have died unseen while the process was frozen, and a
    request that was lost on it would count as perhaps accepted."""

    POOLS: ClassVar = {"http": _SingleUsePool, "https": _SingleUsePoolHTTPS}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send on a fresh connection, and tell the server so."""
        request.headers["Connection"] = "close"
        return super().send(request, *args, **kwargs)


def new_session(single_use_prefixes: Iterable[str]) -> requests.Session:
    """A session for many threads and accounts: no cookies, and no reuse of connections below the given prefixes."""
    session = OneHopSession()
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    pooled = GuardedAdapter(pool_connections=POOL_SIZE, pool_maxsize=POOL_SIZE)
    for prefix in ("http://", "https://"):
        session.mount(prefix, pooled)
    single_use = SingleUseAdapter()
    for prefix in single_use_prefixes:
        session.mount(prefix, single_use)
    return session


def public_session() -> requests.Session:
    """A session for hosts that the site named: like `new_session`, but private and reserved ones are not talked to."""
    session = new_session(())
    for prefix in ("http://", "https://"):
        session.mount(prefix, PublicAdapter(pool_connections=POOL_SIZE, pool_maxsize=POOL_SIZE))
    return session
