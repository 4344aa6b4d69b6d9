from __future__ import annotations

import pytest

from agent_eval.compare.comparison import compare
from agent_eval.report.comparison_markdown import comparison_markdown, escaped
from tests.compare.test_comparison import case, changed, result

from tests.compare.test_comparison import CRITERIA, MATCH_TYPE  # isort: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a|b", "a\\|b"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("[link](http://x)", "\\[link\\]\\(http://x\\)"),
        ("two\nlines", "two lines"),
        ("@team", "&#64;team"),
        ("`code` *bold* _it_ ~no~ #1", "\\`code\\` \\*bold\\* \\_it\\_ \\~no\\~ \\#1"),
        ("back\\slash", "back\\\\slash"),
        ("\x1b[31mred", "\\\\x1b\\[31mred"),
    ],
)
def test_text_from_outside_is_shown_and_does_nothing(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_names_of_cases_cannot_break_the_table() -> None:
    name = "a | b\n| <script> |"
    markdown = comparison_markdown([compare(result(case(name)), result(case(name)))])
    (row,) = [line for line in markdown.splitlines() if "unchanged" in line and line.startswith("|")]
    assert row.replace("\\|", "").count("|") == 6
    assert "<script>" not in markdown


def test_goalposts_come_before_any_case() -> None:
    after = result(case("one"), criteria=changed(CRITERIA, MATCH_TYPE, "IN_ORDER"))
    markdown = comparison_markdown([compare(result(case("one")), after)])
    assert markdown.index("EXACT") < markdown.index("| change |")
    assert "not taken under the same conditions" in markdown
    assert "match\\_type changed" in markdown
