"""Fixtures that every suite may use."""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore, connect
from local.mongodb import running_mongod


@pytest.fixture(scope="session")
def mongodb_uri() -> Iterator[str]:
    """A real MongoDB: the one that ``MONGODB_URI`` names, else one that lives as long as this test run."""
    given = os.environ.get("MONGODB_URI")
    if given:
        yield given
        return
    with running_mongod() as uri:
        yield uri


@pytest.fixture(scope="session")
def mongo_client(mongodb_uri: str) -> Iterator[MongoClient[Document]]:
    """The client as the product makes it."""
    with connect(mongodb_uri) as client:
        yield client


@pytest.fixture
def database(mongo_client: MongoClient[Document]) -> Iterator[Database[Document]]:
    """An empty database of its own for one test."""
    name = f"test_{uuid4().hex}"
    yield mongo_client[name]
    mongo_client.drop_database(name)


@pytest.fixture
def mongo_store(mongo_client: MongoClient[Document], database: Database[Document]) -> MongoTaskStore:
    """The MongoDB store on that database, with its indexes."""
    store = MongoTaskStore(mongo_client, database.name)
    store.prepare()
    return store
