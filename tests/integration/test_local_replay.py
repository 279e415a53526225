"""Every fixture of `events/states`: one poller invocation makes of it what it says."""

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from jimeng_tasks.domain.task import TaskStatus
from jimeng_tasks.poller.events import Assignment, parse
from local import fixtures
from local.processes import ROOT
from local.replay import Stage, running_stage

from .local_commands import local


@pytest.fixture(scope="module")
def stage(mongodb_uri: str) -> Iterator[Stage]:
    with running_stage({**os.environ, "MONGODB_URI": mongodb_uri}) as stage:
        yield stage


@pytest.mark.parametrize("name", fixtures.names())
def test_the_poller_makes_of_a_stored_task_what_its_fixture_expects(stage: Stage, name: str) -> None:
    replayed = stage.play(fixtures.load(name))

    assert replayed.faults == []


def test_a_fixture_whose_expectation_is_wrong_is_found_out(stage: Stage) -> None:
    fixture = fixtures.load("polling-done")
    wrong = {"task": {"status": "failed", "completed_at": {"$near": 600}}, "result": None, "accepted": 2}

    replayed = stage.play(fixtures.Fixture(**{**vars(fixture), "expect": wrong}))

    assert len(replayed.faults) == 4


def test_the_poller_understands_the_other_events() -> None:
    schedule, kick = (json.loads((ROOT / "events" / name).read_text()) for name in ("schedule.json", "kick.json"))

    assert parse(schedule) == Assignment()
    assert parse(kick).is_kick


def test_every_state_has_a_fixture() -> None:
    states = {fixtures.load(name).documents["tasks"][0]["status"] for name in fixtures.names()}

    assert states == set(TaskStatus)


def test_replay_shows_the_task_before_and_after(mongodb_uri: str) -> None:
    shown = local("replay", "processing-outcome-unknown", variables={"MONGODB_URI": mongodb_uri})

    assert shown.returncode == 0, shown.stderr
    changed = [line.split("│")[2:5] for line in shown.stdout.splitlines() if line.startswith("│ *")]
    assert ["status", "processing", "polling"] in [[cell.strip() for cell in cells] for cells in changed]
    assert shown.stdout.splitlines()[-1] == "as expected"
    assert "replay-processing-outcome-unknown" in shown.stdout
    assert "│ ***" in shown.stdout, "the session token is masked"


def test_replay_without_a_state_lists_all() -> None:
    listed = local("replay")

    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == fixtures.names()


def test_replay_of_an_unknown_state_names_the_known_ones() -> None:
    refused = local("replay", "melting")

    assert refused.returncode == 1
    assert "'melting'" in refused.stderr
    assert "polling-done" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_make_replay_takes_its_state_from_the_command_line() -> None:
    shown = subprocess.run(
        ["make", "-s", "replay", "STATE=completed"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[-1] == "as expected"
