"""How long the suites of this folder may take: some seconds each in `make test`, ``SOAK_SECONDS`` under `make soak`."""

import os

SOAK_SECONDS = int(os.environ.get("SOAK_SECONDS") or 0)


def is_soak() -> bool:
    """Whether this is the long run."""
    return SOAK_SECONDS > 0
