"""Reading request bodies: within a limit, of the right type, and JSON strictly."""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from email.message import Message
from inspect import iscoroutinefunction
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute

from jimeng_tasks.exceptions import RequestError, TooLarge, UnsupportedMedia
from jimeng_tasks.service.faults import shown

from .blocking import awaitable

MAX_JSON_BYTES = 10 * 1024**2
MAX_FORM_BYTES = 64 * 1024**2
JSON = "application/json"
FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")

_EMPTY = "the body is empty; a JSON object is expected"


class LimitedRequest(Request):
    """A request whose body may not have more than ``limit`` bytes."""

    limit = MAX_JSON_BYTES

    async def stream(self) -> AsyncGenerator[bytes]:
        """The body in chunks.

        Raises:
            TooLarge: more bytes are announced, or come, than are allowed.
        """
        declared = self.headers.get("Content-Length", "")
        self._refuse_over_limit(int(declared[:20]) if declared.isdecimal() else 0)
        received = 0
        async for chunk in super().stream():
            received += len(chunk)
            self._refuse_over_limit(received)
            yield chunk

    def _refuse_over_limit(self, size: int) -> None:
        if size > self.limit:
            raise TooLarge(f"the body has {size} bytes or more; at most {self.limit} are allowed")


class FormRequest(LimitedRequest):
    """A form may bring files, so it may be larger."""

    limit = MAX_FORM_BYTES


class _ParsedRequest(LimitedRequest):
    """Gives the framework the JSON document that was read strictly before."""

    async def parse(self) -> None:
        self._document = await read_json(self)

    async def json(self) -> Any:
        return self._document


class StrictRoute(APIRoute):
    """A route whose declared body is read by `read_json`, and whose endpoint runs where `run_blocking` says."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint if iscoroutinefunction(endpoint) else awaitable(endpoint), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's own handler, given a parsed request where the endpoint declares a body."""
        answer = super().get_route_handler()
        if self.body_field is None:
            return answer

        async def answer_parsed(request: Request) -> Response:
            parsed = _ParsedRequest(request.scope, request.receive)
            await parsed.parse()
            return await answer(parsed)

        return answer_parsed


def media_type(request: Request) -> str:
    """The type of the body in lower case, without parameters; JSON where the header is missing."""
    header = Message()
    header["Content-Type"] = request.headers.get("Content-Type") or JSON
    return header.get_content_type()


async def read_json(request: LimitedRequest) -> Any:
    """The JSON document in the body; a missing Content-Type counts as JSON.

    Raises:
        UnsupportedMedia: another content type.
        TooLarge: the body is over its limit.
        RequestError: no JSON, or JSON that does not mean one thing.
    """
    sent = media_type(request)
    if sent != JSON and not (sent.startswith("application/") and sent.endswith("+json")):
        raise UnsupportedMedia(f"the body is {shown(sent)}; this route takes {JSON}")
    return parse_json(await request.body())


def parse_json(body: bytes) -> Any:
    """Parse JSON that is UTF-8, with or without a byte order mark, and has no duplicate keys and no NaN.

    Raises:
        RequestError: says what is wrong and where.
    """
    try:
        text = body.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise RequestError(f"the body is not UTF-8 text (byte {error.start})") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise RequestError(f"the body is not JSON: {error.msg} at {where}" if text.strip() else _EMPTY) from None
    except RecursionError:
        raise RequestError("the body is nested too deeply") from None
    except ValueError:
        raise RequestError("the body holds a number with too many digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise RequestError(f"the body has the key {shown(twice)} twice")
    return document


def _no_constant(name: str) -> NoReturn:
    raise RequestError(f"the body holds {name}, which is not JSON")
