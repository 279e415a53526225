"""The one place where an error becomes an HTTP answer."""

import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jimeng_tasks.exceptions import JimengTasksError, MethodNotAllowed, NotFound, RequestError

logger = logging.getLogger(__name__)

MAX_FAULTS = 5
STORE_SECONDS = 4.0  # what all calls of the store in one request may take together
METHODS = ("GET", "POST")


def request_id(scope: Scope) -> str:
    """The id of a request: API Gateway's, else Lambda's, else a fresh one; the same for the whole request."""
    state = scope.setdefault("state", {})
    if "request_id" not in state:
        context = scope.get("aws.event", {}).get("requestContext", {})
        lambda_id = getattr(scope.get("aws.context"), "aws_request_id", None)
        known = str(context.get("requestId") or lambda_id or uuid.uuid4())
        state["request_id"] = known.encode("ascii", "replace").decode()
    return str(state["request_id"])


def error_body(error: JimengTasksError, scope: Scope) -> dict[str, Any]:
    """The body that tells a client of an error."""
    return {
        "code": error.code,
        "error": error.name,
        "message": str(error),
        "data": None,
        "request_id": request_id(scope),
    }


def error_response(
    error: JimengTasksError, scope: Scope, status: int | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The whole answer, with Retry-After where the error knows when to come again."""
    answer = JSONResponse(error_body(error, scope), status or error.http_status, headers)
    if error.retry_after is not None:
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


def install(app: FastAPI) -> None:
    """Make every error of ``app`` one of ours."""
    app.add_exception_handler(JimengTasksError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework)
    app.add_middleware(Boundary)


class Boundary:
    """The outermost layer: names the request in ``X-Request-Id``, bounds its time and answers errors nobody foresaw.

    Without it the framework would raise them again after its answer, into logs that are not ours.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def named(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id(scope).encode())]
            await send(message)

        try:
            with scope["app"].state.services.store.within(STORE_SECONDS):
                await self._app(scope, receive, named)
        except Exception:
            logger.exception("unexpected error on %s %s, request %s", scope["method"], scope["path"], request_id(scope))
            if not begun:
                failure = JimengTasksError("an unexpected error; give the request_id to the operators")
                await error_response(failure, scope)(scope, receive, named)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, JimengTasksError)  # noqa: S101 - registered for nothing else
    return error_response(error, request.scope)


async def _framework(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    if error.status_code == 404:
        return error_response(NotFound("no such route; the routes are at /docs"), request.scope)
    if error.status_code == 405:
        allowed = ", ".join(_methods(request))
        fault = MethodNotAllowed(f"this route does not take {request.method}, but {allowed}")
        return error_response(fault, request.scope, headers={"Allow": allowed})
    return error_response(RequestError(error.detail), request.scope, error.status_code, error.headers)


def _methods(request: Request) -> list[str]:
    """All methods of a path: the framework itself names only those of the first route that has it."""
    scopes = {method: {**request.scope, "method": method} for method in METHODS}
    return [
        method
        for method, scope in scopes.items()
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
    ]


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for nothing else
    faults = [_fault(fault) for fault in error.errors()[:MAX_FAULTS]]
    return error_response(RequestError("; ".join(dict.fromkeys(faults))), request.scope)


def _fault(fault: Mapping[str, Any]) -> str:
    """Where and why, never the value: it may be a token."""
    where, why = _path(fault["loc"]), fault["msg"]
    return f"{where}: {why[:1].lower()}{why[1:]}"


def _path(location: Sequence[int | str]) -> str:
    source, *rest = location
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)
    return path.lstrip(".") or str(source)
