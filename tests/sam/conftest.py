"""What the tests of the deployment share: a build, a Docker engine with the base image, and servers on this machine.

Nothing here is ever skipped: what a test needs is installed, started or made, or the test fails and says why.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sam import base_image
from tests.sam.commands import BUILD, sam
from tests.sam.docker_engine import running_docker
from tests.sam.host import Functions, Host, running_host

logger = logging.getLogger(__name__)


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder of the built artefacts."""
    sam("build", timeout=600)
    return BUILD


@pytest.fixture(scope="session")
def engine() -> Iterator[None]:
    """A Docker engine that has the base image."""
    with running_docker():
        logger.info("base image %s: %s", base_image.IMAGE, base_image.provide())
        yield


@pytest.fixture(scope="session")
def host(engine: None) -> Iterator[Host]:
    with running_host() as servers:
        yield servers


@pytest.fixture(scope="session")
def functions(built: Path, host: Host, tmp_path_factory: pytest.TempPathFactory) -> Functions:
    """The built functions, to be run in containers that use the servers on this machine."""
    return Functions(host.inside, tmp_path_factory.mktemp("functions"))
