"""per_turn_user_simulator_quality_v1: every message of the simulated user, and where it ended."""

from __future__ import annotations

from typing import Any

import pytest

from agent_eval.judge.base import Failure, ModelError, Request
from agent_eval.schema.evalset import PREBUILT_PERSONAS
from agent_eval.schema.personas import PERSONAS
from agent_eval.schema.trace import EvalStatus
from tests.metrics.judged.support import (
    INVALID,
    VALID,
    Judged,
    Said,
    evidence_of,
    judged,
    outside_of,
    text_of,
    turn,
)

NAME = "per_turn_user_simulator_quality_v1"
SCENARIO = {"starting_prompt": "Book a desk ", "conversation_plan": "Book one desk, then stop."}
TALK = [turn("Book a desk", "Which day?"), turn("Friday", "Done."), turn("Thanks", "Bye.")]


def played(
    said: dict[str, Said],
    turns: list[dict[str, Any]] = TALK,
    scenario: dict[str, Any] = SCENARIO,
    **options: Any,
) -> Judged:
    """Judged by message; what is not named is valid."""

    def reply(request: Request) -> Said:
        return said.get(evidence_of(request)[-1], VALID)

    return judged(NAME, turns, reply, scenario=scenario, **options)


def test_a_user_that_keeps_to_the_scenario() -> None:
    found = played({})
    assert found.result.score == 1.0
    assert found.rows == [1.0, 1.0, 1.0]
    assert [evidence_of(request)[-1] for request in found.requests] == ["Friday", "Thanks", "</finished>"]


@pytest.mark.parametrize(
    ("opening", "score", "why"),
    [
        ("Book a desk", 1.0, None),
        ("  Book a desk\n", 1.0, None),
        ("book a desk", 0.0, "The first message is not the starting prompt."),
    ],
)
def test_the_first_message_has_to_be_the_starting_prompt(opening: str, score: float, why: str | None) -> None:
    found = played({}, [turn(opening, "Done."), turn("Thanks", "Bye.")])
    assert found.rows == [score, 1.0]
    assert found.result.per_invocation[0].rationale == why


def test_the_share_of_good_messages_is_the_score() -> None:
    found = played({"Friday": INVALID}, threshold=0.7)
    assert found.rows == [1.0, 0.0, 1.0]
    assert found.result.score == pytest.approx(2 / 3)
    assert found.result.status is EvalStatus.FAILED
    assert found.result.per_invocation[1].rationale == "other"


def test_a_wrong_end_takes_the_place_of_the_last_message() -> None:
    found = played({"</finished>": INVALID})
    assert found.rows == [1.0, 1.0, 0.0]
    assert found.result.per_invocation[2].rationale == "The conversation should not have ended here: other"
    alone = played({"</finished>": INVALID}, TALK[:1])
    assert alone.rows == [0.0]
    assert played({}, TALK[:1]).rows == [1.0]


def test_the_stop_signal_is_the_criterions() -> None:
    found = played({"STOP": INVALID}, stop_signal="STOP")
    assert found.rows == [1.0, 1.0, 0.0]
    assert "`STOP`" in (found.requests[0].system or "")
    assert "</finished>" not in (found.requests[0].system or "")


def test_messages_are_voted_on() -> None:
    found = judged(NAME, TALK[:2], [VALID, INVALID, VALID, VALID], scenario=SCENARIO, samples=3)
    assert found.result.score == 1.0
    assert found.asked == 3 + 2


@pytest.mark.parametrize("lost", ["Friday", "Thanks", "</finished>"])
def test_what_could_not_be_judged_keeps_the_run_from_passing(lost: str) -> None:
    found = played({lost: ModelError(Failure.QUOTA, "quota exceeded")})
    assert found.result.status is EvalStatus.NOT_EVALUATED
    assert "quota exceeded" in (found.result.reason or "")


def test_the_judge_sees_the_plan_and_the_talk_so_far() -> None:
    request = played({}).requests[1]
    assert evidence_of(request) == [
        "Book one desk, then stop.",
        "Book a desk",
        "Which day?",
        "Friday",
        "Done.",
        "Thanks",
    ]
    assert "It gives up at the agent's first error" in outside_of(request)


PERSONA = {
    "id": "HURRIED",
    "description": "Somebody in a hurry.",
    "behaviors": [
        {
            "name": "Is brief",
            "description": "Few words.",
            "behavior_instructions": ["Be brief."],
            "violation_rubrics": ["Says more than ten words before {{ stop_signal }}."],
        }
    ],
}


def test_a_persona_has_faults_of_its_own() -> None:
    request = played({}, scenario={**SCENARIO, "user_persona": PERSONA}).requests[0]
    assert "- Says more than ten words before </finished>." in outside_of(request)
    assert "It gives up at the agent's first error" not in outside_of(request)
    assert evidence_of(request)[1] == "Somebody in a hurry."


@pytest.mark.parametrize("persona", PREBUILT_PERSONAS)
def test_pre_built_personas_are_known(persona: str) -> None:
    request = played({}, scenario={**SCENARIO, "user_persona": persona}).requests[0]
    for behavior in PERSONAS[persona].behaviors:
        assert f"{behavior.name}. " in outside_of(request)
    assert "stop_signal" not in text_of(request) + (request.system or "")


def test_the_pre_built_personas_are_those_that_eval_sets_may_name() -> None:
    assert tuple(PERSONAS) == PREBUILT_PERSONAS


def test_a_case_without_a_scenario_is_not_evaluated() -> None:
    found = judged(NAME, TALK)
    assert found.result.status is EvalStatus.NOT_EVALUATED
    assert "the case has none" in (found.result.reason or "")
    assert found.asked == 0
