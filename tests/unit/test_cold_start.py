"""What a handler imports at a cold start is what it needs: counted in modules, since seconds depend on the machine."""

import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from local.processes import PYTHONPATH, ROOT

logger = logging.getLogger(__name__)

LIMIT = 1.2
API_FLOOR = "import fastapi, mangum, pymongo"
POLLER_FLOOR = "import pymongo, requests"
FLOORS = {
    "images": API_FLOOR,
    "video": API_FLOOR,
    "upload": API_FLOOR,
    "ops": API_FLOOR,
    "poller": POLLER_FLOOR,
}
ENVIRON = {
    "USE_DATABASE_MODE": "true",
    "MONGODB_URI": "mongodb://127.0.0.1:1/",
    "SERVICE_ID": "jimeng-api-3302",
    "SERVICE_IDS": "jimeng-api-3302",
    "POLLER_FUNCTION_PREFIX": "jimeng-poller-",
    "TOS_BUCKET": "media",
    "TOS_ENDPOINT_URL": "https://tos-s3-cn-beijing.volces.com",
    "TOS_ACCESS_KEY": "none",
    "TOS_SECRET_KEY": "none",
}
MEASURE = """
import json, sys, time
before, started = set(sys.modules), time.perf_counter()
{statement}
seconds = time.perf_counter() - started
print(json.dumps({{"seconds": seconds, "modules": sorted(set(sys.modules) - before)}}))
"""


@dataclass(frozen=True)
class Imported:
    """What one statement imports in a fresh interpreter, and the seconds it takes."""

    seconds: float
    modules: set[str]


def imported(statement: str) -> Imported:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(statement=statement)],
        cwd=ROOT,
        env={"PATH": os.defpath, "PYTHONPATH": PYTHONPATH, **ENVIRON},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answer = json.loads(done.stdout)
    return Imported(answer["seconds"], set(answer["modules"]))


@pytest.mark.parametrize("group", FLOORS)
def test_a_handler_imports_little_more_than_its_floor(group: str) -> None:
    floor = imported(FLOORS[group])
    handler = imported(f"import functions.{group}.app")
    ratio = len(handler.modules) / len(floor.modules)
    logger.info(
        "%s: %d modules in %.0f ms; floor %d in %.0f ms; %.2f times the modules, %.2f times the time",
        *(group, len(handler.modules), handler.seconds * 1000, len(floor.modules), floor.seconds * 1000),
        *(ratio, handler.seconds / floor.seconds),
    )
    assert ratio <= LIMIT, f"beyond the floor: {_summary(handler.modules - floor.modules)}"


@pytest.mark.parametrize("group", FLOORS)
def test_the_aws_sdk_is_not_imported_before_it_is_used(group: str) -> None:
    # Powertools touches the empty top of botocore; what costs is below it.
    modules = imported(f"import functions.{group}.app").modules
    assert sorted(name for name in modules if name.startswith(("boto3", "botocore.", "s3transfer"))) == []


def test_the_poller_imports_no_web_framework() -> None:
    modules = imported("import functions.poller.app").modules
    assert not {"fastapi", "starlette", "mangum", "pydantic", "anyio"} & modules


def _summary(modules: set[str]) -> dict[str, int]:
    """How many modules each package brings."""
    packages = [name.partition(".")[0] for name in modules]
    return {name: packages.count(name) for name in sorted(set(packages), key=packages.count, reverse=True)}
