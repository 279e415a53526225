"""Reads addresses that callers and providers gave, guarded against forbidden hosts, slow servers and huge bodies."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urljoin

import requests
from requests_hardened.ip_filter import InvalidIPAddress
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as Urllib3Timeout

from jimeng_tasks.domain.catalog import ReferenceLimits
from jimeng_tasks.domain.ports import MediaStream
from jimeng_tasks.domain.provider import Picture
from jimeng_tasks.exceptions import FetchFailed, UrlForbidden

from .addresses import checked_url, refuse_private_host, shown
from .pictures import check_bytes, decode_inline, is_data_uri, picture_from_bytes
from .sniff import HEAD_BYTES, MediaKind, sniff
from .transport import Deadline, guarded_session

MAX_REDIRECTS = 3
MAX_MEDIA_BYTES = 4 * 1024**3
_CONNECT_SECONDS = 10
# What requests, urllib3, a socket and the encoding of a host name raise.
_TRANSFER_ERRORS = (OSError, HTTPError, UnicodeError)
_FAULTS = {
    (requests.Timeout, Urllib3Timeout, TimeoutError): "did not answer in time",
    (requests.exceptions.SSLError,): "has no valid TLS certificate or does not speak TLS",
}


class GuardedSource:
    """The `MediaSource` of the product.

    With ``allow_private`` (the local stack) every host is allowed. ``timeout`` seconds are the most that a reference
    picture may take as a whole, and that any server may stay silent; ``media_timeout`` seconds the most that one
    generated file may take, its storing included. ``max_media_bytes`` bounds a generated file.
    """

    def __init__(
        self,
        allow_private: bool,
        limits: ReferenceLimits,
        timeout: float,
        *,
        media_timeout: float = 300,
        max_media_bytes: int = MAX_MEDIA_BYTES,
    ) -> None:
        self._allow_private = allow_private
        self._limits = limits
        self._timeout = timeout
        self._media_timeout = media_timeout
        self._max_media_bytes = max_media_bytes

    @contextmanager
    def open(self, url: str) -> Iterator[MediaStream]:
        """Open a generated picture or video as a stream that holds no more in memory than is asked of it.

        Raises:
            UrlForbidden: the guard forbids the address or one that it redirects to.
            FetchFailed: it does not answer in time with an image or a video of allowed size.
        """
        with self._answer(url, self._media_timeout) as body:
            if (body.declared_bytes or 0) > self._max_media_bytes:
                raise FetchFailed(f"{shown(url)} is larger than {self._max_media_bytes} bytes")
            head = body.read(HEAD_BYTES)
            kind = sniff(head)
            if kind is None:
                raise FetchFailed(f"{shown(url)} is not an image or a video")
            yield _SniffedStream(head, body, kind, self._max_media_bytes)

    def read_picture(self, url: str) -> Picture:
        """Read a reference picture, from the net or out of a data URI, and check it.

        Raises:
            UrlForbidden: the address or data URI is malformed, or the guard forbids it.
            FetchFailed: it could not be read in time.
            UnsupportedMedia: not a picture of an allowed format and size.
            TooLarge: the limit and the actual size.
        """
        if is_data_uri(url):
            return picture_from_bytes(decode_inline(url), self._limits)
        with self._answer(url, self._timeout) as body:
            check_bytes(body.declared_bytes or 0, self._limits)
            data = body.read(self._limits.max_bytes + 1)
        if not data:
            raise FetchFailed(f"{shown(url)} sent an empty body")
        return picture_from_bytes(data, self._limits)

    def check(self, url: str) -> None:
        """Refuse a bad reference address without reading it; a data URI is checked completely.

        Raises:
            UrlForbidden: it is malformed, or its host is or stands for an address that is not public.
            UnsupportedMedia, TooLarge: as `read_picture`, for a data URI.
        """
        if is_data_uri(url):
            picture_from_bytes(decode_inline(url), self._limits)
            return
        parts = checked_url(url)
        if not self._allow_private:
            refuse_private_host(parts)

    @contextmanager
    def _answer(self, url: str, seconds: float) -> Iterator["_Body"]:
        with (
            Deadline(seconds) as deadline,
            guarded_session(deadline, allow_private=self._allow_private) as session,
            closing(self._follow(session, url, deadline)) as response,
        ):
            yield _Body(response, shown(url), deadline)

    def _follow(self, session: requests.Session, url: str, deadline: Deadline) -> requests.Response:
        hop = url
        for _ in range(MAX_REDIRECTS + 1):
            try:
                response = self._get(session, hop, deadline)
            except UrlForbidden:
                if hop == url:
                    raise
                raise UrlForbidden(f"{shown(url)} redirects to an address that is not allowed") from None
            target = session.get_redirect_target(response)
            if target is None:
                return response
            response.close()
            hop = _joined(hop, target)
        raise FetchFailed(f"{shown(url)} redirects more than {MAX_REDIRECTS} times")

    def _get(self, session: requests.Session, url: str, deadline: Deadline) -> requests.Response:
        checked_url(url)
        timeouts = (min(_CONNECT_SECONDS, self._timeout), self._timeout)
        try:
            return session.get(url, stream=True, allow_redirects=False, timeout=timeouts)
        except InvalidIPAddress:
            raise UrlForbidden(f"{shown(url)} is, or stands for, a private or reserved address") from None
        except _TRANSFER_ERRORS as error:
            raise _fetch_failed(shown(url), deadline, error, "could not be reached") from None


class _Body:
    """The body of a good answer; refuses any other answer."""

    def __init__(self, response: requests.Response, where: str, deadline: Deadline) -> None:
        if response.status_code != 200:
            raise FetchFailed(f"{where} answered with status {response.status_code}")
        if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise FetchFailed(f"{where} sent a compressed body, which was not asked for")
        self.where = where
        self.declared_bytes: int | None = response.raw.length_remaining
        self._raw = response.raw
        self._deadline = deadline

    def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes, or fewer at the true end of the body.

        Raises:
            FetchFailed: the body was cut short or took too long.
        """
        data = self._piece(size)
        while len(data) < size and (piece := self._piece(size - len(data))):
            data += piece
        return data

    def _piece(self, size: int) -> bytes:
        try:
            piece: bytes = self._raw.read(size, decode_content=False)
        except _TRANSFER_ERRORS as error:
            raise _fetch_failed(self.where, self._deadline, error, "broke off before its end") from None
        # A body without declared length ends when the connection does, so an end made by the deadline looks true.
        if self._deadline.expired:
            raise _took_too_long(self.where, self._deadline)
        return piece


