"""Alarms, dashboard and README against the metrics that the containers really write."""

import json
import re
import threading
import time
import uuid
from typing import Any

import pytest
from pymongo import MongoClient

from jimeng_tasks.exceptions import JimengTasksError
from jimeng_tasks.store.mongo import connect
from jimeng_tasks.store.mongo.connection import TASKS
from local.processes import ROOT
from tests.sam.commands import SERVICES
from tests.sam.emf import Metric, shown, watched, written
from tests.sam.functions import POLLERS, Invoker
from tests.sam.host import DATABASE, Host
from tests.sam.template import expanded, of_type
from tests.sam.test_containers import http_event

POLLER = POLLERS[SERVICES[0]]
STACK = "local"  # what `expanded` calls the stack
HELD_SECONDS = 20
CODE = re.compile(r"`(\w+)`")


@pytest.fixture(scope="module")
def lines(host: Host, invoker: Invoker, replays: dict[str, list[str]]) -> list[tuple[Metric, dict[str, Any]]]:
    """What the containers write over every stored state, and over what no stored state brings about."""
    assert replays
    with connect(host.settings.mongodb_uri) as client:
        lose_a_claim(client, invoker)
        break_a_step(client, invoker)
    invoker(POLLER, {"ticks": 1})
    return list(written(invoker.log()))


def lose_a_claim(client: MongoClient[dict[str, Any]], invoker: Invoker) -> None:
    """Another poller takes a task over while the first one still waits for Jimeng's answer."""
    task_id = submitted(invoker, "a boat [[sim poll_delay=3]]")
    tasks = client[DATABASE][TASKS]
    before = tasks.find_one_and_update({"task_id": task_id}, {"$set": {"next_poll_at": 0}})
    assert before
    polling = threading.Thread(target=invoker, args=(POLLER, {"task_ids": [task_id], "ticks": 1}))
    polling.start()
    claimed = {"task_id": task_id, "claim_id": {"$nin": [None, before.get("claim_id")]}}
    deadline = time.monotonic() + HELD_SECONDS
    while not tasks.update_one(claimed, {"$set": {"claim_id": "another"}}).matched_count:
        assert time.monotonic() < deadline, "the task was not claimed"
        time.sleep(0.05)
    polling.join()


def break_a_step(client: MongoClient[dict[str, Any]], invoker: Invoker) -> None:
    """A stored task has more files than media, as no version of this service writes it."""
    task_id = submitted(invoker, "a boat")
    media = {"original_urls": ["http://127.0.0.1:1/"], "files": [{"attempts": 0}, {"attempts": 0}]}
    client[DATABASE][TASKS].update_one({"task_id": task_id}, {"$set": {**media, "next_poll_at": 0}})
    invoker(POLLER, {"task_ids": [task_id], "ticks": 1})


def accepted(invoker: Invoker, prompt: str) -> str:
    body = {"prompt": prompt, "task_id": uuid.uuid4().hex, "server_id": SERVICES[0]}
    reply = invoker("ImagesFunction", http_event("images-generations", body=json.dumps(body)))
    assert reply["statusCode"] == 200, reply
    return body["task_id"]


def submitted(invoker: Invoker, prompt: str) -> str:
    task_id = accepted(invoker, prompt)
    assert invoker(POLLER, {"task_ids": [task_id], "ticks": 1})["submitted"] == 1
    return task_id


@pytest.fixture(scope="module")
def metrics(lines: list[tuple[Metric, dict[str, Any]]]) -> set[Metric]:
    return {metric for metric, _ in lines}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return expanded("ServiceIds=a-1,b-2")


def test_every_alarm_looks_at_a_metric_that_is_written(template: dict[str, Any], metrics: set[Metric]) -> None:
    alarms = of_type(template, "AWS::CloudWatch::Alarm").values()
    looked_at = list(watched(alarms))
    assert {metric for metric, _ in looked_at} - metrics == set()
    assert {values["service"] for _, values in looked_at} == {STACK}
    assert {values["server_id"] for _, values in looked_at if "server_id" in values} == {"a-1", "b-2"}


def test_alarms_on_errors_name_errors_of_the_product(template: dict[str, Any]) -> None:
    looked_at = watched(of_type(template, "AWS::CloudWatch::Alarm").values())
    named = {values["error"] for _, values in looked_at if "error" in values}
    assert named
    assert named <= {kind.name for kind in all_errors()}


def test_the_dashboard_shows_every_metric_that_is_written_and_no_other(
    template: dict[str, Any], metrics: set[Metric]
) -> None:
    body = json.loads(of_type(template, "AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"])
    on_it = list(shown(body["widgets"]))
    assert {metric for metric, _ in on_it} == metrics
    assert {service for _, service in on_it} == {STACK}


def test_every_metric_carries_the_name_of_the_stack(lines: list[tuple[Metric, dict[str, Any]]]) -> None:
    assert {line["service"] for _, line in lines} == {STACK}


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_readme_names_every_metric_with_its_dimensions(readme: str, metrics: set[Metric]) -> None:
    lines = (ROOT / readme).read_text(encoding="utf-8").splitlines()
    rows = [[CODE.findall(cell) for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| `")]
    names = {metric.name for metric in metrics}
    told = {Metric(name, frozenset({"service", *row[1]})) for row in rows for name in row[0] if name in names}
    assert told == metrics


def all_errors(kind: type[JimengTasksError] = JimengTasksError) -> set[type[JimengTasksError]]:
    return {kind}.union(*(all_errors(below) for below in kind.__subclasses__()))
