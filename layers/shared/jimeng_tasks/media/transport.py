"""HTTP sessions for addresses that strangers gave: only public hosts, and never past a deadline."""

import ipaddress
import socket
import threading
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from requests_hardened.ip_filter import InvalidIPAddress
from requests_hardened.ip_filter_adapter import IPFilterAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection

from jimeng_tasks.network import OneHopSession, is_public

_HEADERS = {
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "User-Agent": "Mozilla/5.0 (compatible; jimeng-tasks)",
}


class Deadline:
    """Cuts every watched connection once ``seconds`` have passed since it was entered.

    A socket's own time-out starts anew with each byte, so a server that trickles would hold a thread for ever:
    in the TLS handshake, in the headers or in the body. Cutting the connection from outside ends all of these.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.expired = False
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._timer.join()
        with self._lock:
            for sock in self._watched:
                sock.close()
            self._watched.clear()

    def watch(self, sock: socket.socket) -> None:
        """Watch a connected socket; its own handle may be closed or wrapped in TLS meanwhile."""
        with self._lock:
            self._watched.append(sock.dup())
            if self.expired:
                self._cut()

    def _expire(self) -> None:
        with self._lock:
            self.expired = True
            self._cut()

    def _cut(self) -> None:
        for sock in self._watched:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


class _Watched(HTTPConnection):
    def __init__(self, *args: Any, deadline: Deadline, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline = deadline

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        self._deadline.watch(sock)
        return sock


class _WatchedTls(_Watched, HTTPSConnection):
    pass


class _DeadlineAdapter(HTTPAdapter):
    def __init__(self, deadline: Deadline, **options: Any) -> None:
        self._deadline = deadline
        super().__init__(**options)

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        connection = _WatchedTls if pool.scheme == "https" else _Watched
        pool.ConnectionCls = partial(connection, deadline=self._deadline)
        return pool


class _PublicAdapter(_DeadlineAdapter, IPFilterAdapter):  # type: ignore[misc]
    """Connects to the very IP address that was checked, so a name cannot change its meaning in between.

    The library resolves, checks and pins; its list lets some reserved IPv6 space through, so `is_public` follows.
    """

    def build_connection_pool_key_attributes(self, *args: Any, **options: Any) -> tuple[Any, Any]:
        host_params, pool_kwargs = super().build_connection_pool_key_attributes(*args, **options)
        address = ipaddress.ip_address(host_params["host"].strip("[]"))
        if not is_public(address):
            raise InvalidIPAddress(address)
        return host_params, pool_kwargs


def guarded_session(deadline: Deadline, *, allow_private: bool) -> requests.Session:
    """A session whose connections end with ``deadline`` and, unless ``allow_private``, go to public hosts only.

    Proxies and stored logins of the environment are not used: a proxy would resolve the name again, unchecked.
    Redirects are not followed. A forbidden host raises ``requests_hardened.ip_filter.InvalidIPAddress``.
    """
    session = OneHopSession()
    session.trust_env = False
    session.headers.update(_HEADERS)
    for scheme in ("http", "https"):
        adapter = (
            _DeadlineAdapter(deadline) if allow_private else _PublicAdapter(deadline, is_https_proto=scheme == "https")
        )
        session.mount(f"{scheme}://", adapter)
    return session
