"""Field types of the request bodies: strict, except that numbers may come as text, everywhere alike."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StrictBool, StringConstraints
from pydantic_core import PydanticCustomError

LARGEST = 10**15
TASK_ID_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")

_INTEGER = re.compile(r"[+-]?\d{1,15}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d{1,15}(\.\d{0,30})?|\.\d{1,30})", re.ASCII)


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


def _references(value: Any) -> list[Any]:
    return [_reference(item) for item in (value if isinstance(value, list) else [value])]


def _reference(item: Any) -> Any:
    if isinstance(item, str):
        return {"url": item}
    if not isinstance(item, Mapping):
        raise PydanticCustomError("reference", "must be an address, a data URI, or an object with a url")
    if "url" in item or "image_url" not in item:
        return item
    address = item["image_url"]
    return {**item, "url": address["url"] if isinstance(address, Mapping) and "url" in address else address}


References = Annotated[
    list[ReferenceField],
    BeforeValidator(_references, json_schema_input_type=str | ReferenceField | list[str | ReferenceField]),
]
