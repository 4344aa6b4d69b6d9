from __future__ import annotations

from agent_eval.compare.comparison import compare
from agent_eval.report.comparison_markdown import comparison_markdown
from tests.compare.test_comparison import case, changed, result

from tests.compare.test_comparison import CRITERIA, MATCH_TYPE  # isort: skip


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
    assert "match_type changed" in markdown
