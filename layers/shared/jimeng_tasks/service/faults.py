"""How refusals show values: short, quoted and in one order."""

from collections.abc import Iterable

SHOWN_CHARACTERS = 50


def shown(value: str) -> str:
    """A caller's value as it may stand in a message: quoted, and cut after 50 characters."""
    return repr(value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}...")


def listed(values: Iterable[object]) -> str:
    """Allowed values, as a message lists them."""
    return ", ".join(map(str, values))
