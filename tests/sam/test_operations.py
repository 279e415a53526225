"""Alarms and dashboard: which there are, when they fire, and whom they tell."""

import json
from typing import Any

import pytest

from local.processes import ROOT
from tests.sam.template import expanded, of_type

TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
ALARM = "AWS::CloudWatch::Alarm"
PER_SERVICE = ("HeartbeatAlarm", "OldestPendingAlarm", "PollerErrorAlarm")


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return expanded("ServiceIds=a-1,b-2", f"NotificationTopicArn={TOPIC}")


def test_every_alarm_tells_the_topic(template: dict[str, Any]) -> None:
    for alarm in of_type(template, ALARM).values():
        assert alarm["AlarmActions"] == alarm["OKActions"] == [TOPIC]
        assert alarm["AlarmDescription"]


def test_without_a_topic_alarms_only_show() -> None:
    for alarm in of_type(expanded("ServiceIds=a-1"), ALARM).values():
        assert "AlarmActions" not in alarm


def test_a_service_without_heartbeat_for_five_minutes_raises_an_alarm(template: dict[str, Any]) -> None:
    alarms = of_type(template, ALARM)
    for name in ("HeartbeatAlarma1", "HeartbeatAlarmb2"):
        assert alarms[name]["Period"] * alarms[name]["EvaluationPeriods"] == 300
        assert alarms[name]["TreatMissingData"] == "breaching"


def test_the_kinds_of_alarms_are_the_ones_an_operator_needs(template: dict[str, Any]) -> None:
    assert set(of_type(template, ALARM)) == {
        *(f"{kind}{service}" for kind in PER_SERVICE for service in ("a1", "b2")),
        *(f"ProviderAlarm{error}" for error in ("loginrejected", "providerblocked", "clientversionrejected")),
        *(f"TransferAlarm{error}" for error in ("storageerror", "referenceunavailable", "urlforbidden")),
        "StepErrorAlarm",
        "DatabaseAlarm",
        "ApiErrorAlarm",
    }


def test_rolling_back_to_memory_silences_the_alarms_of_pollers() -> None:
    assert not [name for name in expanded("UseDatabaseMode=false")["Resources"] if name.startswith(PER_SERVICE)]


@pytest.mark.parametrize("architecture", ["x86_64", "arm64"])
def test_the_dashboard_reckons_with_the_prices_of_the_cost_command(architecture: str) -> None:
    usd = json.loads((ROOT / "bench" / "prices.json").read_text(encoding="utf-8"))["usd"]
    body = of_type(expanded(f"Architecture={architecture}"), "AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"]
    assert f"*512/1024*{usd[f'lambda_gb_second_{architecture}']:.10f}" in body


def test_the_dashboard_is_laid_out_without_overlap(template: dict[str, Any]) -> None:
    widgets = json.loads(of_type(template, "AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"])["widgets"]
    cells = {(widget["x"], widget["y"]) for widget in widgets}
    assert len(cells) == len(widgets)
    assert {x for x, _ in cells} == {0, 12}
    assert all(y % 6 == 0 for _, y in cells)
    assert {(widget["width"], widget["height"]) for widget in widgets} == {(12, 6)}
