"""Field types of the request bodies: strict, except that numbers may come as text, everywhere alike.

And what is known of fields that are none of ours: how their names compare, and whether they hold a picture.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StrictBool, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from jimeng_tasks.service.faults import shown

LARGEST = 10**15
TASK_ID_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")

# Names of addresses that a client is told at, or comes from, and of a client's own notes: they can be no input.
NO_INPUT = frozenset(
    (
        *("callback", "callbackurl", "callbackuri", "notify", "notifyurl", "notifyhook", "notificationurl"),
        *("webhook", "webhooks", "webhookurl", "webhookuri", "hookurl", "statuscallback", "statuscallbackurl"),
        *("returnurl", "redirecturl", "redirecturi", "successurl", "cancelurl"),
        *("origin", "referer", "referrer", "httpreferer", "baseurl", "apibase", "metadata", "user"),
    )
)

# What is as a whole an address, a data URI, or base64 that begins as PNG, JPEG or WEBP do.
_PICTURE = re.compile(r"\s*(https?://\S+\s*\Z|data:([a-z]+/|;base64,)|(?-i:iVBORw0KGgo|/9j/|UklGR))", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d{1,15}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d{1,15}(\.\d{0,30})?|\.\d{1,30})", re.ASCII)


def squeezed(name: str) -> str:
    """A field's name without what spellings differ in: ``aspectratio`` for ``Aspect-Ratio`` and ``aspect_ratio``."""
    return "".join(filter(str.isalnum, name.casefold()))


def holds_picture(value: Any) -> bool:
    """Whether an address or a picture is anywhere inside a JSON value, but for members that `NO_INPUT` names."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, str) and _PICTURE.match(inner):
            return True
        if isinstance(inner, list):
            waiting += inner
        elif isinstance(inner, Mapping):
            waiting += (
                part for name, member in inner.items() if squeezed(name) not in NO_INPUT for part in (name, member)
            )
    return False


def _whole_number(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value)
    if _is_number(value) and value == int(value):
        return int(value)
    raise PydanticCustomError("whole_number", "must be a whole number")


def _number(value: Any) -> float:
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        return float(value)
    if _is_number(value):
        return float(value)
    raise PydanticCustomError("number", "must be a number")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST < value < LARGEST


def is_encodable(value: str) -> bool:
    """Whether a text can be written as UTF-8: JSON may hold halves of surrogate pairs, which cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _encodable(value: Any) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("text", "must be text")
    if not is_encodable(value):
        raise PydanticCustomError("surrogate", "holds half of a surrogate pair, which is no text")
    return value


def _filled(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("blank", "must not be empty")
    return value


WholeNumber = Annotated[int, BeforeValidator(_whole_number, json_schema_input_type=int | str)]
Number = Annotated[float, BeforeValidator(_number, json_schema_input_type=float | str)]
Flag = StrictBool
FreeText = Annotated[str, BeforeValidator(_encodable)]
Text = Annotated[FreeText, AfterValidator(_filled)]
TaskId = Annotated[str, BeforeValidator(_encodable), StringConstraints(pattern=f"^{TASK_ID_PATTERN.pattern}$")]
Pixels = Annotated[WholeNumber, Field(ge=1, le=100_000)]


class ReferenceField(BaseModel):
    """One input picture: its address or data URI, and its size in pixels if it is known."""

    url: Text
    width: Pixels | None = None
    height: Pixels | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_picture(cls, item: Any) -> Any:
        if isinstance(item, Mapping):
            for name, member in item.items():
                if name not in cls.model_fields and holds_picture({name: member}):
                    raise PydanticCustomError(
                        "second_picture",
                        f"{shown(name)} is no field of a picture: give one address or data URI, in url",
                    )
        return item


def _references(value: Any) -> list[Any]:
    return [_reference(item) for item in (value if isinstance(value, list) else [value])]


def _reference(item: Any) -> Any:
    if isinstance(item, str):
        return {"url": item}
    if not isinstance(item, Mapping):
        raise PydanticCustomError("reference", "must be an address, a data URI, or an object with a url")
    if "url" in item or "image_url" not in item:
        return item
    rest = dict(item)
    address = rest.pop("image_url")
    return {**rest, "url": address["url"] if isinstance(address, Mapping) and "url" in address else address}


References = Annotated[
    list[ReferenceField],
    BeforeValidator(_references, json_schema_input_type=str | ReferenceField | list[str | ReferenceField]),
]
