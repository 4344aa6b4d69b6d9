"""The rubric metrics, and the multi-turn three that have properties of their own."""

from __future__ import annotations

from typing import Any

import pytest

from agent_eval.judge.base import Failure, ModelError, Request
from agent_eval.metrics.judged.conversation import TaskSuccess, ToolUse, TrajectoryQuality
from agent_eval.schema.result import RubricScore
from agent_eval.schema.trace import EvalStatus
from tests.metrics.judged.support import (
    call,
    case_of,
    events,
    evidence_of,
    image,
    judged,
    metric_of,
    outside_of,
    returned,
    rubric,
    text_of,
    turn,
    verdicts,
)

QUALITY = "rubric_based_final_response_quality_v1"
TOOLS = "rubric_based_tool_use_quality_v1"
CONVERSATION = "rubric_based_multi_turn_trajectory_quality_v1"
FINAL, TOOL, WAY = "FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY"

CITY = [
    rubric("city", "Names the city"),
    rubric("relevant", "Answers the question asked"),
    rubric("short", "Uses one sentence"),
]
TWO_OF_THREE = """Property: Names the city
Rationale: fine
Verdict: yes

Property: Answers the question asked
Rationale: fine
Verdict: yes
"""
PARIS = [turn("Capital of France?", "Paris")]


def test_a_rubric_that_the_judge_forgot_is_asked_for_again_and_then_named() -> None:
    """C09."""
    found = judged(QUALITY, PARIS, TWO_OF_THREE, rubrics=CITY, threshold=0.8)
    assert found.result.status is EvalStatus.NOT_EVALUATED
    assert "`short`" in (found.result.reason or "")
    assert "Answers the question asked" in (found.result.reason or "")
    assert found.asked == 2
    (complaint,) = (part.text or "" for part in found.requests[1].contents[-1].parts or ())
    assert "`short`" in complaint
    assert "`city`" not in complaint


def test_a_rubric_that_the_judge_mends_is_scored() -> None:
    whole = f"{TWO_OF_THREE}\nProperty: Uses one sentence\nRationale: one word\nVerdict: no"
    found = judged(QUALITY, PARIS, [TWO_OF_THREE, whole], rubrics=CITY, threshold=0.8)
    assert found.result.score == pytest.approx(2 / 3)
    assert found.result.status is EvalStatus.FAILED
    assert found.result.rubric_scores == [
        RubricScore(rubric_id="city", rationale="fine", score=1.0),
        RubricScore(rubric_id="relevant", rationale="fine", score=1.0),
        RubricScore(rubric_id="short", rationale="one word", score=0.0),
    ]


def test_a_rubric_that_one_sample_forgot_is_decided_by_the_others() -> None:
    whole = verdicts(city="yes", relevant="yes", short="no")
    found = judged(QUALITY, PARIS, [whole, TWO_OF_THREE, TWO_OF_THREE, whole], rubrics=CITY, samples=3)
    assert found.result.score == pytest.approx(2 / 3)
    assert found.asked == 4


def test_each_rubric_has_its_own_majority() -> None:
    replies = [
        verdicts(a="yes", b="no"),
        verdicts(a="yes", b="yes"),
        verdicts(a="no", b="yes"),
    ]
    found = judged(QUALITY, PARIS, replies, rubrics=[rubric("a"), rubric("b")], samples=3)
    assert found.result.score == 1.0
    assert found.asked == 3
    found = judged(QUALITY, PARIS, replies[:1], rubrics=[rubric("a"), rubric("b")], samples=3)
    assert found.result.score == 0.5
    assert found.asked == 2


def test_what_is_decided_of_a_turn_that_is_not_is_kept() -> None:
    lost = ModelError(Failure.QUOTA, "quota exceeded")
    replies = [verdicts(a="yes", b="no"), verdicts(a="yes", b="yes"), lost]
    found = judged(QUALITY, PARIS, replies, rubrics=[rubric("a"), rubric("b")], samples=3)
    assert found.result.status is EvalStatus.NOT_EVALUATED
    (row,) = found.result.per_invocation
    assert row.rubric_scores == [RubricScore(rubric_id="a", rationale="about a", score=1.0)]
    assert found.result.reason == "1 of 3 samples gave no verdict: quota exceeded"


