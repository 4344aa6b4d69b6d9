"""Where a response is cut, and where not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval.metrics.judged.sentences import sentences_of


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        pytest.param("Apples are red. Pears are green!", ["Apples are red.", "Pears are green!"], id="two"),
        pytest.param("One only", ["One only"], id="without an end"),
        pytest.param("", [], id="empty"),
        pytest.param(" \n\n---\n* * *\n👍\n", [], id="no letter or digit"),
        pytest.param(
            "Three kinds:\n1. Red ones. They are sweet.\n* Green ones.\n\n## Prices\n- 3 EUR",
            ["Three kinds:", "1. Red ones.", "They are sweet.", "* Green ones.", "## Prices", "- 3 EUR"],
            id="list and headings",
        ),
        pytest.param(
            "Dr. Who paid 3.50 EUR, e.g. for tea. No. 5 is U.S. Army issue.",
            ["Dr. Who paid 3.50 EUR, e.g. for tea.", "No. 5 is U.S. Army issue."],
            id="abbreviations and numbers",
        ),
        pytest.param('He said "No." Then he left.', ['He said "No."', "Then he left."], id="quotation"),
        pytest.param("Is it? yes it is. ok", ["Is it? yes it is. ok"], id="a small letter goes on"),
        pytest.param("**Bold.** _Then_ more.", ["**Bold.**", "_Then_ more."], id="markdown"),
        pytest.param("これは本です。あれは？はい！", ["これは本です。", "あれは？", "はい！"], id="Japanese"),
        pytest.param("Это раз. Это два.", ["Это раз.", "Это два."], id="Russian"),
        pytest.param(
            "Prices:\n| a | b |\n|---|---|\n| 1 | 2. Yes |\nDone.",
            ["Prices:", "| a | b |\n|---|---|\n| 1 | 2. Yes |", "Done."],
            id="table",
        ),
        pytest.param(
            "Run:\n```py\nx = 1.\n\ny = 2\n```\nDone.",
            ["Run:", "```py\nx = 1.\n\ny = 2\n```", "Done."],
            id="code",
        ),
        pytest.param("```\nnot closed. Really", ["```\nnot closed. Really"], id="code that is not closed"),
        pytest.param("It is out. 3 more follow.", ["It is out.", "3 more follow."], id="a number begins"),
        pytest.param("It is 2.0. 3 follow.", ["It is 2.0. 3 follow."], id="a number may go on"),
    ],
)  # fmt: skip
def test_a_response_is_cut_into_sentences(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences


@given(st.text(alphabet=st.sampled_from("aB1. !?。\n|`*-#"), max_size=80))
def test_nothing_is_lost(text: str) -> None:
    """Every letter and digit is in a sentence, in order."""

    def essence(text: str) -> str:
        return "".join(char for char in text if char.isalnum())

    assert essence("".join(sentences_of(text))) == essence(text)
