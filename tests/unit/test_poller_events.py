"""What an event asks the poller for."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jimeng_tasks.exceptions import RequestError
from jimeng_tasks.poller.events import Assignment, is_warmer, parse

SCHEDULED = {"version": "0", "source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("event", "assignment"),
    [
        ({}, Assignment()),
        (SCHEDULED, Assignment()),
        ({"source": "aws.scheduler"}, Assignment()),
        ({"ticks": 2}, Assignment(ticks=2)),
        ({"kick": "t1"}, Assignment(is_kick=True)),
        ({"task_ids": ["t1", "t2"]}, Assignment(only=("t1", "t2"))),
        ({"task_ids": ["t1"], "ticks": 1}, Assignment(only=("t1",), ticks=1)),
    ],
    ids=["empty", "rule", "scheduler", "ticks", "kick", "tasks", "replay"],
)
def test_a_known_event(event: dict[str, Any], assignment: Assignment) -> None:
    assert parse(event) == assignment


@pytest.mark.parametrize(
    ("event", "named"),
    [
        ({"Records": [{"EventSource": "aws:sns", "Sns": {"Message": "canary"}}]}, "Records"),
        ({"source": "aws.s3", "detail": "canary"}, "detail, source"),
        ({"rawPath": "/ping", "headers": {"authorization": "canary"}}, "headers, rawPath"),
        (["canary"], "list"),
        (None, "NoneType"),
        ("canary", "str"),
        ({"task_ids": []}, "task_ids"),
        ({"task_ids": "t1"}, "task_ids"),
        ({"task_ids": [1]}, "task_ids"),
        ({"ticks": 0}, "ticks"),
        ({"ticks": True}, "ticks"),
        ({"ticks": "1"}, "ticks"),
    ],
)
def test_an_unknown_event_is_refused_by_its_top_level_keys_only(event: Any, named: str) -> None:
    with pytest.raises(RequestError) as refusal:
        parse(event)
    assert named in str(refusal.value)
    assert "canary" not in str(refusal.value)


@given(event=json_values)
def test_any_event_is_understood_or_refused(event: Any) -> None:
    with suppress(RequestError):
        assert isinstance(parse(event), Assignment)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"warmer": True}, True),
        ({"warmer": True, "concurrency": 3}, True),
        ({"warmer": False}, False),
        ({}, False),
        ("warmer", False),
        (None, False),
    ],
)
def test_a_warmer_is_known_by_its_flag(event: Any, expected: bool) -> None:
    assert is_warmer(event) is expected
