"""Finds the asked-for records in an answer of get_history_by_ids, whichever of its shapes it has (jimeng-wire 5.2)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .answers import MAX_ID, first_text, mapping_of

Record = Mapping[str, Any]

LIST_KEYS = ("history_list", "history_records")
HISTORY_ID_KEYS = ("history_record_id", "history_id")
SUBMIT_ID_KEYS = ("submit_id",)
TASK_HISTORY_KEYS = ("history_id", "task_id")
UNSET_ID = "0"


def history_id_of(record: Record) -> str:
    """The history id that a record itself names; empty if it names none."""
    return named_id(record, *HISTORY_ID_KEYS) or named_id(mapping_of(record.get("task")), *TASK_HISTORY_KEYS)


def submit_id_of(record: Record) -> str:
    """The submit id that a record itself names; empty if it names none."""
    return named_id(record, *SUBMIT_ID_KEYS) or named_id(mapping_of(record.get("task")), *SUBMIT_ID_KEYS)


def named_id(source: Mapping[str, Any], *keys: str) -> str:
    """The first of some fields that holds an id; empty where none does, or one that no id can be."""
    found = first_text(source, *keys)
    return "" if found == UNSET_ID or len(found) > MAX_ID else found


def records_by_history_id(body: Mapping[str, Any], wanted: Sequence[str]) -> dict[str, Record]:
    """The records among ``wanted`` by history id."""
    return _select(body, wanted, history_id_of)


def records_by_submit_id(body: Mapping[str, Any], wanted: Sequence[str]) -> dict[str, Record]:
    """The records among ``wanted`` by submit id."""
    return _select(body, wanted, submit_id_of)


def _select(body: Mapping[str, Any], wanted: Sequence[str], own_id: Callable[[Record], str]) -> dict[str, Record]:
    """What a record says of itself outweighs the key it stands under, so another's record is never taken for ours."""
    found: dict[str, Record] = {}
    anonymous: list[Record] = []
    for key, record in _records(body):
        name = own_id(record) or key
        if name in wanted:
            found.setdefault(name, record)
        elif not key and not _has_id(record):
            anonymous.append(record)
    if not found and len(wanted) == 1 and len(anonymous) == 1:
        found[wanted[0]] = anonymous[0]
    return found


def _records(body: Mapping[str, Any]) -> Iterator[tuple[str, Record]]:
    """Every record with the key it stands under; an empty key for records of a list or a bare record."""
    for place in (body.get("data"), body):
        if isinstance(place, list):
            yield from _listed(place)
            continue
        fields = mapping_of(place)
        for name in LIST_KEYS:
            yield from _listed(fields.get(name))
        if _has_id(fields):
            yield "", fields
        yield from ((key, mapping_of(value)) for key, value in fields.items() if value is not None)


def _listed(value: Any) -> Iterator[tuple[str, Record]]:
    yield from (("", entry) for entry in (value if isinstance(value, list) else []) if isinstance(entry, dict))


def _has_id(record: Record) -> bool:
    return bool(history_id_of(record) or submit_id_of(record))
