"""The space of replies: anything a site, a proxy before it or a broken network can send in place of a good answer."""

import copy
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.faults.deployment import TOKEN
from tests.faults.raw_site import Wire

CODES = [
    *("0", "1", "-1", "-4", "-6", "1000", "1002", "1006", "1010", "1014", "1015", "1017", "1018", "1019", "1057"),
    *("2002", "2003", "2038", "2039", "2042", "2061", "3000", "3018", "4001", "4002", "4013", "5000", "5001", "5002"),
    *("10020", "100402", "121101", "34010100", "99999", "-2001", "00", "1.0", "0x0", "1e3", " 0 ", "", "zero"),
]
STATUSES = [0, 10, 20, 21, 30, 40, 42, 45, 50, 60, 70, 80, 100, -1, 7, 99999999999]
HTTP_STATUSES = [
    *(200, 200, 200, 200, 201, 204, 206, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 408, 409),
    *(413, 418, 425, 429, 429, 429, 451, 499, 500, 501, 502, 503, 504, 520, 599, 600, 999),
]
RETRY_AFTER = [
    *("0", "1", "7", "86400", "999999999", "99999999999999999999", "-1", "-99999", "1.5", "1e9", "", "soon", "\x01"),
    *("Wed, 21 Oct 2099 07:28:00 GMT", "Fri, 31 Dec 9999 23:59:59 -2359", "Thu, 01 Jan 1970 00:00:00 GMT"),
    *("Mon, 99 Foo 0000 99:99:99 GMT", "Sat, 01 Jan 0001 00:00:00 +2359", "2030-01-01T00:00:00Z", "٣"),
]
SOME_JOB = ("4999999999", "99999999-9999-4999-8999-999999999999")
HEADERS = ["Location: /elsewhere", "Location: http://[", "Content-Encoding: br", "X: \x80", "Content-Type: text/html"]
PAGES = [
    b"<html><body>502 Bad Gateway</body></html>",
    b"",
    b"null",
    b"[]",
    b'"0"',
    b"\xff\xfe\x00",
    b"{" * 3000,
    b"[" * 100_000,
    b'{"ret":"0"',
    b'{"ret":"0","ret":"1015"}',
    b'{"ret":"0","data":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
    b'{"ret":0,"data":{"n":' + b"9" * 5000 + b"}}",
    f"<p>session {TOKEN} expired</p>".encode(),
]

texts = st.one_of(
    st.sampled_from(["", "0", " ", TOKEN, f"bad session {TOKEN}!"]),
    st.sampled_from(["\ud800", "a\x00b", "９", "\n\r", "9" * 5000, "x" * 5000]),
    st.text(max_size=12),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), texts, st.sampled_from([*CODES, *STATUSES])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)


@dataclass(frozen=True)
class Reply:
    """One HTTP reply: ``body`` as sent, ``cut`` the bytes of it that arrive (None: all), ``is_sound`` its encoding."""

    status: int
    body: bytes
    headers: tuple[str, ...] = ()
    cut: int | None = None
    is_sound: bool = True
    is_reset: bool = False

    def wire(self) -> Wire:
        head = [
            f"HTTP/1.1 {self.status} X",
            f"Content-Length: {len(self.body)}",
            "Connection: close",
            *self.headers,
            "",
            "",
        ]
        data = "\r\n".join(head).encode() + self.body[: self.cut]
        return Wire(data, "reset" if self.is_reset else "close")

    def about(self, history_id: str, submit_id: str) -> "Reply":
        """The same reply with the ids of a real job in place of ``SOME_JOB``."""
        body = self.body.replace(SOME_JOB[0].encode(), history_id.encode())
        return replace(self, body=body.replace(SOME_JOB[1].encode(), submit_id.encode()))

    @property
    def is_complete(self) -> bool:
        has_all = self.cut is None or self.cut >= len(self.body)
        return has_all and self.is_sound and not self.is_reset

    @property
    def document(self) -> Any:
        """The JSON object that arrives whole, else an empty one."""
        try:
            found = json.loads(self.body) if self.is_complete else {}
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def ret(self) -> int | None:
        """The number in ``ret``, sent as a number or as text."""
        ret = self.document.get("ret")
        if isinstance(ret, bool) or not isinstance(ret, int | float | str):
            return None
        try:
            return int(ret.strip() if isinstance(ret, str) else ret) if str(ret).strip()[-1:].isdigit() else None
        except (ValueError, OverflowError):
            return None

    @property
    def refuses_surely(self) -> bool:
        """Whether a submission that got this reply certainly started no job."""
        if self.status == 429:
            return True
        is_undecided = self.status in (408, 425) or not (200 <= self.status < 300 or 400 <= self.status < 500)
        if is_undecided or not self.is_complete:
            return False
        return self.status >= 400 if self.ret is None else self.ret != 0

    def denies(self, wanted: str) -> bool:
        """Whether a look-up that got this reply was told, in the agreed form, of jobs without this one."""
        good = self.is_complete and 200 <= self.status < 300 and self.ret == 0
        return good and isinstance(self.document.get("data"), dict | list) and wanted.encode() not in self.body


def _places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children = enumerate(document) if isinstance(document, list) else ()
    for key, child in document.items() if isinstance(document, dict) else children:
        yield (*path, key)
        yield from _places(child, (*path, key))


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """The document with one to four places left out, retyped, wrapped, replaced or added to."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 4))):
        places = list(_places(changed))
        if not places:
            break
        *parents, key = draw(st.sampled_from(places))
        place = changed
        for parent in parents:
            place = place[parent]
        _change(draw, place, key)
    return changed


def _change(draw: st.DrawFn, place: Any, key: Any) -> None:
    how = draw(st.sampled_from(["drop", "retype", "wrap", "code", "status", "replace", "add"]))
    if how == "drop":
        del place[key]
    elif how == "retype":
        place[key] = _retyped(place[key])
    elif how == "add" and isinstance(place, dict):
        place[draw(texts)] = draw(values)
    else:
        new = {"wrap": st.just([place[key]]), "code": st.sampled_from(CODES), "status": st.sampled_from(STATUSES)}
        place[key] = draw(new.get(how, values))


def _retyped(value: Any) -> Any:
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 20 else [value]
    return str(value) if isinstance(value, int | float) else json.dumps(value)


@st.composite
def replies(draw: st.DrawFn, document: Any) -> Reply:
    """Any reply to a call whose good answer would be ``document``."""
    shape = draw(st.sampled_from(["json", "json", "json", "ret", "page", "gzip", "cut"]))
    status = draw(st.sampled_from(HTTP_STATUSES))
    extra = draw(st.lists(st.sampled_from(HEADERS), max_size=1))
    if status in (429, 503) and draw(st.booleans()):
        extra.append(f"Retry-After: {draw(st.sampled_from(RETRY_AFTER))}")
    if shape == "page":
        return Reply(status, draw(st.sampled_from(PAGES)), tuple(extra))
    told = {**document, "ret": draw(st.sampled_from([*CODES, 0, 1015, 4013, 0.0]))}
    changed = told if shape == "ret" else draw(mutated(document))
    body = json.dumps(changed).encode()
    if shape == "gzip":
        packed = gzip.compress(body)
        broken = packed[: len(packed) // 2] + b"\x00" * 9
        return Reply(status, broken, (*extra, "Content-Encoding: gzip"), is_sound=False)
    cut = draw(st.integers(0, len(body))) if shape == "cut" else None
    return Reply(status, body, tuple(extra), cut, is_reset=cut is not None and draw(st.booleans()))
