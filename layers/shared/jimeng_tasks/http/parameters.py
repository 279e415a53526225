"""Small things that requests bring beside their main body: the task asked for, the idempotency key."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request

from jimeng_tasks.exceptions import RequestError

from .bodies import FORMS, FormRequest, LimitedRequest, media_type, read_json
from .fields import is_encodable

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="The same key with the same body is the same task; with another body it is refused (409).",
    ),
]

QUERY_BODY: dict[str, Any] = {
    "requestBody": {
        "content": {
            "application/json": {
                "schema": {"type": "object", "properties": {"task_id": {"type": "string"}}, "required": ["task_id"]},
                "examples": {"one": {"value": {"task_id": "boat-0001"}}},
            }
        }
    }
}

MAX_ASKED = 1000  # characters; far more than any id has, and little enough to be repeated in an answer

_MISSING = "task_id: is missing; give the id that the generation answered"


async def _asked(request: Request, task_id: Annotated[str, Query(description="The id of the task.")]) -> str:
    others = request.query_params.getlist("task_id")[:-1]  # the framework gives the last of several
    return _one([*others, task_id])


async def _posted(request: Request) -> str:
    return _one([*request.query_params.getlist("task_id"), *await _in_body(request)])


async def _in_body(request: Request) -> list[Any]:
    if media_type(request) in FORMS:
        async with FormRequest(request.scope, request.receive).form(max_files=0) as form:
            return list(form.getlist("task_id"))
    limited = LimitedRequest(request.scope, request.receive)
    body = await read_json(limited) if await limited.body() else {}
    if not isinstance(body, Mapping):
        raise RequestError("the body must be a JSON object with a task_id")
    return [] if body.get("task_id") is None else [body["task_id"]]


def _one(values: list[Any]) -> str:
    if len(values) > 1:
        raise RequestError("task_id: is given more than once; ask for one task at a time")
    value = values[0] if values else ""
    if not isinstance(value, str) or not is_encodable(value):
        raise RequestError("task_id: must be text")
    if not value.strip():
        raise RequestError(_MISSING)
    if len(value) > MAX_ASKED:
        raise RequestError(f"task_id: has {len(value)} characters; no id has that many")
    return value.strip()


AskedTask = Annotated[str, Depends(_asked)]
PostedTask = Annotated[str, Depends(_posted)]
