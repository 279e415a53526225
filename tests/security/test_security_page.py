"""SECURITY.md says the same in both languages, and names only what exists."""

import re

from local.processes import ROOT
from tests.unit.test_readme import Page

PAGES = ("SECURITY.md", "SECURITY.zh-CN.md")


def test_both_languages_say_the_same() -> None:
    english, chinese = map(Page, PAGES)
    assert english.headings == chinese.headings
    assert [len(row) for row in english.rows] == [len(row) for row in chinese.rows]
    assert english.blocks == chinese.blocks
    assert sorted(english.spans) == sorted(chinese.spans)


def test_every_path_and_target_exists() -> None:
    spans = Page(PAGES[0]).spans
    assert [span for span in spans if "/" in span and not (ROOT / span).exists()] == []
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {span.removeprefix("make ") for span in spans if span.startswith("make ")}
    assert {target for target in named if not re.search(rf"(?m)^{target}:", targets)} == set()
