"""`make run`: what it serves, and that nothing of it outlives it."""

import json
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from local.processes import ROOT

from .local_commands import STOP_SECONDS, Running, all_gone, local, running, wait_until


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def stack(directory: Path) -> Iterator[Running]:
    with running(directory, free_port()) as stack:
        yield stack


def servers_of(stack: Running) -> dict[str, str]:
    """What makes another copy use the servers of this one."""
    parts = {"MONGODB_URI": "MongoDB", "JIMENG_BASE_URL": "Jimeng", "TOS_ENDPOINT_URL": "storage"}
    return {variable: stack.address(part) for variable, part in parts.items()}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_curl_that_it_prints_posts_a_task(stack: Running) -> None:
    command = re.search(r"curl \S+/v1/images/generations .*", stack.printed)
    assert command

    answer = subprocess.run([*shlex.split(command[0]), "-s"], capture_output=True, check=True, timeout=10).stdout

    assert json.loads(answer)["data"]["state"] == "pending"


def test_the_pollers_take_up_tasks_at_once_and_write_the_task_log(stack: Running) -> None:
    task_id = post(stack, "image-for-the-log")

    wait_until(lambda: state_of(stack, task_id) == "polling", 10)

    log = (ROOT / "logs" / "task_polling.log").read_text()
    line = next(line for line in log.splitlines() if task_id in line)
    assert re.match(r"\[TaskPolling\]\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] task submitted ", line)
    assert "token-of-a-test" not in log


def test_documentation_is_served_and_the_database_is_ready(stack: Running) -> None:
    assert "swagger" in requests.get(f"{stack.url}/docs", timeout=5).text
    assert requests.get(f"{stack.url}/health", timeout=5).json()["database"] == "ok"


def test_a_poller_that_dies_is_started_again(stack: Running) -> None:
    before = stack.children("local.poller")[0]
    before.kill()

    wait_until(lambda: len(stack.children("local.poller")) == 2 and before not in stack.children("local.poller"), 15)

    assert "starts again" in stack.printed
    assert stack.answers()


def test_a_taken_port_is_refused_in_one_line(stack: Running) -> None:
    port = stack.url.rpartition(":")[2]

    refused = local("run", variables={"PORT": port})

    assert refused.returncode == 1
    assert refused.stderr.splitlines() == [
        f"error: PORT {port} of 127.0.0.1 is not free (Address already in use): choose another"
    ]


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("PORT", "web", "PORT must be a whole number from 1 to 65535"),
        ("SERVICE_IDS", "a,a", "SERVICE_IDS must not name a service twice"),
        ("MONGODB_URI", "http://user:secret@host", "MONGODB_URI must start with mongodb"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(name: str, value: str, fault: str) -> None:
    refused = local("run", variables={name: value})

    assert refused.returncode == 1
    assert fault in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert "secret" not in refused.stderr


def test_an_unreachable_database_is_reported_in_one_line(stack: Running) -> None:
    uri = f"mongodb://user:secret@127.0.0.1:{free_port()}"
    refused = local("run", variables={**servers_of(stack), "PORT": str(free_port()), "MONGODB_URI": uri})

    assert refused.returncode == 1
    assert re.fullmatch(r"error: the database cannot be prepared: .*\n", refused.stderr)
    assert "secret" not in refused.stdout + refused.stderr


def test_a_second_copy_that_uses_the_first_ones_servers_starts_only_its_own_processes(
    stack: Running, directory: Path
) -> None:
    own = {"SERVICE_IDS": "another-service", "MONGODB_DATABASE": "another"}
    with running(directory, free_port(), **servers_of(stack), **own) as second:
        assert len(second.family()) == 3, "itself, the API and one poller"
        task_id = post(second, "in-the-second")
        wait_until(lambda: state_of(second, task_id) == "polling", 10)
        family = second.family()
        second.process.send_signal(signal.SIGINT)

        assert second.process.wait(STOP_SECONDS) == 0
        assert all_gone(family)

    assert stack.answers()
    assert state_of(stack, "in-the-second") == "not_found"


def test_killed_make_takes_everything_along(directory: Path) -> None:
    with running(directory, free_port(), "make", "run") as made:
        family = made.family()
        made.process.kill()

        wait_until(lambda: all_gone(family), STOP_SECONDS)


def test_killed_outright_it_takes_everything_along(directory: Path) -> None:
    with running(directory, free_port()) as killed:
        family = killed.family()
        killed.process.kill()

        wait_until(lambda: all_gone(family), STOP_SECONDS)


def test_without_its_database_it_ends_with_an_error_and_leaves_nothing(directory: Path) -> None:
    with running(directory, free_port()) as broken:
        family = broken.family()
        broken.children("mongod")[0].kill()

        assert broken.process.wait(STOP_SECONDS) == 1
        assert "error: MongoDB at mongodb://" in broken.printed
        assert all_gone(family)


def test_without_its_api_it_ends_with_an_error_and_leaves_nothing(directory: Path, stack: Running) -> None:
    with running(directory, free_port(), **servers_of(stack), MONGODB_DATABASE="without_api") as broken:
        family = broken.family()
        broken.children("local.api")[0].kill()

        assert broken.process.wait(STOP_SECONDS) == 1
        assert "error: api ended with code -9" in broken.printed
        assert all_gone(family)


def test_memory_mode_needs_no_database_and_no_poller_process(directory: Path) -> None:
    with running(directory, free_port(), USE_DATABASE_MODE="false") as stack:
        assert not stack.children("mongod")
        assert not stack.children("local.poller")
        task_id = post(stack, "in-memory")

        wait_until(lambda: state_of(stack, task_id) == "polling", 10)

        family = stack.family()
        stack.process.terminate()
        assert stack.process.wait(STOP_SECONDS) == 0
        assert all_gone(family)


def post(stack: Running, task_id: str) -> str:
    answer = requests.post(
        f"{stack.url}/v1/images/generations",
        json={"prompt": "a test", "task_id": task_id},
        headers={"Authorization": "Bearer token-of-a-test"},
        timeout=10,
    )
    assert answer.ok, answer.text
    return task_id


def state_of(stack: Running, task_id: str) -> str:
    answer = requests.get(f"{stack.url}/v1/images/query", params={"task_id": task_id}, timeout=10)
    return str(answer.json()["data"]["state"])
