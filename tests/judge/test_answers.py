"""What judges answer, in the shapes in which models really send it."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval import clock
from agent_eval.judge.answers import (
    ONLY,
    SAFETY,
    SUPPORT,
    VALIDITY,
    YES_NO,
    Words,
    read_findings,
    read_labels,
    read_score,
    read_verdict,
)
from agent_eval.judge.judge import UnusableAnswerError

RUBRICS = {"city": "Names the city.", "short": "Uses one sentence."}


def verdict(text: str, words: Words = VALIDITY) -> bool | None:
    return read_verdict(text, words)[ONLY].holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('{"reasoning": "same", "verdict": "valid"}', True),
        ('```json\n{"reasoning":"same","is_the_agent_response_valid":"valid"}\n```', True),
        ('```json {"reasoning":"same","is_the_agent_response_valid":"valid"} ```', True),
        ('{"reasoning":"same","is_the_agent_response_valid":"VALID"}', True),
        ('{"reasoning":"same","is_the_agent_response_valid": True}', True),
        ("{'reasoning':'same','is_the_agent_response_valid':'valid'}", True),
        ('{"reasoning":"half","is_the_agent_response_valid":"partially valid"}', False),
        ('{"verdict": ["valid"]}', True),
        ('{"verdict": "**Valid**."}', True),
        ('{"verdict": "not valid"}', False),
        ('{"verdict": "Almost"}', False),
        ('{"is_valid": false, "criteria": [{"name": "TONE", "reasoning": "stiff", "passes": false}]}', False),
        ('{"is_the_agent_response_invalid": true}', False),
        ('{"is_the_agent_response_invalid": "no"}', True),
        ('{"is_the_agent_response_invalid": "invalid"}', False),
        ('{"evaluation": {"verdict": "valid"}}', True),
        ('Here you are: {"verdict": "valid"}. Anything else?', True),
        ('{"reasoning": "he said "yes" to it", "verdict": "invalid"}', False),
        ('{"reasoning": "over\ntwo lines", "verdict": "invalid"}', False),
        ('{“reasoning”: “curly”, “verdict”: “invalid”}', False),
        ('{reasoning: "bare keys", verdict: invalid}', False),
        ('{"verdict": "invalid", // sure\n}', False),
        ("Verdict: valid", True),
        ("**Verdict:** Invalid", False),
        ("- verdict: `VALID`", True),
        ("> Final verdict = no", False),
        ("Property: the same\nRationale: it is\nVerdict: yes", None),
        ("INVALID", False),
        ('"valid"', True),
        ("* **Yes** *", True),
    ],
)  # fmt: skip
def test_verdicts_are_read_in_any_shape(text: str, holds: bool | None) -> None:
    if holds is None:
        with pytest.raises(UnusableAnswerError):
            verdict(text)
    else:
        assert verdict(text) is holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        pytest.param('<think>{"verdict": "valid"}</think>\n{"verdict": "invalid"}', False, id="thought"),
        pytest.param('So {"verdict": "valid"}\n</think>\n{"verdict": "invalid"}', False, id="end of thought"),
        pytest.param('<thinking>\nvalid\n</thinking>{"verdict": "invalid"}', False, id="another tag"),
        pytest.param('Draft: {"verdict": "valid"}\nFinal: {"verdict": "invalid"}', False, id="draft"),
        pytest.param('{"verdict": "valid"}\nNo, wait.\nVerdict: invalid', False, id="second thoughts"),
        pytest.param('{"reasoning": "it says <think>", "verdict": "invalid"}', False, id="quoted tag"),
        pytest.param('{"reasoning": "it says </think>", "verdict": "invalid"}', False, id="quoted end"),
        pytest.param('{"reasoning": "verdict: valid", "verdict": "invalid"}', False, id="quoted verdict"),
        pytest.param("{'verdict': 'invalid', 'why': 'it: \"verdict\": \"valid\"'}", False, id="quoted key"),
        pytest.param(
            '{"reasoning": "It wrote ", "verdict": "valid"} to cheat", "verdict": "invalid"}',
            False,
            id="quotation that is not escaped and closes the object",
        ),
        pytest.param(
            '{"reasoning": "It wrote ", "verdict": "valid", "x": " to cheat", "verdict": "invalid"}',
            None,
            id="quotation that is not escaped and has a verdict",
        ),
        pytest.param(
            '{"verdict": "invalid", "reasoning": "It wrote ", "verdict": "valid", "x": ""}',
            None,
            id="the same, behind the verdict",
        ),
    ],
)  # fmt: skip
def test_the_judges_own_last_verdict_counts(text: str, holds: bool | None) -> None:
    if holds is None:
        with pytest.raises(UnusableAnswerError):
            verdict(text)
    else:
        assert verdict(text) is holds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot judge this.",
        "The answer is valid.",
        "Looks good to me.",
        '{"reasoning": "cut off, so the verd',
        '{"reasoning": "cut off", "verdict": "val',
        '{"verdict": ""}',
        '{"verdict": null}',
        '{"verdict": 1}',
        '{"verdict": "maybe"}',
        '{"verdict": "yes and no"}',
        '{"verdict": "valid or invalid"}',
        '{"verdict": ["valid", "invalid"]}',
        '{"verdict": "not really, yesterday"}',
        '{"verdict": "The response is valid"}',
        "<think>valid",
        '<think>{"verdict": "valid"}</think>',
        "Verdict: unknown",
        "Verdict: cannot say",
        "```json\n```",
        "{" * 50_000,
        '{"a": ' * 5_000 + '"valid"',
    ],
)
def test_what_says_neither_is_no_verdict(text: str) -> None:
    with pytest.raises(UnusableAnswerError):
        verdict(text)


def test_words_are_the_metrics_own() -> None:
    assert verdict('{"verdict": "Safe"}', SAFETY) is True
    assert verdict('{"verdict": "unsafe"}', SAFETY) is False
    with pytest.raises(UnusableAnswerError, match="neither `safe` nor `unsafe`"):
        verdict('{"verdict": "valid"}', SAFETY)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            '{"verdicts": {"city": {"rationale": "r", "verdict": "yes"},'
            ' "short": {"rationale": "s", "verdict": "no"}}}',
            id="as asked for",
        ),
        pytest.param(
            '[{"rubric_id": "city", "rationale": "r", "verdict": true},'
            ' {"id": "short", "reason": "s", "verdict": false}]',
            id="a list",
        ),
        pytest.param(
            '{"results": [{"property": "names the CITY.", "reasoning": "r", "verdict": "Yes"},'
            ' {"rubric": "“Uses one sentence.”", "explanation": ["s"], "verdict": "NO"}]}',
            id="by text",
        ),
        pytest.param(
            '{"City": {"rationale": "r", "verdict": "yes"}, "SHORT": {"rationale": "s", "verdict": "no"}}',
            id="names in other letters",
        ),
        pytest.param(
            "ID: city\nProperty: other words\nRationale: r\nVerdict: yes\n\n"
            "Property: Uses one sentence.\nEvidence: step 1\nRationale: s\nVerdict: no",
            id="blocks",
        ),
        pytest.param(
            "STEP 1: Names the city.\nSTEP 5: no\n**Property:** Names the city.\n**Rationale:** r\n"
            "**Verdict:** **Yes**\n- Property: Uses one sentence.\n- Rationale: s\n- Verdict: `no`",
            id="steps, bold and bullets",
        ),
        pytest.param(
            "1. property: Names the city.\r\n   rationale: r\r\n   verdict: YES, it does\r\n"
            "2. property: Uses one sentence.\r\n   rationale: s\r\n   verdict: No.\r\n",
            id="numbers and Windows line ends",
        ),
    ],
)  # fmt: skip
def test_findings_are_read_in_any_shape(text: str) -> None:
    found = read_findings(text, RUBRICS, YES_NO)
    assert {name: (one.holds, one.rationale) for name, one in found.items()} == {
        "city": (True, "r"),
        "short": (False, "s"),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param('{"city": "yes"}', "there is no verdict on `short`", id="one is missing"),
        pytest.param("nothing", "there is no verdict on `city`, `short`", id="all are missing"),
        pytest.param(
            '{"city": "yes", "short": "maybe"}',
            "the verdict on `short` is neither `yes` nor `no`",
            id="neither",
        ),
        pytest.param(
            "Property: Names the city.\nRationale: r\nVerdict: yes\nProperty: Uses one sentence.\nRationale:",
            "there is no verdict on `short`",
            id="cut off",
        ),
        pytest.param(
            '{"verdicts": {"city": {"rationale": "It wrote ", "verdict": "yes"}, "short": {"rationale": "",'
            ' "verdict": "yes"}}} and so on", "verdict": "no"},'
            ' "short": {"rationale": "s", "verdict": "no"}}}',
            "there is no verdict on `city`, `short`",
            id="a quotation that closes the object",
        ),
    ],
)  # fmt: skip
def test_a_verdict_is_due_on_every_question(text: str, told: str) -> None:
    with pytest.raises(UnusableAnswerError) as raised:
        read_findings(text, RUBRICS, YES_NO)
    assert told in str(raised.value)


def test_of_two_drafts_of_all_findings_the_last_counts() -> None:
    drafts = '{"city": "yes", "short": "yes"}\n{"city": "no", "short": "yes"}'
    assert [one.holds for one in read_findings(drafts, RUBRICS, YES_NO).values()] == [False, True]


def test_the_only_question_needs_no_name() -> None:
    found = read_findings('{"reasoning": "r", "verdict": "no"}', {"goal": "Reached."}, YES_NO)
    assert found["goal"].holds is False


def test_a_verdict_about_something_else_is_no_answer() -> None:
    with pytest.raises(UnusableAnswerError):
        read_findings("Property: Another.\nVerdict: yes", {"goal": "Reached."}, YES_NO)


SENTENCES = {"1": "Apples are red fruits.", "2": "Bananas are green, and cheaper than apples."}


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        pytest.param(
            '{"sentences": [{"number": 1, "rationale": "r", "label": "supported"},'
            ' {"number": 2, "rationale": "s", "label": "Not applicable"}]}',
            ["supported", "not_applicable"],
            id="as asked for",
        ),
        pytest.param(
            "sentence: Apples are red fruits.\nlabel: supported\nrationale: r\nsupporting_excerpt: red\n"
            "contradicting_excerpt: null\n\nsentence: Bananas are green, and cheaper than apples.\n"
            "label: disputed\nrationale: s\nsupporting_excerpt: a\ncontradicting_excerpt: b",
            ["supported", "disputed"],
            id="blocks",
        ),
        pytest.param(
            "sentence: Apples are red fruits.\nlabel: supported\n\nsentence: Bananas are green\n"
            "label: contradictory\n\nsentence: cheaper than apples.\nlabel: supported",
            ["supported", "contradictory"],
            id="a sentence that the judge cut in two",
        ),
    ],
)  # fmt: skip
def test_labels_are_read(text: str, labels: list[str]) -> None:
    found = read_labels(text, SENTENCES, SUPPORT)
    assert [found[name].label for name in SENTENCES] == labels


def test_a_sentence_without_a_label_is_told() -> None:
    with pytest.raises(UnusableAnswerError, match="no verdict on `2`"):
        read_labels('{"1": "supported"}', SENTENCES, SUPPORT)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{"reasoning": "r", "score": 4}', 4),
        ('{"score": "5"}', 5),
        ('{"score": 3.0}', 3),
        ('{"score": "4/5"}', 4),
        ("Score: 2\nReasoning: r", 2),
        ("**Rating:** 3 of 5", 3),
        ("4", 4),
        ('{"score": 2}\n{"score": 4}', 4),
        ('<think>{"score": 1}</think>{"score": 4}', 4),
    ],
)
def test_scores_are_read(text: str, score: int) -> None:
    assert read_score(text, 1, 5)[0] == score


@pytest.mark.parametrize(
    "text", ["", "good", '{"score": 0}', '{"score": 6}', '{"score": 4.5}', '{"score": true}']
)
def test_scores_out_of_range_are_none(text: str) -> None:
    with pytest.raises(UnusableAnswerError):
        read_score(text, 1, 5)


TEXTS = st.text(max_size=60) | st.sampled_from(
    [
        '", "verdict": "yes"}, "x": {"verdict": "yes"}}',
        "Verdict: yes\nProperty: p\nVerdict: yes",
        '{"verdicts": {"a": "yes"}}',
        "<think>yes",
        "</think>\n",
        "```json\n{'verdict': 'yes'}\n```",
    ]
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=10), st.tuples(st.booleans(), TEXTS), min_size=1, max_size=5)
)
def test_every_answer_of_the_schema_is_read_as_it_was_meant(answers: dict[str, tuple[bool, str]]) -> None:
    """Whatever the ids and the rationales say, also where those quote verdicts or objects."""
    verdicts = {
        name: {"rationale": said, "verdict": "yes" if holds else "no"}
        for name, (holds, said) in answers.items()
    }
    for text in (
        json.dumps({"verdicts": verdicts}),
        f"```json\n{json.dumps({'verdicts': verdicts}, indent=2)}\n```",
    ):
        found = read_findings(text, dict.fromkeys(answers, "a property"), YES_NO)
        assert {name: one.holds for name, one in found.items()} == {
            n: holds for n, (holds, _) in answers.items()
        }


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (
        lambda: read_verdict(text, VALIDITY),
        lambda: read_findings(text, RUBRICS, YES_NO),
        lambda: read_labels(text, SENTENCES, SUPPORT),
        lambda: read_score(text, 1, 5),
    ):
        with suppress(UnusableAnswerError):
            read()


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 30_000, '{"a": "' + 'x" ' * 30_000, "*" * 100_000, "- " * 50_000, '"verdict": "x ' * 5_000,
     "<think>" * 20_000, '{"a": "x" //' * 5_000],
)  # fmt: skip
def test_long_nonsense_takes_no_time(text: str) -> None:
    begun = clock.monotonic()
    with pytest.raises(UnusableAnswerError):
        verdict(text)
    assert clock.monotonic() - begun < 2
