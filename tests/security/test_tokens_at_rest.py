"""Session tokens in the database: encrypted when a key is set, readable through every rotation, no stumbling block."""

import os
import subprocess
import sys
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.exceptions import SettingsError
from jimeng_tasks.settings import Settings
from jimeng_tasks.store.documents import Document
from jimeng_tasks.store.mongo import MongoTaskStore
from jimeng_tasks.store.tokens import PLAIN, EncryptedTokens, TokenVault
from local.processes import PYTHONPATH
from tests.integration.api_world import IMAGES, TOKEN, Api
from tests.life_cycle.scripted_provider import done
from tests.life_cycle.world import World

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
TASKS = "jimeng_free_generation_tasks"


@pytest.fixture
def opened(mongo_store: MongoTaskStore, mongo_client: MongoClient[Document], database: Database[Document]) -> Any:
    """Opens the same database with another set of keys."""

    def store(*keys: bytes) -> MongoTaskStore:
        vault: TokenVault = EncryptedTokens(keys) if keys else PLAIN
        return MongoTaskStore(mongo_client, database.name, vault=vault)

    return store


def moved(world: World, store: MongoTaskStore) -> World:
    """The same world, whose pollers now have another set of keys."""
    return replace(world, store=store)


def stored_token(database: Database[Document], task_id: str = "t1") -> str:
    document = database[TASKS].find_one({"task_id": task_id})
    assert document is not None
    return str(document["internal_params"]["refresh_token"])


def test_the_token_is_encrypted_in_the_field_of_the_seed(opened: Any, database: Database[Document]) -> None:
    world = World(opened(NEW))
    world.post(account=f"us-{TOKEN}")
    assert stored_token(database).startswith("enc:v1:")
    assert TOKEN not in str(database[TASKS].find_one())
    assert world.task().account == f"us-{TOKEN}"


def test_it_stays_encrypted_through_the_whole_life_of_a_task(opened: Any, database: Database[Document]) -> None:
    world = World(opened(NEW))
    world.post_accepted(account=TOKEN)
    world.provider.on_poll["t1"].append(done("https://cdn.example/0.png"))
    world.tick()
    assert world.task().status is TaskStatus.COMPLETED
    assert world.provider.job("t1").account == TOKEN
    assert stored_token(database).startswith("enc:v1:")


def test_tasks_of_one_account_are_still_polled_in_one_request(opened: Any, database: Database[Document]) -> None:
    world = World(opened(NEW))
    for task_id in ("t1", "t2", "t3"):
        world.post(task_id, account=TOKEN)
    world.tick(capacity=3)
    assert len({stored_token(database, task_id) for task_id in ("t1", "t2", "t3")}) == 3, "each with its own nonce"
    world.tick_after(10)
    assert [(account, len(ids)) for account, ids in world.provider.looks] == [(TOKEN, 3)]


def test_plain_tokens_of_older_documents_are_read_and_encrypted_by_the_next_write(
    opened: Any, database: Database[Document]
) -> None:
    World(opened()).post(account=TOKEN)
    assert stored_token(database) == TOKEN
    world = World(opened(NEW))
    world.tick()
    assert world.task().account == TOKEN
    assert stored_token(database).startswith("enc:v1:")


def test_keys_rotate_without_a_break(opened: Any, database: Database[Document]) -> None:
    # Given a running task from the time of the old key
    old = World(opened(OLD))
    old.post_accepted(account=TOKEN)
    # When the new key is put in front of it
    world = moved(old, opened(NEW, OLD))
    world.tick()
    # Then the task goes on, and has been encrypted with the new key
    assert world.task().status is TaskStatus.POLLING
    assert World(opened(NEW)).task().account == TOKEN


@pytest.mark.parametrize("keys", [(), (NEW,)], ids=["no key", "another key"])
def test_a_queued_task_whose_key_is_gone_fails_with_the_reason(
    opened: Any, database: Database[Document], keys: tuple[bytes, ...]
) -> None:
    World(opened(OLD)).post(account=TOKEN)
    before = stored_token(database)
    world = World(opened(*keys))
    world.post("t2", account="another")
    for _ in range(5):
        world.tick_after(60)
    # Then it has failed after some tries and says why, and the other one has not noticed
    assert world.task().status is TaskStatus.FAILED
    assert "TOKEN_ENCRYPTION_KEY" in str(world.task().error_message)
    assert world.task("t2").status is TaskStatus.POLLING
    # And what was stored is still there for who has the key
    assert stored_token(database) == before


def test_a_queued_task_waits_for_a_deployment_that_has_not_reached_every_function_yet(opened: Any) -> None:
    # Given a task of an API that encrypts already, and a poller that does not know the key yet
    world = World(opened(NEW))
    world.post(account=TOKEN)
    late = moved(world, opened())
    late.tick()
    late.tick_after(10)
    # When the poller knows it, too
    world.tick_after(60)
    # Then the task is submitted
    assert world.task().status is TaskStatus.POLLING
    assert world.provider.job("t1").account == TOKEN