def test_the_score_is_the_mean_over_all_rubrics_of_all_turns() -> None:
    turns = [turn("question 1", "an answer"), turn("question 2", "an answer")]
    expected = [
        turn("question 1", rubrics=[rubric("b", kind=FINAL), rubric("c", kind=FINAL)]),
        turn("question 2"),
    ]

    def reply(request: Request) -> str:
        return verdicts(a="no") if "question 2" in text_of(request) else verdicts(a="yes", b="yes", c="yes")

    found = judged(QUALITY, turns, reply, expected=expected, rubrics=[rubric("a")])
    assert found.rows == [1.0, 0.0]
    assert found.result.score == 0.75
    assert found.result.rubric_scores == [
        RubricScore(rubric_id="a", score=0.5),
        RubricScore(rubric_id="b", rationale="about b", score=1.0),
        RubricScore(rubric_id="c", rationale="about c", score=1.0),
    ]


@pytest.mark.parametrize(("metric", "kind"), [(QUALITY, FINAL), (TOOLS, TOOL), (CONVERSATION, WAY)])
def test_rubrics_of_the_criterion_the_case_and_the_turn_are_asked_about_if_they_are_for_the_metric(
    metric: str, kind: str
) -> None:
    given = [
        rubric(f"of the {level} for {one}", kind=one)
        for level in ("case", "turn")
        for one in (FINAL, TOOL, WAY)
    ]
    found = judged(
        metric,
        PARIS,
        "nothing",
        expected=[turn("Capital of France?", rubrics=given[3:])],
        rubrics=[rubric("own", kind=FINAL)],
        case_rubrics=given[:3],
    )
    asked = found.requests[0].schema["properties"]["verdicts"]["required"]  # type: ignore[index]
    assert asked == ["own", f"of the case for {kind}", f"of the turn for {kind}"]
    for rubric_id in asked:
        assert f"- `{rubric_id}`: It is so." in (found.requests[0].system or "")


@pytest.mark.parametrize(
    ("own", "of_case", "of_turn", "problem"),
    [
        ([], [], [], "there are no rubrics to judge by"),
        ([], [rubric("a", kind=TOOL)], [], "there are no rubrics to judge by"),
        ([rubric("a")], [rubric("a", kind=FINAL)], [], "duplicate rubric id `a`"),
        ([rubric("a")], [], [rubric("a", kind=FINAL)], "duplicate rubric id `a`"),
        ([], [rubric("a", " ", FINAL)], [], "rubric `a` has no text"),
        ([], [], [rubric(" ", kind=FINAL)], "a rubric has an empty id"),
        ([rubric("a")], [rubric("b")], [], "rubric `b` has no `type`"),
        (
            [rubric("a")],
            [],
            [rubric("b", kind="final_response_qualty")],
            "did you mean `FINAL_RESPONSE_QUALITY`",
        ),
    ],
)
def test_rubrics_that_cannot_be_judged_by_are_told_before_anything_runs(
    own: list[Any], of_case: list[Any], of_turn: list[Any], problem: str
) -> None:
    metric = metric_of(QUALITY, None, rubrics=own)
    problems = list(metric.case_problems(case_of([turn(rubrics=of_turn)], rubrics=of_case)))
    assert any(problem in told for told in problems), problems
    assert metric.problems == ()


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ([rubric("a"), rubric("a")], "duplicate rubric id `a`"),
        ([rubric("a", " ")], "rubric `a` has no text"),
        ([rubric(" ")], "a rubric has an empty id"),
    ],
)
def test_such_rubrics_of_the_criterion_are_no_matter_of_the_case(own: list[Any], problem: str) -> None:
    metric = metric_of(QUALITY, None, rubrics=own)
    assert problem in metric.problems
    assert list(metric.case_problems(case_of([turn()]))) == []