class _SniffedStream:
    """A `MediaStream`: the bytes that were needed to know the kind, then the rest."""

    def __init__(self, head: bytes, body: _Body, kind: MediaKind, max_bytes: int) -> None:
        self.content_type = kind.content_type
        self.extension = kind.extension
        self._head = head
        self._body = body
        self._max_bytes = max_bytes
        self._seen = len(head)

    def read(self, size: int = -1, /) -> bytes:
        """``size`` bytes, fewer only at the end; without ``size`` all the rest.

        Raises:
            FetchFailed: the body was cut short, took too long or is too large.
        """
        wanted = size if size >= 0 else self._max_bytes + 1
        first, self._head = self._head[:wanted], self._head[wanted:]
        rest = self._body.read(wanted - len(first))
        self._seen += len(rest)
        if self._seen > self._max_bytes:
            raise FetchFailed(f"{self._body.where} is larger than {self._max_bytes} bytes")
        return first + rest


def _joined(base: str, target: str) -> str:
    try:
        return urljoin(base, target)
    except ValueError:
        return target  # malformed: it is refused as the next hop


def _took_too_long(where: str, deadline: Deadline) -> FetchFailed:
    return FetchFailed(f"{where} took longer than {deadline.seconds:g} s")


def _fetch_failed(where: str, deadline: Deadline, error: Exception, otherwise: str) -> FetchFailed:
    """The error for a failed transfer; the library's own text is left out, for it holds the whole address."""
    if deadline.expired:
        return _took_too_long(where, deadline)
    faults = (fault for kinds, fault in _FAULTS.items() if isinstance(error, kinds))
    return FetchFailed(f"{where} {next(faults, otherwise)}")
