"""Real processes that the suites of this folder may hurt."""

from collections.abc import Iterator

import pytest

from tests.faults.mongods import FailingMongod
from tests.integration.simulator_site import serving


@pytest.fixture(scope="module")
def mongod() -> Iterator[FailingMongod]:
    """A mongod that these tests may hurt."""
    with FailingMongod() as server:
        yield server


@pytest.fixture(scope="session")
def jimeng() -> Iterator[str]:
    """A simulated Jimeng with quick jobs."""
    with serving() as address:
        yield address