@pytest.mark.parametrize(
    ("of_case", "of_turn"),
    [
        pytest.param([rubric("b", kind=FINAL)], [rubric("c", kind=FINAL)], id="more of them"),
        pytest.param([rubric("a", kind=TOOL)], [], id="the same id for another metric"),
        pytest.param([rubric("b", kind="MY_OWN")], [], id="for a metric of one's own"),
    ],
)  # fmt: skip
def test_rubrics_that_fit_are_no_problem(of_case: list[Any], of_turn: list[Any]) -> None:
    metric = metric_of(QUALITY, None, rubrics=[rubric("a")])
    assert list(metric.case_problems(case_of([turn(rubrics=of_turn)], rubrics=of_case))) == []


def test_rubrics_of_the_case_count_for_scenarios() -> None:
    scenario = {"starting_prompt": "hi", "conversation_plan": "chat"}
    rubrics = [rubric("a", kind=FINAL)]
    assert list(metric_of(QUALITY, None).case_problems(case_of([], scenario, rubrics))) == []
    found = judged(QUALITY, PARIS, verdicts(a="yes"), scenario=scenario, case_rubrics=rubrics)
    assert found.result.score == 1.0


def test_other_numbers_of_turns_are_not_evaluated() -> None:
    found = judged(QUALITY, PARIS, expected=[*PARIS, *PARIS], rubrics=CITY)
    assert found.result.status is EvalStatus.NOT_EVALUATED
    assert "1 turns where 2 are expected" in (found.result.reason or "")


STEPS = events(
    [{"text": "thinking", "thought": True}, {"text": "I look it up."}, call("look_up", country="France")],
    [returned("look_up", {"city": "Paris"})],
)
AGENTS = {
    "agent_details": {
        "bot": {"name": "bot", "instructions": "Be brief.", "tool_declarations": [{"name": "look_up"}]}
    }
}


def test_the_judge_of_final_responses_sees_instructions_tools_steps_and_response() -> None:
    turns = [turn("Capital?", "Paris", intermediate_data=STEPS, app_details=AGENTS)]
    (request,) = judged(QUALITY, turns, verdicts(a="yes"), rubrics=[rubric("a")]).requests
    assert evidence_of(request) == [
        "bot:\nBe brief.",
        '{"agent": "bot", "tool": {"name": "look_up"}}',
        "Capital?",
        "I look it up.",
        '{"name": "look_up", "args": {"country": "France"}}',
        '{"name": "look_up", "response": {"city": "Paris"}}',
        "Paris",
    ]


def test_the_judge_of_tool_calls_sees_no_final_response_and_is_told_if_there_was_no_call() -> None:
    (request,) = judged(TOOLS, [turn("Capital?", "Paris")], verdicts(a="no"), rubrics=[rubric("a")]).requests
    assert evidence_of(request) == ["Capital?"]
    assert "The steps the agent took\n(nothing)" in text_of(request)


def test_steps_in_flat_lists_are_paired() -> None:
    flat = {
        "tool_uses": [{"name": "a", "id": "1"}, {"name": "b", "args": {"n": 1}}],
        "tool_responses": [
            {"name": "b", "response": {"r": 2}},
            {"name": "a", "id": "1", "response": {"r": 1}},
        ],
    }
    turns = [turn("q", "done", intermediate_data=flat)]
    (request,) = judged(TOOLS, turns, verdicts(a="no"), rubrics=[rubric("a")]).requests
    assert evidence_of(request)[1:] == [
        '{"name": "a", "args": {}}',
        '{"name": "a", "response": {"r": 1}}',
        '{"name": "b", "args": {"n": 1}}',
        '{"name": "b", "response": {"r": 2}}',
    ]


