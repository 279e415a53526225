"""Log lines are redacted JSON with the ids of their task; metrics are valid embedded metric format."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jimeng_tasks.observability import NAMESPACE, EmfMetrics

LAYER = Path(__file__).parents[2] / "layers" / "shared"
CANARY = "c4n4ry0123456789abcdef0123456789"

TASK = """
import logging
from jimeng_tasks.observability import configure_logging
from jimeng_tasks.domain.task import InternalParams, Task, TaskStatus, TaskType
from jimeng_tasks.service.work.context import task_log

configure_logging("INFO")
configure_logging("INFO")
logger = logging.getLogger("jimeng_tasks.poller.handler")
task = Task(task_id="t1", task_type=TaskType.IMAGE, server_id="svc-a", original_params={"prompt": "p"},
            internal_params=InternalParams(refresh_token="us-CANARY"), status=TaskStatus.POLLING, next_poll_at=1,
            poll_interval=1, task_timeout=1, created_at=1, updated_at=1, deadline_at=1, claim_id="claim-7")
"""


def lines_of(program: str) -> list[dict[str, Any]]:
    """The JSON lines that a program writes; each line must be one."""
    code = (TASK + program).replace("CANARY", CANARY)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(LAYER)},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert CANARY not in done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_line_of_a_task_has_its_ids() -> None:
    [line] = lines_of('task_log(task).info("task %s", "completed", extra={"fail_code": None, "files": 3})')
    assert (line["message"], line["level"]) == ("task completed", "INFO")
    assert (line["task_id"], line["server_id"], line["claim_id"]) == ("t1", "svc-a", "claim-7")
    assert line["files"] == 3


def test_a_line_is_written_once_and_only_from_its_level_on() -> None:
    assert len(lines_of('logger.debug("no"); logger.info("yes")')) == 1


def test_the_summary_is_part_of_its_line() -> None:
    [line] = lines_of('logger.info("poller finished", extra={"ticks": 3, "stop_reason": "idle"})')
    assert (line["ticks"], line["stop_reason"]) == (3, "idle")


@pytest.mark.parametrize(
    "program",
    [
        """logger.error('Authorization: Bearer CANARY')""",
        """logger.error('answer: %s', '{"headers": {"Authorization": "Bearer CANARY"}}')""",
        """logger.error('answer: %s', '{"refresh_token": "us-CANARY"}')""",
        """logger.error('answer: %s', '{"a": "AWS4-HMAC-SHA256 Credential=x, Signature=CANARY"}')""",
        """logger.error('x', extra={"headers": {"Authorization": "Bearer CANARY"}})""",
        """logger.error('x', extra={"task": task.internal_params})""",
        """logger.error('%s', task)""",
        """
try:
    raise RuntimeError("mongodb://user:CANARY@host/db")
except RuntimeError:
    task_log(task).exception("step failed")
""",
    ],
    ids=["header", "json event", "json document", "signature", "extra", "params", "task", "exception"],
)
def test_no_line_holds_a_secret_and_each_stays_json(program: str) -> None:
    assert len(lines_of(program)) == 1


def test_an_exception_says_where_it_came_from() -> None:
    [line] = lines_of("try:\n    1 / 0\nexcept ZeroDivisionError:\n    task_log(task).exception('step failed')\n")
    assert "ZeroDivisionError" in line["exception"]
    assert line["task_id"] == "t1"


def blobs(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What was written, as CloudWatch reads it; malformed blobs are errors here, and silently lost there."""
    written = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for blob in written:
        assert isinstance(blob["_aws"]["Timestamp"], int)
        for directive in blob["_aws"]["CloudWatchMetrics"]:
            assert directive["Namespace"] == NAMESPACE
            assert 1 <= len(directive["Metrics"]) <= 100
            for metric in directive["Metrics"]:
                values = blob[metric["Name"]]
                assert len(values) <= 100
                assert all(isinstance(value, int | float) for value in values)
            for dimensions in directive["Dimensions"]:
                assert len(dimensions) <= 30
                assert all(isinstance(blob[name], str) and blob[name] for name in dimensions)
    return written


def values(written: list[dict[str, Any]], name: str, **dimensions: str) -> list[float]:
    found = [blob for blob in written if name in blob and dimensions.items() <= blob.items()]
    return [value for blob in found for value in blob[name]]


def unit(written: list[dict[str, Any]], name: str) -> set[str]:
    metrics = [metric for blob in written for d in blob["_aws"]["CloudWatchMetrics"] for metric in d["Metrics"]]
    return {metric["Unit"] for metric in metrics if metric["Name"] == name}


def test_counts_are_summed_for_each_set_of_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = EmfMetrics("jimeng_tasks")
    metrics.count("tasks_completed", task_type="image")
    metrics.count("tasks_completed", 2, task_type="image")
    metrics.count("tasks_completed", task_type="video")
    metrics.count("claims_lost", 0)
    metrics.flush()
    written = blobs(capsys)
    assert values(written, "tasks_completed", task_type="image") == [3]
    assert values(written, "tasks_completed", task_type="video") == [1]
    assert values(written, "claims_lost") == [0]
    assert unit(written, "tasks_completed") == {"Count"}


def test_durations_keep_their_values(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = EmfMetrics("jimeng_tasks")
    metrics.seconds("task_time", 1.5, task_type="image")
    metrics.seconds("task_time", 3, task_type="image")
    metrics.flush()
    written = blobs(capsys)
    assert values(written, "task_time", task_type="image") == [1.5, 3]
    assert unit(written, "task_time") == {"Seconds"}


@pytest.mark.parametrize("number", [1, 99, 100, 101, 250])
def test_many_durations_are_written_without_a_complaint(capsys: pytest.CaptureFixture[str], number: int) -> None:
    metrics = EmfMetrics("jimeng_tasks")
    for value in range(number):
        metrics.seconds("task_time", value, task_type="image")
    metrics.flush()
    assert values(blobs(capsys), "task_time") == [float(value) for value in range(min(number, 99))]


def test_many_names_are_all_written(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = EmfMetrics("jimeng_tasks")
    for number in range(150):
        metrics.count(f"metric_{number}")
    metrics.flush()
    written = blobs(capsys)
    assert all(values(written, f"metric_{number}") == [1] for number in range(150))


def test_what_was_written_is_not_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = EmfMetrics("jimeng_tasks")
    metrics.count("ticks")
    metrics.flush()
    blobs(capsys)
    metrics.flush()
    assert blobs(capsys) == []


def test_two_kinds_of_metrics_do_not_share_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = EmfMetrics("jimeng_tasks")
    metrics.count("heartbeats", 1, server_id="svc-a")
    metrics.count("database_up", 1)
    metrics.flush()
    written = blobs(capsys)
    assert values(written, "heartbeats", server_id="svc-a") == [1]
    assert values(written, "database_up", server_id="svc-a") == []


def test_a_very_long_field_is_cut() -> None:
    """One log event of CloudWatch holds 256 KB; a whole page or picture in a message would lose the line."""
    [line] = lines_of('task_log(task).error("page: %s", "<html>" + "x y" * 200_000)')
    assert line["task_id"] == "t1"
    assert len(json.dumps(line)) < 100_000
