"""What is in the page of results, before a browser shows it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from agent_eval.compare.comparison import compare
from agent_eval.report.html import result as result_module
from agent_eval.report.html.calls import Mark, aligned
from agent_eval.report.html.comparison import comparison_page
from agent_eval.report.html.result import result_page
from agent_eval.report.html.runs import MAX_RUN, MAX_TEXT
from agent_eval.schema.config import MatchType
from agent_eval.schema.trace import FunctionCall
from tests.report.support import CONTROLS, NASTY, crash, expects, metric, run, source, turn
from tests.report.support import result as result_of


class Page(HTMLParser):
    """A page read by a parser that is not ours: its elements, and what its blocks of data hold."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.blocks: dict[str, Any] = {}
        self.policy = ""
        self._block = ""
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        self._block = (named.get("id") or "") if tag == "script" else ""
        if tag == "meta" and named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""

    def handle_data(self, data: str) -> None:
        if self._block:
            self.blocks[self._block] = json.loads(data)
            self._block = ""

    @property
    def index(self) -> Any:
        return self.blocks["index"]

    def run(self, case: int = 0, index: int = 0) -> Any:
        return self.blocks[f"case-{case}"]["runs"][str(index)]


def test_texts_from_outside_are_data_and_never_markup() -> None:
    nasty = NASTY + CONTROLS
    record = run(
        f"case {nasty}",
        turn(nasty, nasty, (nasty, {nasty: nasty}), result={nasty: nasty}),
        expected=[expects(nasty, (nasty, {nasty: "x"}))],
        metrics=[metric(0.0, rubric_scores=[{"rubric_id": nasty, "rationale": nasty, "score": 0.0}])],
    )
    plain = run("case", turn("hi", "hi"), metrics=[metric(1.0)])
    page, innocent = (
        result_page([source(one, eval_set_id=name)]) for one, name in ((record, nasty), (plain, "set"))
    )
    assert Page(page).tags == Page(innocent).tags
    assert b"\x1b" not in page
    assert b"\x00" not in page
    assert "\u202e" not in page.decode()
    assert Page(page).run()["turns"][0]["answer"] == NASTY + r"\x1b[31mred\x1b[0m \u202egnp.exe \x00 " + (
        "\u2028 \\ud800"
    )


def test_nothing_is_fetched_and_no_script_but_the_page_s_own_runs() -> None:
    page = result_page([source(run("a", turn("hi", "hi"), metrics=[metric(1.0)]))])
    policy = Page(page).policy
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(rb"""(src|href)=(?!"#)|url\(|@import|innerHTML|insertAdjacentHTML""", page)


def test_a_case_has_a_square_a_run_and_its_interval() -> None:
    records = [
        run("a", turn("hi", "hi"), metrics=[metric(1.0)]),
        run("a", turn("hi", "no"), metrics=[metric(0.0)], run_index=1),
        crash("a", run_index=2),
        run("a", turn("hi", "hi"), metrics=[metric(None, reason="quota")], run_index=3),
    ]
    (row,) = Page(result_page([source(*records)])).index["cases"]
    assert row["runs"] == [[0, "PASSED"], [1, "FAILED"], [2, "CRASHED"], [3, "NOT_EVALUATED"]]
    assert (row["verdict"], row["passed"], row["scored"], row["crashed"]) == ("FAILED", 1, 2, 1)
    assert row["interval"] == list(result_of(*records).cases[0].interval or ())


def test_scores_are_counted_for_their_distribution() -> None:
    records = [
        run("a", turn("hi", "hi"), metrics=[metric(score)], run_index=index)
        for index, score in enumerate([0.0, 0.04, 0.5, 1.0, 1.0])
    ]
    (drawn,) = Page(result_page([source(*records)])).index["results"][0]["distributions"]
    assert [sum(one.values()) for one in drawn["bins"]] == [2, *[0] * 9, 1, *[0] * 8, 2]
    assert (drawn["threshold"], drawn["scored"], drawn["unscored"]) == (0.8, 5, 0)


def test_an_error_is_there_with_its_traceback_and_its_cause() -> None:
    page = Page(result_page([source(crash("a", "socket reset"))]))
    assert page.run()["error"]["traceback"].startswith("Traceback")
    assert page.blocks["case-0"]["case"]["causes"][0]["code"].startswith("AE")


