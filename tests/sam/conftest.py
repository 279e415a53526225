"""What the tests of the deployment share: a build, a Docker engine with the base image, and servers on this machine.

Nothing here is ever skipped: what a test needs is installed, started or made, or the test fails and says why.
"""

import logging
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.fixtures import load, names
from tests.sam import base_image
from tests.sam.commands import BUILD, SERVICES, sam
from tests.sam.docker_engine import running_docker
from tests.sam.functions import POLLERS, Functions, Invoker
from tests.sam.host import Host, running_host
from tests.sam.stage import ContainerStage

logger = logging.getLogger(__name__)


@pytest.fixture(scope="session", autouse=True)
def tidy_end() -> None:
    """SIGTERM ends the run as Ctrl-C does: whatever was started is stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def invoker(functions: Functions) -> Iterator[Invoker]:
    """The functions in warm containers."""
    with functions.invoker() as invoke:
        yield invoke


@pytest.fixture(scope="session")
def replays(host: Host, invoker: Invoker) -> dict[str, list[str]]:
    """Every stored state, advanced by a poller in a warm container: what is not as its fixture says."""
    stage = ContainerStage(host, lambda event: invoker(POLLERS[SERVICES[0]], event))
    invoker(POLLERS[SERVICES[0]], {"warmer": True})
    try:
        return {state: stage.play(load(state)).faults for state in names()}
    finally:
        stage.close()
