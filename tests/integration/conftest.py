"""Servers that several files of integration tests share."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from jimeng_tasks.jimeng import JimengWeb
from jimeng_tasks.media.source import GuardedSource
from tests.integration.jimeng_jobs import make_client
from tests.integration.media_cases import LIMITS
from tests.integration.rogue_server import RogueServer
from tests.integration.simulator_site import Site, serving


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a simulated Jimeng."""
    with serving() as address:
        yield address


@pytest.fixture
def web(address: str) -> JimengWeb:
    """The adapter pointed at the simulated Jimeng."""
    return make_client(address)


@pytest.fixture
def token() -> str:
    """An account that no other test uses."""
    return f"t{uuid4().hex}"


@pytest.fixture
def site(address: str, token: str) -> Site:
    """An independent client of the simulated Jimeng."""
    return Site(address, token)


@pytest.fixture
def server() -> Iterator[RogueServer]:
    """A server that behaves as badly as a test wants."""
    with RogueServer().running() as running:
        yield running


@pytest.fixture
def local() -> GuardedSource:
    """The local stack's source: private hosts allowed, and little patience."""
    return GuardedSource(True, LIMITS, timeout=1, media_timeout=1)
