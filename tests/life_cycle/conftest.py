"""Every test of this folder runs on both stores."""

import pytest

from jimeng_tasks.domain.ports import TaskStore
from jimeng_tasks.store.memory import MemoryTaskStore

from .world import World


@pytest.fixture(params=["memory", "mongo"])
def store(request: pytest.FixtureRequest) -> TaskStore:
    if request.param == "memory":
        return MemoryTaskStore()
    mongo_store: TaskStore = request.getfixturevalue("mongo_store")
    return mongo_store


@pytest.fixture
def world(store: TaskStore) -> World:
    return World(store)
