"""The servers of this folder: a real MongoDB, the simulated Jimeng, a real S3 server; each once for all tests."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pymongo import MongoClient

from jimeng_tasks.settings import Settings
from jimeng_tasks.storage.tos import s3_client
from jimeng_tasks.store.documents import Document
from local.objectstore import create_public_bucket, running_objectstore
from local.processes import Child, stop_all

from .crash_site import BUCKET, Site, environment

SIMULATOR_SECONDS = 20
TRANSACTION_LIFE = "transactionLifetimeLimitSeconds"
TRANSACTION_SECONDS = 2


@pytest.fixture(scope="session")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a simulated Jimeng."""
    output: Path = tmp_path_factory.mktemp("simulator")
    child = Child("simulator", ["tests.reliability.simulated_jimeng"], environ=dict(os.environ), output=output)
    child.start()
    try:
        deadline = time.monotonic() + SIMULATOR_SECONDS
        while '{"simulator": ' not in child.output():
            assert child.is_running, child.last_words()
            assert time.monotonic() < deadline, "the simulator does not start"
            time.sleep(0.05)
        yield json.loads(child.output().splitlines()[-1])["simulator"]
    finally:
        stop_all([child])


@pytest.fixture(scope="session")
def quick_transactions(mongodb_uri: str) -> Iterator[None]:
    """A transaction whose client died holds its documents for a minute; on clocks that run fast that must be less."""
    with MongoClient[Document](mongodb_uri) as client:
        usual = client.admin.command({"getParameter": 1, TRANSACTION_LIFE: 1})[TRANSACTION_LIFE]
        client.admin.command({"setParameter": 1, TRANSACTION_LIFE: TRANSACTION_SECONDS})
        yield
        client.admin.command({"setParameter": 1, TRANSACTION_LIFE: usual})


@pytest.fixture(scope="session")
def site(mongodb_uri: str, simulator: str, quick_transactions: None) -> Iterator[Site]:
    """Everything that a scenario talks to."""
    with running_objectstore() as objectstore:
        site = Site(mongodb_uri=mongodb_uri, simulator=simulator, objectstore=objectstore)
        create_public_bucket(s3_client(Settings.from_environ(environment(site, "any"))), BUCKET)
        yield site
