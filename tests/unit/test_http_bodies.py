"""Strict JSON, and numbers that may come as text."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from jimeng_tasks.exceptions import RequestError
from jimeng_tasks.http.bodies import parse_json
from jimeng_tasks.http.fields import NO_INPUT, Number, WholeNumber, holds_picture, squeezed
from jimeng_tasks.http.schemas import ALIASES, REFUSED_FOR_IMAGES, REFUSED_FOR_VIDEOS, ImageGeneration, VideoGeneration

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_every_json_document_is_read_as_it_was_written(document: Any, ascii_only: bool) -> None:
    try:
        written = json.dumps(document, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return
    assert parse_json(written) == document
    assert parse_json(b"\xef\xbb\xbf" + written) == document


@given(st.binary())
def test_any_other_bytes_are_refused_and_nothing_else_happens(body: bytes) -> None:
    with suppress(RequestError):
        parse_json(body)


def test_a_key_that_comes_twice_is_named_even_deep_inside() -> None:
    with pytest.raises(RequestError, match="'url' twice"):
        parse_json(b'{"images": [{"url": "a", "url": "b"}]}')


@pytest.mark.parametrize(("value", "number"), [(10, 10), ("10", 10), (" 10 ", 10), ("+10", 10), ("-3", -3), (10.0, 10)])
def test_whole_numbers_may_come_as_digits(value: Any, number: int) -> None:
    assert TypeAdapter(WholeNumber).validate_python(value) == number


@pytest.mark.parametrize(
    "value", ["8abc", "", "1e3", "1_0", "0x10", "4.0", 4.9, True, False, None, [], {}, float("inf"), 10**400, "９" * 3]
)
def test_everything_else_is_no_whole_number(value: Any) -> None:
    with pytest.raises(ValidationError, match="whole number"):
        TypeAdapter(WholeNumber).validate_python(value)


@pytest.mark.parametrize(
    ("value", "number"), [(1, 1.0), (0.5, 0.5), ("0.5", 0.5), (".5", 0.5), ("1.", 1.0), ("-1", -1)]
)
def test_numbers_may_come_as_digits(value: Any, number: float) -> None:
    assert TypeAdapter(Number).validate_python(value) == number


@pytest.mark.parametrize("value", ["", "nan", "inf", "0,5", "1e3", True, None, [], float("nan"), float("inf"), 10**400])
def test_everything_else_is_no_number(value: Any) -> None:
    with pytest.raises(ValidationError, match="must be a number"):
        TypeAdapter(Number).validate_python(value)


@given(JSON)
def test_a_picture_is_found_however_deep_it_is(document: Any) -> None:
    for picture in (
        "https://example.com/a.png",
        "data:image/png;base64,AAAA",
        "iVBORw0KGgoAAAA",
        "/9j/4AAQ",
        "UklGRjo",
    ):
        assert holds_picture([document, {"a": [{"b": picture}]}])


@pytest.mark.parametrize(
    "value", [None, 5, "a.png", "IVBORW0KGGO", "metadata:x/y", "see /9j/", {"callback": "http://a"}]
)
def test_other_values_hold_no_picture(value: Any) -> None:
    assert not holds_picture(value)


def test_nesting_that_a_recursion_could_not_follow_is_searched() -> None:
    nested: Any = "https://example.com/a.png"
    for _ in range(100_000):
        nested = [nested]
    assert holds_picture(nested)


@pytest.mark.parametrize(
    ("model", "refused"), [(ImageGeneration, REFUSED_FOR_IMAGES), (VideoGeneration, REFUSED_FOR_VIDEOS)]
)
def test_no_refused_name_is_a_field_or_an_address_of_the_caller(model: Any, refused: dict[str, str]) -> None:
    spellings = {*model.model_fields, *(alias for aliases in ALIASES.values() for alias in aliases)}
    assert set(refused).isdisjoint({*map(squeezed, spellings), *NO_INPUT})
    assert set(map(squeezed, NO_INPUT)) == NO_INPUT
