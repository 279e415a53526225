"""The month's bill: what it consists of, and how it follows the load."""

import re

import pytest

from bench.cost import Durations, Load, busy_share, functions, main, prices, servers
from local.processes import ROOT

TOOK = Durations(submit_ms=4.0, query_ms=2.0, idle_ms=10.0)
LOAD = Load(tasks_per_day=1000, services=2, median_seconds=60)


def test_a_service_without_tasks_is_billed_for_one_look_a_minute() -> None:
    table = prices()
    idle = Load(tasks_per_day=1e-9, services=1, median_seconds=60)

    bill = functions(idle, TOOK, table)

    looks = 30.4 * 1440
    seconds = looks * 0.010 * 1769 / 512
    expected = seconds * 0.5 * table["usd"]["lambda_gb_second_x86_64"] + looks * table["usd"]["lambda_request"]
    assert bill["pollers"] == pytest.approx(expected)


def test_a_service_that_always_has_a_task_is_billed_for_the_whole_month() -> None:
    table = prices()
    busy = Load(tasks_per_day=100_000, services=1, median_seconds=3600)

    bill = functions(busy, TOOK, table)

    assert busy_share(busy) == pytest.approx(1)
    assert bill["pollers"] >= 30.4 * 86_400 * 0.5 * table["usd"]["lambda_gb_second_x86_64"]


def test_the_api_is_billed_by_request_and_by_measured_duration() -> None:
    table = prices()
    slower = Durations(submit_ms=8.0, query_ms=4.0, idle_ms=10.0)

    once, twice = functions(LOAD, TOOK, table), functions(LOAD, slower, table)

    requests = 1000 * 30.4 * (1 + table["assumptions"]["queries_per_task"])
    assert once["HTTP API"] == pytest.approx(requests * 0.000001)
    by_request = requests * table["usd"]["lambda_request"]
    assert twice["API functions"] - by_request == pytest.approx(2 * (once["API functions"] - by_request))


def test_what_watches_a_deployment_costs_the_same_whatever_it_does() -> None:
    table = prices()
    idle = Load(tasks_per_day=1e-9, services=2, median_seconds=60)

    bills = [functions(load, TOOK, table) for load in (idle, LOAD)]

    for bill in bills:
        assert bill["metrics"] == pytest.approx((2 * 7 + 23) * 0.3)
        assert bill["alarms, dashboard"] == pytest.approx((2 * 3 + 9) * 0.1 + 3)


def test_the_number_of_alarms_is_that_of_the_template() -> None:
    assumed = prices()["assumptions"]
    template = (ROOT / "template.yaml").read_text()

    def named(pattern: str) -> int:
        return len(re.findall(rf"^ +{pattern}:$", template, re.MULTILINE))

    errors = 3  # each of the loops over errors names three
    assert named(r"- \w+Alarm&\{ServiceId\}") + named(r"\w+Alarm&\{ServiceId\}") == assumed["alarms_per_service"]
    assert errors * named(r"- \w+Alarm&\{Error\}") + named(r"\w+Alarm") == assumed["other_alarms"]


def test_servers_cost_the_same_whatever_they_do() -> None:
    table = prices()
    more = Load(tasks_per_day=100_000, services=2, median_seconds=600)

    assert servers(more, table) == servers(LOAD, table) == pytest.approx(2 * (0.0208 * 24 * 30.4 + 0.08 * 20))


def test_the_other_architecture_is_cheaper() -> None:
    table = prices()

    dearer, cheaper = (functions(LOAD, TOOK, table, architecture=name) for name in ("x86_64", "arm64"))

    assert cheaper["pollers"] < dearer["pollers"]
    assert cheaper["HTTP API"] == dearer["HTTP API"]


def test_the_table_of_prices_has_a_date_and_a_source() -> None:
    table = prices()

    assert re.fullmatch(r"\d{4}-\d{2}", table["date"])
    assert "pricing" in table["source"]
    assert all(price > 0 for price in table["usd"].values())


@pytest.mark.parametrize("arguments", [["0", "2", "60"], ["1000", "0", "60"], ["many", "2", "60"], ["1000", "2"]])
def test_a_load_that_makes_no_sense_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert "TASKS_PER_DAY" in capsys.readouterr().err
