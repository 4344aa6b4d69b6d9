"""hallucinations_v1: which sentences are checked, against what, and what comes of it."""

from __future__ import annotations

import json

import pytest

from agent_eval.judge.base import Failure, ModelError, Request
from agent_eval.schema.trace import EvalStatus
from tests.metrics.judged.support import (
    Judged,
    Script,
    call,
    events,
    evidence_of,
    judged,
    returned,
    text_of,
    turn,
)

NAME = "hallucinations_v1"
THREE = "Order 7 is on its way. It comes tomorrow. Anything else?"


def labels(*said: str) -> str:
    return json.dumps(
        {
            "sentences": [
                {"number": number, "rationale": f"about {number}", "label": label}
                for number, label in enumerate(said, 1)
            ]
        }
    )


@pytest.mark.parametrize(
    ("said", "score"),
    [
        (("supported", "supported", "not_applicable"), 1.0),
        (("supported", "unsupported", "not_applicable"), 2 / 3),
        (("contradictory", "unsupported", "disputed"), 0.0),
        (("Supported", "not applicable", "UNSUPPORTED"), 2 / 3),
    ],
)
def test_the_score_is_the_share_of_sentences_that_are_supported_or_claim_nothing(
    said: tuple[str, ...], score: float
) -> None:
    found = judged(NAME, [turn("Where is order 7?", THREE)], labels(*said))
    assert found.result.score == pytest.approx(score)
    assert found.asked == 1


def test_labels_are_counted_and_what_does_not_hold_is_told() -> None:
    found = judged(NAME, [turn("q", THREE)], labels("supported", "contradictory", "not_applicable"))
    (row,) = found.result.per_invocation
    assert row.rationale == '"It comes tomorrow." is contradictory: about 2'
    assert row.details == {"sentences": 3.0, "supported": 1.0, "contradictory": 1.0, "not_applicable": 1.0}


def test_blocks_as_adk_asks_for_them_are_read() -> None:
    blocks = "\n\n".join(
        f"sentence: {sentence}\nlabel: {label}\nrationale: r\n"
        "supporting_excerpt: null\ncontradicting_excerpt: null"
        for sentence, label in zip(
            ("Order 7 is on its way.", "It comes tomorrow.", "Anything else?"),
            ("supported", "unsupported", "not_applicable"),
            strict=True,
        )
    )
    assert judged(NAME, [turn("q", THREE)], blocks).result.score == pytest.approx(2 / 3)


def test_the_judge_is_asked_once_unless_the_criterion_wants_votes_on_each_sentence() -> None:
    yes, no = labels("supported", "supported"), labels("supported", "unsupported")
    text = [turn("q", "One is. Two is.")]
    assert judged(NAME, text, yes, judge_model_options={}).asked == 1
    voted = judged(NAME, text, [no, yes, yes], samples=3)
    assert (voted.result.score, voted.asked) == (1.0, 3)


def test_a_sentence_without_a_label_is_asked_for_again_and_then_not_evaluated() -> None:
    found = judged(NAME, [turn("q", THREE)], labels("supported", "supported"))
    assert found.result.status is EvalStatus.NOT_EVALUATED
    assert "no verdict on `3`" in (found.result.reason or "")
    assert found.asked == 2


@pytest.mark.parametrize(
    ("answers", "rows", "status"),
    [
        pytest.param(["One is.", None], [1.0, None], EvalStatus.PASSED, id="a turn without a response"),
        pytest.param(["👍", "One is."], [None, 1.0], EvalStatus.PASSED, id="a turn without a sentence"),
        pytest.param([None, ""], [None, None], EvalStatus.NOT_EVALUATED, id="nothing to check"),
    ],
)  # fmt: skip
def test_turns_without_sentences(
    answers: list[str | None], rows: list[float | None], status: EvalStatus
) -> None:
    found = judged(NAME, [turn("q", answer) for answer in answers], labels("supported"))
    assert found.rows == rows
    assert found.result.status is status
    assert found.result.reason == (None if any(rows) else "there is no sentence to check")


def test_a_turn_that_the_judge_fails_at_keeps_the_run_from_passing() -> None:
    lost = ModelError(Failure.TIMEOUT, "no answer within 120 s")
    found = judged(NAME, [turn("q", "One is."), turn("q", "Two is.")], [labels("supported"), lost])
    assert found.result.status is EvalStatus.NOT_EVALUATED
    assert found.result.reason == "turn 2: no answer within 120 s"


TALK = [
    turn(
        "Where is order 7?",
        "On its way.",
        intermediate_data=events([call("status", order=7)], [returned("status", {"state": "sent"})]),
        app_details={"agent_details": {"bot": {"name": "bot", "instructions": "Help."}}},
    ),
    turn(
        "And when is it there?",
        "Tomorrow.",
        intermediate_data={
            "invocation_events": [
                {"author": "bot", "content": {"parts": [{"text": "I have a look."}, call("eta")]}},
                {"author": "bot", "content": {"parts": [returned("eta", {"day": "tomorrow"})]}},
                {"author": "bot", "grounding_metadata": {"web_search_queries": ["eta order 7"]}},
            ]
        },
    ),
]


def asked_about(found: Judged, sentence: str) -> Request:
    return next(request for request in found.requests if evidence_of(request)[-1] == sentence)


def test_the_context_is_all_that_the_agent_had_to_go_by() -> None:
    found = judged(NAME, TALK, labels("supported"))
    assert evidence_of(asked_about(found, "On its way.")) == [
        "bot:\nHelp.",
        "Where is order 7?",
        '{"name": "status", "args": {"order": 7}}',
        '{"name": "status", "response": {"state": "sent"}}',
        "On its way.",
    ]
    assert evidence_of(asked_about(found, "Tomorrow.")) == [
        "Where is order 7?",
        '{"name": "status", "args": {"order": 7}}',
        '{"name": "status", "response": {"state": "sent"}}',
        "On its way.",
        "And when is it there?",
        "I have a look.",
        '{"name": "eta", "args": {}}',
        '{"name": "eta", "response": {"day": "tomorrow"}}',
        '{"web_search_queries": ["eta order 7"]}',
        "Tomorrow.",
    ]


def test_texts_on_the_way_are_checked_against_what_was_known_then_if_the_criterion_says_so() -> None:
    def reply(request: Request) -> str:
        return labels("unsupported" if evidence_of(request)[-1] == "I have a look." else "supported")

    found = judged(NAME, TALK, reply, evaluate_intermediate_nl_responses=True)
    assert found.asked == 3
    assert found.rows == [1.0, 0.5]
    assert found.result.score == 0.75
    assert "eta" not in text_of(asked_about(found, "I have a look."))
    assert judged(NAME, TALK, reply).rows == [1.0, 1.0]


def test_thoughts_are_neither_context_nor_checked() -> None:
    thinking = {"text": "They will never know.", "thought": True}
    turns = [turn("q", [thinking, {"text": "Yes."}], intermediate_data=events([thinking, call("f")]))]
    (request,) = judged(NAME, turns, labels("supported"), evaluate_intermediate_nl_responses=True).requests
    assert "never know" not in text_of(request)


def test_the_response_may_include_what_was_said_on_the_way() -> None:
    script: Script = labels("supported", "supported")
    found = judged(NAME, TALK[1:], script, include_intermediate_responses_in_final=True)
    assert evidence_of(found.requests[0])[-2:] == ["I have a look.", "Tomorrow."]
