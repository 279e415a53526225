"""The embedded mongod: a working replica set, and nothing of it left behind."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pymongo import MongoClient
from pymongo.errors import ServerSelectionTimeoutError

from jimeng_tasks.store.documents import Document
from local.mongodb import find_mongod, running_mongod
from local.scratch import ScratchDirectory

OWNER = """
import signal, time
from local.mongodb import running_mongod
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born ignoring it
with running_mongod() as uri:
    print(uri, flush=True)
    time.sleep(300)
"""


def test_the_found_mongod_is_version_6_or_newer() -> None:
    said = subprocess.run([find_mongod(), "--version"], capture_output=True, text=True, check=True).stdout

    assert int(said.split("db version v")[1].split(".")[0]) >= 6


def test_an_old_mongod_on_the_path_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "mongod"
    old.write_text("#!/bin/sh\necho 'db version v4.4.29'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    assert find_mongod() != old

    old.write_text("#!/bin/sh\necho 'db version v7.0.1'\n")
    assert find_mongod() == old


def test_two_run_beside_each_other_each_with_transactions_and_its_own_data() -> None:
    with running_mongod() as first, running_mongod() as second:
        for uri in (first, second):
            client: MongoClient[Document] = MongoClient(uri)
            with client, client.start_session() as session, session.start_transaction():
                client["a"]["b"].insert_one({"uri": uri}, session=session)
                assert client["a"]["b"].count_documents({}, session=session) == 1

    for uri in (first, second):
        gone: MongoClient[Document] = MongoClient(uri, serverSelectionTimeoutMS=100)
        with gone, pytest.raises(ServerSelectionTimeoutError):
            gone.admin.command("ping")


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGINT])
def test_mongod_dies_with_its_parent_however_that_dies(death: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    with parent, parent.stdout:
        assert parent.stdout.readline().startswith("mongodb://127.0.0.1:")
        [child] = psutil.Process(parent.pid).children()
        assert child.name() == "mongod"

        data = Path(child.cmdline()[child.cmdline().index("--dbpath") + 1])

        parent.send_signal(death)
        parent.wait(10)

    child.wait(5)
    assert not child.is_running()
    ScratchDirectory().remove()
    assert not data.exists(), "at the latest the next scratch directory clears it away"


def test_scratch_directories_of_living_owners_are_left_alone() -> None:
    first, second = ScratchDirectory(), ScratchDirectory()

    second.remove()

    assert first.path.exists()
    first.remove()
    assert not first.path.exists()