def test_what_went_wrong_stands_where_it_came() -> None:
    one = turn("hi", "It has", ("find", {}))
    one["incidents"] = [
        {"author": "bot", "code": "UNAVAILABLE", "message": NASTY, "step": 0},
        {"author": "bot", "code": "MAX_TOKENS", "step": 2},
    ]
    page = Page(result_page([source(run("case", one, metrics=[metric(1.0)]))]))
    (shown,) = page.run()["turns"]
    assert [step["kind"] for step in shown["steps"]] == ["incident", "call", "incident"]
    assert [step.get("text") for step in shown["steps"][::2]] == [f"UNAVAILABLE: {NASTY}", "MAX_TOKENS"]
    assert page.tags == Page(result_page([source(run("case", turn("hi", "it"), metrics=[metric(1.0)]))])).tags


def test_a_long_text_is_cut_and_says_so() -> None:
    record = run("a", turn("hi", "x" * (MAX_TEXT + 5)), metrics=[metric(1.0)])
    answer = Page(result_page([source(record)])).run()["turns"][0]["answer"]
    assert answer == "x" * MAX_TEXT + "… [5 more characters are in the journal]"


def test_turns_beyond_the_limit_of_a_run_are_counted() -> None:
    turns = [turn("hi", "x" * MAX_TEXT)] * 30
    shown = Page(result_page([source(run("a", *turns, metrics=[metric(1.0)]))])).run()
    assert 0 < len(shown["turns"]) < 30
    assert len(shown["turns"]) + shown["turnsLeftOut"] == 30
    assert len(json.dumps(shown)) < MAX_RUN


def test_when_the_page_is_full_the_runs_of_passed_cases_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    good = [run(f"good-{number}", turn("hi", "y" * 500), metrics=[metric(1.0)]) for number in range(5)]
    bad = run("bad", turn("hi", "x" * 500), metrics=[metric(0.0)])
    monkeypatch.setattr(result_module, "MAX_RUNS", 4000)
    page = Page(result_page([source(*good, bad)]))
    kept = {place for place in range(6) if page.blocks[f"case-{place}"]["runs"]}
    assert kept == {0, 1, 5}


ROWS = [
    # expected, made, match type, rows: mark, place of the expected call, place of the one made
    ("ab", "ab", "EXACT", "same00 same11"),
    ("ab", "axb", "EXACT", "same00 extra-1 same12"),
    ("abc", "ac", "EXACT", "same00 missing1- same21"),
    ("ab", "ba", "EXACT", "missing0- same10 extra-1"),
    ("ab", "ba", "ANY_ORDER", "same01 same10"),
    ("ab", "cb", "ANY_ORDER", "missing0- same11 extra-0"),
    ("a", "A", "EXACT", "altered00"),
    ("ab", "xAb", "EXACT", "extra-0 altered01 same12"),
    ("", "a", "EXACT", "extra-0"),
    ("a", "", "IN_ORDER", "missing0-"),
    ("", "", "EXACT", ""),
]


@pytest.mark.parametrize(("expected", "made", "match_type", "rows"), ROWS)
def test_calls_are_laid_beside_the_expected_ones(
    expected: str, made: str, match_type: str, rows: str
) -> None:
    """A letter is a tool; a capital is the same tool with other arguments."""

    def calls(letters: str) -> list[FunctionCall]:
        return [FunctionCall(name=one.lower(), args={"upper": one.isupper()}) for one in letters]

    found = aligned(calls(expected), calls(made), MatchType[match_type])
    told = [f"{mark}{'-' if one is None else one}{'-' if two is None else two}" for mark, one, two in found]
    assert " ".join(told) == rows


def test_ignored_arguments_make_no_difference() -> None:
    one, other = FunctionCall(name="f", args={"at": 1}), FunctionCall(name="f", args={"at": 2})
    assert aligned([one], [other], ignored=["at"]) == [(Mark.SAME, 0, 0)]


def test_a_result_without_a_journal_has_its_cases_and_no_runs() -> None:
    page = Page(result_page([result_module.Source(result_of(crash("a")), lambda: iter(()), "desk.json")]))
    assert page.blocks["case-0"]["runs"] == {}
    assert page.index["results"][0]["path"] == "desk.json"


def test_a_comparison_has_its_goalposts_and_every_case() -> None:
    before = result_of(run("a", turn("hi", "hi"), metrics=[metric(1.0)]))
    after = result_of(run("a", turn("hi", NASTY), metrics=[metric(0.0, name="safety_v1")]))
    index = Page(comparison_page([compare(before, after)])).index
    assert {one["what"] for one in index["comparisons"][0]["goalposts"]} == {
        "response_match_score",
        "safety_v1",
    }
    assert [(one["id"], one["change"], one["verdicts"]) for one in index["cases"]] == [
        ("a", "regressed", ["PASSED", "FAILED"])
    ]
