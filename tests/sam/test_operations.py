"""Alarms and dashboard: they look at what the code writes, and the alarms tell somebody."""

import json
import re
import sys
from typing import Any

import pytest

from local.processes import PYTHONPATH, ROOT
from tests.sam.commands import run
from tests.sam.template import expanded, of_type

TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
WRITTEN = re.compile(r"metrics\.(?:count|seconds)\(\s*f?\"([a-z_{}]+)\"")
DIMENSIONS = {
    "heartbeats": {"server_id"},
    "oldest_pending_age": {"server_id"},
    "provider_errors": {"error"},
    "transfer_failures": {"error"},
}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return expanded("ServiceIds=a-1,b-2", f"NotificationTopicArn={TOPIC}")


def written_metrics() -> set[str]:
    """The names of all metrics that the code writes."""
    sources = (ROOT / "layers" / "shared" / "jimeng_tasks").rglob("*.py")
    names = {name for path in sources for name in WRITTEN.findall(path.read_text(encoding="utf-8"))}
    return {name for pattern in names for name in _spelled_out(pattern)}


def watched_metrics(template: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics of this product that alarms look at."""
    alarms = of_type(template, "AWS::CloudWatch::Alarm").values()
    single = [alarm for alarm in alarms if "MetricName" in alarm]
    combined = [
        part["MetricStat"]["Metric"] for alarm in alarms for part in alarm.get("Metrics", []) if "MetricStat" in part
    ]
    return [metric for metric in single + combined if metric["Namespace"] == "JimengTasks"]


def test_alarms_look_at_metrics_that_the_code_writes_with_their_dimensions(template: dict[str, Any]) -> None:
    metrics = watched_metrics(template)
    assert {metric["MetricName"] for metric in metrics} <= written_metrics()
    for metric in metrics:
        dimensions = {dimension["Name"]: dimension["Value"] for dimension in metric["Dimensions"]}
        assert dimensions.pop("service") == "local", "the name of the stack keeps two stacks apart"
        assert set(dimensions) == DIMENSIONS.get(metric["MetricName"], set())


def test_the_code_writes_the_name_of_the_stack_with_every_metric() -> None:
    script = "from jimeng_tasks.observability import EmfMetrics as M; m = M(); m.count('heartbeats'); m.flush()"
    environ = {"POWERTOOLS_SERVICE_NAME": "a-stack", "PYTHONPATH": PYTHONPATH}
    written = run([sys.executable, "-c", script], also=environ).stdout
    assert json.loads(written)["service"] == "a-stack"


def test_every_alarm_tells_the_topic(template: dict[str, Any]) -> None:
    for alarm in of_type(template, "AWS::CloudWatch::Alarm").values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [TOPIC]
        assert alarm["AlarmDescription"]


def test_without_a_topic_alarms_only_show() -> None:
    for alarm in of_type(expanded("ServiceIds=a-1"), "AWS::CloudWatch::Alarm").values():
        assert "AlarmActions" not in alarm


def test_a_service_without_heartbeat_for_five_minutes_raises_an_alarm(template: dict[str, Any]) -> None:
    alarms = of_type(template, "AWS::CloudWatch::Alarm")
    for name in ("HeartbeatAlarma1", "HeartbeatAlarmb2"):
        assert alarms[name]["Period"] * alarms[name]["EvaluationPeriods"] == 300
        assert alarms[name]["TreatMissingData"] == "breaching"


def test_the_kinds_of_alarms_are_the_ones_an_operator_needs(template: dict[str, Any]) -> None:
    assert set(of_type(template, "AWS::CloudWatch::Alarm")) == {
        *(f"{kind}{service}" for kind in PER_SERVICE for service in ("a1", "b2")),
        "StepErrorAlarm",
        "DatabaseAlarm",
        "LoginRejectedAlarm",
        "ProviderBlockedAlarm",
        "TransferFailureAlarm",
        "ApiErrorAlarm",
    }


def test_rolling_back_to_memory_silences_the_alarms_of_pollers() -> None:
    assert not [name for name in expanded("UseDatabaseMode=false")["Resources"] if name.startswith(PER_SERVICE)]


def test_the_dashboard_shows_metrics_that_the_code_writes(template: dict[str, Any]) -> None:
    body = of_type(template, "AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"]
    widgets = json.loads(body)["widgets"]
    assert len({(widget["x"], widget["y"]) for widget in widgets}) == len(widgets) == 11
    text = json.dumps(widgets)
    searched = set(re.findall(r'MetricName=\\+"(\w+)', text))
    named = {row[1] for widget in widgets for row in widget["properties"]["metrics"] if row[0] == "JimengTasks"}
    assert searched
    assert named
    assert searched | named <= written_metrics()


PER_SERVICE = ("HeartbeatAlarm", "OldestPendingAlarm", "PollerErrorAlarm")


def _spelled_out(pattern: str) -> list[str]:
    outcomes = ("completed", "failed") if "{outcome}" in pattern else ("",)
    return [pattern.replace("{outcome}", outcome) for outcome in outcomes]
