from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from agent_eval.metrics.base import EvalMetric, EvaluationResult
from agent_eval.metrics.response_match import ResponseMatchEvaluator, rouge_1, words
from agent_eval.schema.config import BaseCriterion
from agent_eval.schema.trace import Content, EvalStatus, Invocation, Part

REFERENCE = RougeScorer(["rouge1"], use_stemmer=True)

SENTENCES = st.lists(st.sampled_from(["Order", "orders", "ordered", "7", "7th", "ships.", "shipping"])).map(
    " ".join
)
ASCII_TEXTS = st.text(string.printable) | SENTENCES
ANY_TEXTS = st.text() | st.text("订单你好ก็ำကျေးកម្ពុ👍️é̂aA1 .")


def has_words(text: str) -> bool:
    return any(char.isascii() and char.isalnum() for char in text)


@given(ASCII_TEXTS.filter(has_words), ASCII_TEXTS)
def test_score_of_ascii_texts_is_that_of_rouge_score(candidate: str, reference: str) -> None:
    expected = REFERENCE.score(target=reference, prediction=candidate)["rouge1"]
    assert rouge_1(candidate, reference) == pytest.approx(tuple(expected), abs=1e-12)


@given(ANY_TEXTS, ANY_TEXTS)
def test_scores_are_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    there, back = rouge_1(one, other), rouge_1(other, one)
    assert there.fmeasure == pytest.approx(back.fmeasure, abs=1e-12)
    assert (there.precision, there.recall) == (back.recall, back.precision)
    assert all(0 <= share <= 1 for share in there)


@given(ANY_TEXTS)
def test_a_text_matches_itself_unless_it_is_blank(text: str) -> None:
    assert rouge_1(text, text).fmeasure == pytest.approx(float(bool(text.strip())))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Ships, SHIPPED!", ["ship", "ship"], id="case, punctuation and endings"),
        pytest.param("a_b-c", ["a", "b", "c"], id="underscore and hyphen part words"),
        pytest.param("订单 42", ["订", "单", "42"], id="Chinese by character"),
        pytest.param("สวัสดี", ["ส", "วั", "ส", "ดี"], id="Thai by base character with its marks"),
        pytest.param("ﬁles Ｆｉｌｅ", ["file", "file"], id="compatibility forms"),
        pytest.param("café", ["café"], id="accented words are not stemmed"),
        pytest.param("☀️ \u0301", [], id="marks alone are no word"),
    ],
)
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_equal_emoji_match_and_different_ones_do_not() -> None:
    assert rouge_1("👍", "👍").fmeasure == 1
    assert rouge_1("☀️", "☁️").fmeasure == 0


def test_thoughts_are_not_read() -> None:
    said = Content(parts=[Part(text="Let me think.", thought=True), Part(text="On its way.")])
    result = evaluate([said], [Content(parts=[Part(text="On its way.")])])
    assert result.overall_score == 1


def test_no_final_response_scores_0() -> None:
    assert evaluate([None], [Content(parts=[Part(text="Yes.")])]).overall_score == 0


def test_no_turns_are_not_evaluated() -> None:
    result = evaluate([], [])
    assert (result.overall_score, result.overall_eval_status) == (None, EvalStatus.NOT_EVALUATED)


def test_case_without_expected_turns_is_refused() -> None:
    with pytest.raises(ValueError, match="the case has none"):
        evaluate([None], None)


def evaluate(actual: list[Content | None], expected: list[Content | None] | None) -> EvaluationResult:
    metric = EvalMetric(metric_name="response_match_score", criterion=BaseCriterion(threshold=0.8))
    return ResponseMatchEvaluator(metric).evaluate_invocations(
        [turn(content) for content in actual],
        None if expected is None else [turn(content) for content in expected],
    )


def turn(final_response: Content | None) -> Invocation:
    return Invocation(user_content=Content(parts=[Part(text="q")]), final_response=final_response)
