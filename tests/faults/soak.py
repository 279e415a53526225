"""How long the suites of this folder go on: bounded in every run, longer with ``SOAK_SECONDS``."""

import os

from hypothesis import HealthCheck, settings

SOAK_SECONDS = int(os.environ.get("SOAK_SECONDS", "0"))


def property_test(bounded: int) -> settings:
    """So many examples, the same in every bounded run; a soak of a minute tries about four times as many new ones."""
    return settings(
        max_examples=bounded * max(1, SOAK_SECONDS // 15),
        derandomize=not SOAK_SECONDS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def rounds(bounded: int) -> int:
    """How often a fault is repeated."""
    return bounded * max(1, SOAK_SECONDS // 30)


def spread(count: int, bounded: int) -> list[int]:
    """``bounded`` numbers spread over ``range(count)``; all of them in a soak."""
    return list(range(count)) if SOAK_SECONDS else sorted({index * count // bounded for index in range(bounded)})