@pytest.mark.parametrize("keys", [(), (NEW,)], ids=["no key", "another key"])
def test_a_paid_task_outlives_a_deployment_with_the_wrong_key(opened: Any, keys: tuple[bytes, ...]) -> None:
    # Given a job that runs at the provider, and a poller that cannot read its token
    world = World(opened(OLD))
    world.post_accepted(account=TOKEN)
    wrong = moved(world, opened(*keys))
    wrong.tick()
    wrong.tick_after(30)
    # When the right one is back within a minute
    world.provider.on_poll["t1"].append(done("https://cdn.example/0.png"))
    world.tick_after(30)
    # Then nothing is lost
    assert world.task().status is TaskStatus.COMPLETED


def test_after_a_minute_the_wrong_key_is_believed(opened: Any) -> None:
    world = World(opened(OLD))
    world.post_accepted(account=TOKEN)
    world = moved(world, opened(NEW))
    for _ in range(4):
        world.tick_after(40)
    assert world.task().status is TaskStatus.FAILED
    assert "cannot be decrypted" in str(world.task().error_message)


def test_an_overdue_task_whose_key_is_gone_times_out(opened: Any) -> None:
    world = World(opened(OLD))
    world.post_accepted(account=TOKEN)
    world = moved(world, opened(NEW))
    world.tick_after(3600)
    assert (world.task().status, world.task().error_message) == (TaskStatus.FAILED, "Task timeout")


@pytest.mark.parametrize("damage", ["enc:v1:", "enc:v1:AAAA", "enc:v1:\N{SNOWMAN}", "enc:v1:" + "A" * 80, "enc:v9:x"])
def test_a_damaged_token_harms_no_tick(opened: Any, database: Database[Document], damage: str) -> None:
    world = World(opened(NEW))
    world.post(account=TOKEN)
    world.post("t2", account="another")
    database[TASKS].update_one({"task_id": "t1"}, {"$set": {"internal_params.refresh_token": damage}})
    world.tick()
    assert world.task("t2").status is TaskStatus.POLLING


def test_a_token_copied_into_another_tasks_document_does_not_work_there(
    opened: Any, database: Database[Document]
) -> None:
    world = World(opened(NEW))
    world.post(account=TOKEN)
    world.post("t2", account="another")
    stolen = {"internal_params.refresh_token": stored_token(database)}
    database[TASKS].update_one({"task_id": "t2"}, {"$set": stolen})
    for _ in range(5):
        world.tick_after(60)
    assert world.task("t2").status is TaskStatus.FAILED
    assert world.provider.paid() == ["t1"]


def test_the_owner_is_recognised_by_the_plain_token(opened: Any) -> None:
    store = opened(NEW, OLD)
    api = Api(store=store)
    headers = {"authorization": f"Bearer {TOKEN}"}
    order = {"prompt": "a boat", "task_id": "t1"}
    statuses = [api.post(IMAGES, order, sent).status for sent in ({}, {}, {"authorization": "Bearer b"})]
    assert statuses == [200, 200, 409]
    assert api.get("/v1/images/query", headers, task_id="t1").data["state"] == "pending"


GOOD = b64encode(OLD).decode()


def test_the_setting_takes_several_keys_and_does_not_show_them() -> None:
    settings = Settings.from_environ({"TOKEN_ENCRYPTION_KEY": f"{GOOD}, {b64encode(NEW).decode()}"})
    assert settings.token_encryption_key == (OLD, NEW)
    assert repr(OLD) not in repr(settings)
    assert GOOD not in repr(settings)


@pytest.mark.parametrize("value", ["c4n4ry", ",", GOOD[:-4], f"{GOOD},c4n4ry", b64encode(b"c4n4ry" * 8).decode()])
def test_a_key_of_another_form_is_refused_without_being_repeated(value: str) -> None:
    with pytest.raises(SettingsError, match="TOKEN_ENCRYPTION_KEY must") as caught:
        Settings.from_environ({"TOKEN_ENCRYPTION_KEY": value})
    assert value.strip(",") not in str(caught.value).replace("TOKEN_ENCRYPTION_KEY", "") or value == ","


IMPORTS = """
import sys
from jimeng_tasks.bootstrap import Container
from jimeng_tasks.settings import Settings
import os
Container(Settings.from_environ(os.environ)).store
print("nacl" in sys.modules)
"""


@pytest.mark.parametrize(("key", "imported"), [("", "False"), (GOOD, "True")])
def test_the_cipher_is_imported_only_where_there_is_a_key(key: str, imported: str) -> None:
    environ = {"PATH": os.defpath, "PYTHONPATH": PYTHONPATH, "TOKEN_ENCRYPTION_KEY": key}
    environ |= {"USE_DATABASE_MODE": "true", "MONGODB_URI": "mongodb://127.0.0.1:1/"}
    done = subprocess.run([sys.executable, "-c", IMPORTS], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == imported
