"""Markdown, read by a parser that is not ours."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent_eval.report.markdown import MAX_LENGTH, escaped, markdown
from tests.report.support import NASTY, crash, metric, result, run, turn

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tokens(text: str) -> list[Token]:
    return [inner for token in PARSER.parse(text) for inner in (token, *(token.children or ()))]


def shown(text: str) -> str:
    """The text that a reader sees of one line."""
    kinds = ("text", "text_special", "code_inline")
    return "".join(token.content for token in tokens(text) if token.type in kinds)


HARMLESS = {"paragraph_open", "paragraph_close", "inline", "text", "text_special", "softbreak"}
WORDS = [
    "a | b",
    "`code` ``more`` `",
    "**bold** _it_ __b__ ~~gone~~",
    "[link](http://x.y) ![image](http://x.y/z.png)",
    "<img src=x onerror=alert(1)> <!-- c --> &lt; &amp;",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "\\| \\` \\\\",
    "tool_trajectory_avg_score",
    "<http://x.y>",
    "---",
    "===",
    "+ one",
    "1) one",
    NASTY,
]


@pytest.mark.parametrize("said", WORDS)
def test_a_text_is_shown_as_it_is(said: str) -> None:
    assert {token.type for token in tokens(escaped(said))} <= HARMLESS
    assert shown(escaped(said)).replace("\u200b", "") == said


@given(st.text(alphabet=st.sampled_from("ab1 |`*_~[]()<>&#@!\\-+=.:/\n\"'\x1b")))
def test_no_text_becomes_markup_or_another_cell(said: str) -> None:
    assert {token.type for token in tokens(escaped(said))} <= HARMLESS
    table = tokens(f"| x | y |\n|---|---|\n| {escaped(said)} | end |\n")
    assert sum(token.type == "td_open" for token in table) == 2
    assert "html_inline" not in {token.type for token in table}


@pytest.mark.parametrize(
    "said",
    ["@octocat", "ask @org/team now", "see #123", "GH-12", "https://evil.example/x", "www.evil.example"],
)
def test_nobody_is_notified_and_nothing_is_linked(said: str) -> None:
    """Forges look for these in the text that is shown."""
    seen = shown(escaped(said))
    assert not re.search(r"@\w|#\d|GH-\d|://\w|www\.", seen)
    assert seen.replace("\u200b", "") == said


def test_what_did_not_pass_comes_first_with_its_causes() -> None:
    text = markdown(
        [
            result(
                run("fine", turn("hi", "hi"), metrics=[metric(1.0)]),
                run("poor", turn("hi", "no"), metrics=[metric(0.2)]),
                crash("broken"),
            )
        ]
    )
    headings = re.findall("^#+ (.*)", text, re.MULTILINE)
    assert headings == ["❌ desk: 1 of 3 cases passed", "❌ poor", "❌ broken"]
    assert "response_match_score 0.20 / 0.80" in text
    assert re.search(r"AE\d+: .*\n +<br>Change: ", text)
    assert "the run crashed: RuntimeError: socket reset" in text
    rows = [token.content for token in PARSER.parse(text) if token.type == "inline"]
    assert "fine" in rows[rows.index("Scores") :]


def test_a_passed_result_says_so() -> None:
    text = markdown([result(run("fine", turn("hi", "hi"), metrics=[metric(1.0)]))])
    assert text.startswith("## ✅ desk: 1 of 1 case passed")


def test_a_long_result_fits_into_a_comment_and_counts_what_it_leaves_out() -> None:
    records = [run(f"case-{number}", turn("hi", "no" * 300), metrics=[metric(0.1)]) for number in range(500)]
    text = markdown([result(*records), result(*records, eval_set_id="another")])
    assert len(text) <= MAX_LENGTH
    assert len(re.findall("^### ", text, re.MULTILINE)) > 20
    left_out = sum(int(found) for found in re.findall(r"_(\d+) more cases that did not pass", text))
    assert len(re.findall("^### ", text, re.MULTILINE)) + left_out == 1000
    assert "## ❌ another: 0 of 500 cases passed" in text