def test_the_same_conduct_makes_the_same_request_whatever_the_ids() -> None:
    def asked(suffix: str) -> Request:
        steps = {
            "invocation_events": [
                {
                    "author": "bot",
                    "content": {"parts": [{"function_call": {"id": suffix, "name": "f", "args": {}}}]},
                },
                {"author": "bot", "content": {"parts": [{"function_response": {"id": suffix, "name": "f"}}]}},
            ]
        }
        turns = [
            turn(
                "q",
                "done",
                invocation_id=suffix,
                creation_timestamp=float(len(suffix)),
                intermediate_data=steps,
            )
        ]
        return judged(TOOLS, turns, verdicts(a="no"), rubrics=[rubric("a")]).requests[0]

    assert asked("adk-1") == asked("adk-23")


TALK = [
    turn("question 1", "answer 1", intermediate_data=STEPS),
    turn("question 2", [{"text": "answer 2"}, image()]),
]


def test_a_conversation_is_judged_once_and_its_last_turn_has_the_score() -> None:
    found = judged(CONVERSATION, TALK, verdicts(a="yes", b="no"), rubrics=[rubric("a"), rubric("b")])
    assert found.asked == 1
    assert found.rows == [None, 0.5]
    assert [row.status for row in found.result.per_invocation] == [
        EvalStatus.NOT_EVALUATED,
        EvalStatus.PASSED,
    ]
    assert found.result.score == 0.5
    assert found.result.status is EvalStatus.PASSED
    assert [score.score for score in found.result.rubric_scores or ()] == [1.0, 0.0]
    assert evidence_of(found.requests[0]) == [
        "question 1",
        "I look it up.",
        '{"name": "look_up", "args": {"country": "France"}}',
        '{"name": "look_up", "response": {"city": "Paris"}}',
        "answer 1",
        "question 2",
        "answer 2",
    ]
    assert any(part.inline_data for part in found.requests[0].contents[0].parts or ())
    assert "## Turn 2: the agent's final response" in text_of(found.requests[0])


def test_rubrics_of_all_turns_count_for_the_conversation_each_once() -> None:
    shared, last = rubric("a", kind=WAY), rubric("b", kind=WAY)
    expected = [turn("q", rubrics=[shared]), turn("q", rubrics=[shared, last])]
    found = judged(CONVERSATION, TALK, verdicts(a="yes", b="yes"), expected=expected)
    assert found.result.score == 1.0
    other = [turn("q", rubrics=[shared]), turn("q", rubrics=[rubric("a", "Other.", WAY)])]
    (problem,) = metric_of(CONVERSATION, None).case_problems(case_of(other))
    assert "duplicate rubric id `a`" in problem


@pytest.mark.parametrize(
    ("name", "evaluator"),
    [
        ("multi_turn_task_success_v1", TaskSuccess),
        ("multi_turn_trajectory_quality_v1", TrajectoryQuality),
        ("multi_turn_tool_use_quality_v1", ToolUse),
    ],
)
def test_the_multi_turn_metrics_have_properties_of_their_own(name: str, evaluator: Any) -> None:
    names = list(evaluator.fixed)
    found = judged(name, TALK, verdicts(**dict.fromkeys(names, "yes")), samples=5)
    assert (found.result.score, found.asked) == (1.0, 3)
    one_no = verdicts(**{**dict.fromkeys(names, "yes"), names[-1]: "no"})
    result = judged(name, TALK, one_no).result
    assert result.score == pytest.approx((len(names) - 1) / len(names))
    assert (result.rubric_scores or [])[-1].rationale == f"about {names[-1]}"


def test_task_success_knows_the_plan_of_a_scenario() -> None:
    scenario = {"starting_prompt": "hi", "conversation_plan": "Book a desk."}
    found = judged("multi_turn_task_success_v1", TALK, verdicts(goals_reached="yes"), scenario=scenario)
    assert "Book a desk." in evidence_of(found.requests[0])
    assert "Book a desk." not in outside_of(found.requests[0])


def test_a_run_without_turns_is_not_evaluated() -> None:
    result = judged("multi_turn_task_success_v1", []).result
    assert result.status is EvalStatus.NOT_EVALUATED
    assert result.reason == "there is no turn to judge"
