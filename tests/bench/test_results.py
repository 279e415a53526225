"""What the benchmarks keep, and that their documents and packages stay in order."""

import json
import re
from pathlib import Path

import pytest

from bench.__main__ import ROWS
from bench.agenda_queue import HOME
from bench.figures import Figure, Goal, load, percentile, ratio_at_least, ratio_at_most, save, value_at_most
from bench.report import DOCUMENTS, TABLES, write
from local.processes import ROOT

FIELDS = {"value", "unit", "baseline", "ratio", "command", "against", "goal", "met"}


def figure(name: str = "speed", value: float = 30.0, baseline: float | None = 10.0) -> Figure:
    return Figure(name=name, value=value, unit="s", baseline=baseline, against="something", goal=ratio_at_most(2))


def test_a_ratio_is_value_by_baseline() -> None:
    assert figure().ratio == 3
    assert figure(baseline=None).ratio is None


@pytest.mark.parametrize(
    ("goal", "is_met"),
    [(ratio_at_most(3), True), (ratio_at_most(2.9), False), (ratio_at_least(3), True), (value_at_most(29), False)],
)
def test_a_goal_limits_the_ratio_or_the_value(goal: Goal, is_met: bool) -> None:
    assert goal.is_met(figure()) is is_met


def test_what_could_not_be_compared_is_not_met() -> None:
    assert not ratio_at_most(2).is_met(figure(baseline=None))


def test_a_percentile_is_one_of_the_values() -> None:
    values = list(range(1, 101))

    assert [percentile(values, share) for share in (0.5, 0.95, 0.99, 1)] == [50, 95, 99, 100]
    assert percentile([7], 0.5) == 7


def test_a_row_replaces_its_own_figures_only(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    save({"a": [figure("old"), figure("same")], "b": [figure("other")]}, path)

    save({"a": [figure("same", value=40.0)]}, path)

    kept = load(path)
    assert kept.keys() == {"same", "other"}
    assert kept["same"]["value"] == 40
    assert kept["same"]["command"] == "make bench ROWS=a"


def test_the_kept_results_have_one_form() -> None:
    for name, record in load().items():
        assert record.keys() == FIELDS, name
        assert isinstance(record["value"], int | float)
        assert record["command"].removeprefix("make bench ROWS=") in ROWS
        if record["baseline"]:
            assert record["ratio"] == pytest.approx(record["value"] / record["baseline"], rel=0.01)


def test_the_documents_show_the_kept_results(tmp_path: Path) -> None:
    copies = tuple(tmp_path / document.name for document in DOCUMENTS)
    for document, copy in zip(DOCUMENTS, copies, strict=True):
        copy.write_text(document.read_text())

    write(load(), copies)

    for document, copy in zip(DOCUMENTS, copies, strict=True):
        assert copy.read_text() == document.read_text(), f"{document.name} is older than the results: make bench"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_a_document_has_every_table_and_every_chart(document: Path) -> None:
    text = document.read_text()

    assert set(re.findall(r"<!-- bench:(\w+) -->", text)) == TABLES.keys()
    charts = {path.name for path in (ROOT / "docs" / "performance").glob("*.svg")}
    assert charts <= set(re.findall(r"\(performance/([\w-]+\.svg)\)", text))


def test_the_packages_of_the_other_queue_are_locked_without_a_host() -> None:
    lock = (HOME / "package-lock.json").read_text()

    assert not re.search(r'"resolved"|https?:', lock)
    packages = [entry for name, entry in json.loads(lock)["packages"].items() if name]
    assert packages
    assert all(entry["integrity"].startswith("sha512-") for entry in packages)
