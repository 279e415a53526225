"""Both READMEs say what is so: settings, errors, routes, commands and paths are compared with the product."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from jimeng_tasks.bootstrap import Container, create_api
from jimeng_tasks.exceptions import JimengTasksError
from jimeng_tasks.service.work.counters import COUNTERS
from jimeng_tasks.settings import Settings
from local import fixtures

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")
EMPTY = "–"
PRICED = ("lambda_gb_second_x86_64", "lambda_request", "http_api_request", "scheduler_invocation", "log_gigabyte")
COMMENT = re.compile(r"(^|\s+)(#|%%) .*$", re.MULTILINE)


class Page:
    """A Markdown page, taken apart."""

    def __init__(self, name: str) -> None:
        self.text = (ROOT / name).read_text(encoding="utf-8")
        self.blocks = re.findall(r"^```(\w+)\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)
        self.prose = re.sub(r"^```.*?^```$", "", self.text, flags=re.MULTILINE | re.DOTALL)
        self.headings = re.findall(r"^(#+) ", self.prose, re.MULTILINE)
        self.spans = re.findall(r"`([^`\n]+)`", self.prose)
        self.links = re.findall(r"\]\(([^)\s]+)\)", self.prose)
        self.rows = [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in self.prose.splitlines()
            if line.startswith("| ")
        ]

    @property
    def code(self) -> Iterator[str]:
        """Everything that stands for code, in blocks and in lines."""
        yield from (block for _, block in self.blocks)
        yield from self.spans

    def rows_about(self, pattern: str) -> list[list[str]]:
        """The table rows whose first cell is code of this form, the code without its quotes."""
        matches = ((re.fullmatch(f"`({pattern})`", row[0]), row) for row in self.rows)
        return [[match[1], *row[1:]] for match, row in matches if match]

    def settings(self) -> list[list[str]]:
        """Variable, default, allowed values, meaning."""
        return self.rows_about("[A-Z][A-Z0-9_]+")


@pytest.fixture(params=READMES)
def page(request: pytest.FixtureRequest) -> Page:
    return Page(request.param)


def test_the_settings_tables_name_every_variable_in_order(page: Page) -> None:
    assert [row[0] for row in page.settings()] == [spec.name.upper() for spec in fields(Settings)]


def test_the_settings_tables_give_every_default(page: Page) -> None:
    specs = {spec.name.upper(): spec for spec in fields(Settings)}

    for name, default, *_ in page.settings():
        expected = specs[name].default
        if default == EMPTY:
            assert expected in ("", ()), name
        else:
            assert specs[name].metadata["parse"](default.strip("`")) == expected, name


def _takes(name: str, number: int) -> bool:
    parse: Any = next(spec for spec in fields(Settings) if spec.name.upper() == name).metadata["parse"]
    try:
        parse(str(number))
    except ValueError:
        return False
    return True


def test_the_settings_tables_give_the_limits_of_every_number(page: Page) -> None:
    limits = {name: [int(part) for part in re.findall(r"\d+", allowed)] for name, _, allowed, _ in page.settings()}

    for spec in fields(Settings):
        if type(spec.default) is int:
            name = spec.name.upper()
            least, most = limits[name]
            taken = [_takes(name, number) for number in (least - 1, least, most, most + 1)]
            assert taken == [False, True, True, False], name


def _all_errors(error: type[JimengTasksError] = JimengTasksError) -> Iterator[type[JimengTasksError]]:
    yield error
    for kind in error.__subclasses__():
        yield from _all_errors(kind)


def test_the_error_table_is_that_of_the_exceptions(page: Page) -> None:
    rows = [row for row in page.rows_about("[a-z_]+") if len(row) == 5 and row[1].isdigit()]

    shown = [(name, int(status), int(code)) for name, status, code, *_ in rows]
    assert len(shown) == len(set(shown))
    assert set(shown) == {(error.name, error.http_status, error.code) for error in _all_errors()}


def test_the_route_table_is_that_of_the_openapi_document(page: Page) -> None:
    document = create_api(Container(Settings())).openapi()

    actual = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert {row[0] for row in page.rows_about("(?:GET|POST) /[^ ]*")} == actual


def test_every_address_in_the_examples_is_a_route(page: Page) -> None:
    paths = {*create_api(Container(Settings())).openapi()["paths"], "/docs"}

    called = set(re.findall(r"http://127\.0\.0\.1:8000(/[\w/-]+)", page.text))
    assert called <= paths
    assert paths - called == set(), "a route without an example"


def test_every_make_target_exists(page: Page) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))

    named = {target for code in page.code for target in re.findall(r"\bmake ([a-z-]+)", code)}
    assert {"run", "demo", "test", "check", "replay", "indexes"} <= named <= targets


def test_every_path_exists(page: Page) -> None:
    in_spans = {span for span in page.spans if re.fullmatch(r"[\w.-]+(/[\w.-]+)*(/|\.(py|md|ya?ml|toml))", span)}
    in_links = {link for link in page.links if "://" not in link}

    labels = {match[1] for match in re.finditer(r"\[`([^`]+)`\]\(", page.prose)}
    missing = [path for path in (in_spans - labels) | in_links if not (ROOT / path).exists()]
    assert missing == []
    assert len(in_links) > 30


def test_every_label_of_a_link_is_the_end_of_its_path(page: Page) -> None:
    links = re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", page.prose)

    assert [label for label, path in links if not path.endswith(label)] == []


def test_every_named_state_has_a_fixture(page: Page) -> None:
    named = {state for code in page.code for state in re.findall(r"STATE=([\w-]+)", code)}

    assert named
    assert named <= set(fixtures.names())


def test_the_summary_of_an_invocation_is_told_whole(page: Page) -> None:
    told = ", ".join(f"`{name}`" for name in ("server_id", *COUNTERS, "stop_reason", "duration_ms"))

    assert told in page.prose.replace("\n", " ").replace("、", ", ")


def test_the_bill_of_a_month_adds_up_and_takes_the_prices_of_the_cost_command(page: Page) -> None:
    bill = [row for row in page.rows if len(row) == 5 and re.fullmatch(r"\d+\.\d\d", row[4])]
    usd = json.loads((ROOT / "bench" / "prices.json").read_text(encoding="utf-8"))["usd"]
    *items, together = bill

    for column in (3, 4):
        assert sum(float(row[column]) for row in items) == pytest.approx(float(together[column]), abs=0.005)
    assert [float(row[1]) for row in items[: len(PRICED)]] == [usd[name] for name in PRICED]
    assert f"{usd['lambda_gb_second_arm64']:.10f}" in page.prose


def test_both_languages_have_the_same_headings_code_and_tables() -> None:
    english, chinese = map(Page, READMES)

    assert english.headings == chinese.headings
    assert [len(row) for row in english.rows] == [len(row) for row in chinese.rows]
    assert _without_comments(english) == _without_comments(chinese)
    assert sorted(english.links[1:]) == sorted(chinese.links[1:])


def test_both_languages_name_the_same_things() -> None:
    english, chinese = (set(Page(name).spans) for name in READMES)

    assert english ^ chinese == set()


def _without_comments(page: Page) -> list[tuple[str, str]]:
    return [(language, COMMENT.sub("", code)) for language, code in page.blocks]
