"""Stored tasks in every state, `events/states/NAME.json`: read, brought to the present, and compared with what came.

A fixture holds `documents` (as they stand in the database), `simulator` (what the simulated Jimeng is told first) and
`expect` (the task, its result and the number of paid jobs afterwards). Values that are only known when it is replayed
are objects with one `$` key; ``FACTS`` and ``MATCHERS`` below list them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.errors import LocalError
from local.processes import ROOT

STATES = ROOT / "events" / "states"
NEAR = 5  # seconds

type Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Fixture:
    """One stored state and what one poller invocation makes of it."""

    name: str
    description: str
    documents: Mapping[str, list[Document]]
    simulator: Mapping[str, Any]
    expect: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a fixture may refer to: the time, the job that the simulated Jimeng runs for it, and the stored files.

    ``near`` is by how many seconds a time may be off.
    """

    now: int
    history_id: str
    media_urls: tuple[str, ...]
    stored_url: Callable[[int], str]
    near: int = NEAR


FACTS: dict[str, Callable[[Facts, Any], Any]] = {
    "$now": lambda facts, seconds: facts.now + seconds,  # so many seconds from now
    "$history_id": lambda facts, _: facts.history_id,  # the id of the job
    "$media_url": lambda facts, index: facts.media_urls[index],  # where Jimeng keeps a file of the job
    "$stored_url": lambda facts, index: facts.stored_url(index),  # where our own copy of it is
}

MATCHERS: dict[str, Callable[[Facts, Any, Any], bool]] = {
    "$some": lambda _, wanted, actual: (actual is not None) is wanted,
    "$near": lambda facts, seconds, actual: actual is not None and abs(actual - facts.now - seconds) <= facts.near,
    "$length": lambda _, length, actual: actual is not None and len(actual) == length,
    "$contains": lambda _, part, actual: actual is not None and part in actual,
}


def names() -> list[str]:
    """The names of all fixtures."""
    return sorted(path.stem for path in STATES.glob("*.json"))


def load(name: str) -> Fixture:
    """Read a fixture.

    Raises:
        LocalError: there is none of that name; the message lists all.
    """
    if name not in names():
        raise LocalError(f"there is no state {name!r}; there are: {', '.join(names())}")
    return read(STATES / f"{name}.json")


def read(path: Path) -> Fixture:
    """The fixture in a file."""
    return Fixture(name=path.stem, **json.loads(path.read_text(encoding="utf-8")))


def resolve(value: Any, facts: Facts) -> Any:
    """``value`` with every reference to a fact replaced by the fact."""
    if isinstance(value, list):
        return [resolve(item, facts) for item in value]
    if not isinstance(value, dict):
        return value
    key, argument = _marker(value)
    if key in FACTS:
        return FACTS[key](facts, argument)
    return {name: resolve(item, facts) for name, item in value.items()}


def differences(expected: Mapping[str, Any], actual: Mapping[str, Any], facts: Facts) -> Iterator[str]:
    """A line for each dotted field of ``actual`` that is not as expected; an expected None means absent."""
    for path, wanted in resolve(dict(expected), facts).items():
        found = at(actual, path)
        key, argument = _marker(wanted)
        fits = MATCHERS[key](facts, argument, found) if key in MATCHERS else found == wanted
        if not fits:
            yield f"{path} is {found!r}, expected {wanted!r}"


def at(document: Any, path: str) -> Any:
    """The value at a dotted path such as ``files.0.url``, or None."""
    for name in path.split("."):
        if isinstance(document, list):
            document = document[int(name)] if int(name) < len(document) else None
        else:
            document = None if document is None else document.get(name)
    return document


def _marker(value: Any) -> tuple[str, Any]:
    if isinstance(value, dict) and len(value) == 1:
        key, argument = next(iter(value.items()))
        if key.startswith("$"):
            return key, argument
    return "", None
