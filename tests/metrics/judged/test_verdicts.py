"""final_response_match_v2, safety_v1 and response_evaluation_score."""

from __future__ import annotations

import asyncio

import pytest

from agent_eval.judge.base import Failure, ModelError, Reply, Request
from agent_eval.schema.result import MetricResult
from agent_eval.schema.trace import EvalStatus
from tests.metrics.judged.support import (
    INVALID,
    UNREADABLE,
    VALID,
    Judged,
    Script,
    ScriptedJudges,
    call,
    events,
    evidence_of,
    image,
    invocations,
    judged,
    metric_of,
    returned,
    text_of,
    turn,
)

MATCH = "final_response_match_v2"
PARIS = [turn("Capital of France?", "Paris")]
QUOTA = ModelError(Failure.QUOTA, "quota exceeded")


def told(result: MetricResult) -> tuple[EvalStatus, float | None]:
    return result.status, result.score


@pytest.mark.parametrize(
    ("reply", "score", "asked"),
    [
        ('```json {"reasoning":"same","is_the_agent_response_valid":"valid"} ```', 1.0, 1),
        ('{"reasoning":"same","is_the_agent_response_valid":"VALID"}', 1.0, 1),
        ('{"reasoning":"same","is_the_agent_response_valid": True}', 1.0, 1),
        ("{'reasoning':'same','is_the_agent_response_valid':'valid'}", 1.0, 1),
        ('{"reasoning":"half","is_the_agent_response_valid":"partially valid"}', 0.0, 1),
        (UNREADABLE, None, 2),
    ],
)
def test_replies_that_models_really_send(reply: str, score: float | None, asked: int) -> None:
    """C08: what cannot be read is asked for again, then not evaluated, with the reply kept."""
    found = judged(MATCH, PARIS, reply)
    assert found.result.score == score
    assert found.asked == asked
    if score is None:
        assert found.result.status is EvalStatus.NOT_EVALUATED
        assert UNREADABLE in (found.result.reason or "")


@pytest.mark.parametrize(
    ("answer", "wanted", "score", "asked"),
    [
        pytest.param("Paris", "Paris", 1.0, 1, id="both"),
        pytest.param(None, "Paris", 0.0, 0, id="no response"),
        pytest.param("", "Paris", 0.0, 0, id="empty response"),
        pytest.param([{"text": "Paris", "thought": True}], "Paris", 0.0, 0, id="only a thought"),
        pytest.param("Paris", None, None, 0, id="no reference"),
        pytest.param(None, None, None, 0, id="neither"),
        pytest.param([image()], "a map", 1.0, 1, id="an image for an answer"),
        pytest.param("a map", [image()], 1.0, 1, id="an image for a reference"),
    ],
)  # fmt: skip
def test_turns_without_one_of_the_responses(
    answer: str | None, wanted: str | None, score: float | None, asked: int
) -> None:
    found = judged(MATCH, [turn("q", answer)], expected=[turn("q", wanted)])
    assert found.result.score == score
    assert found.asked == asked
    assert found.result.reason == (
        None if score is not None else "the case has no expected response to compare with"
    )


def test_rationales_are_kept() -> None:
    found = judged(MATCH, PARIS, INVALID)
    assert found.result.per_invocation[0].rationale == "other"
    assert judged(MATCH, [turn("q")], expected=PARIS).result.per_invocation[0].rationale == (
        "The agent gave no final response."
    )


@pytest.mark.parametrize(
    ("replies", "score", "asked"),
    [
        pytest.param([VALID], 1.0, 3, id="unanimous"),
        pytest.param([INVALID], 0.0, 3, id="unanimous no"),
        pytest.param([VALID, INVALID, VALID, VALID], 1.0, 4, id="one dissent"),
        pytest.param([VALID, INVALID, VALID, INVALID, INVALID], 0.0, 5, id="to the last"),
        pytest.param([VALID, QUOTA, VALID, VALID], 1.0, 4, id="one lost"),
        pytest.param([QUOTA], None, 3, id="all lost"),
        pytest.param([VALID, QUOTA, INVALID, QUOTA, VALID], None, 5, id="too many lost"),
    ],
)  # fmt: skip
def test_samples_are_asked_for_until_the_majority_is_certain(
    replies: Script, score: float | None, asked: int
) -> None:
    found = judged(MATCH, PARIS, replies, samples=5)
    assert (found.result.score, found.asked) == (score, asked)
    assert found.result.judge
    assert found.result.judge.requests == asked
    if score is None:
        assert found.result.status is EvalStatus.NOT_EVALUATED
        assert "quota exceeded" in (found.result.reason or "")


def test_the_mean_over_turns_is_held_against_the_threshold() -> None:
    turns = [turn(f"question {number}", "an answer") for number in range(3)]

    def reply(request: Request) -> str:
        return INVALID if "question 2" in text_of(request) else VALID

    found = judged(MATCH, turns, reply, threshold=0.7)
    assert found.rows == [1.0, 1.0, 0.0]
    assert told(found.result) == (EvalStatus.FAILED, pytest.approx(2 / 3))
    assert told(judged(MATCH, turns, reply, threshold=0.6).result)[0] is EvalStatus.PASSED


def test_a_turn_that_could_not_be_judged_keeps_a_run_from_passing_but_not_from_failing() -> None:
    turns = [turn("question 1", "an answer"), turn("question 2", "an answer")]

    def but_the_second(first: str) -> Judged:
        return judged(MATCH, turns, lambda request: QUOTA if "question 2" in text_of(request) else first)

    assert told(but_the_second(VALID).result) == (EvalStatus.NOT_EVALUATED, None)
    assert but_the_second(VALID).result.reason == "turn 2: quota exceeded"
    assert but_the_second(VALID).rows == [1.0, None]
    assert told(but_the_second(INVALID).result) == (EvalStatus.FAILED, 0.0)
    assert but_the_second(INVALID).result.warnings == ["not judged: turn 2: quota exceeded"]


def test_a_case_without_expected_turns_or_with_others_cannot_be_compared() -> None:
    scenario = {"starting_prompt": "hi", "conversation_plan": "chat"}
    for found in (
        judged(MATCH, PARIS, scenario=scenario),
        judged(MATCH, PARIS, expected=[*PARIS, *PARIS]),
    ):
        assert found.result.status is EvalStatus.NOT_EVALUATED
        assert found.asked == 0
    assert "the case has none" in (judged(MATCH, PARIS, scenario=scenario).result.reason or "")


def test_the_judge_sees_what_was_asked_answered_and_expected_and_no_thoughts() -> None:
    thinking = {"text": "I wonder", "thought": True}
    turns = [turn("first question", "first answer"), turn("second question", [thinking, {"text": "Lyon"}])]
    (_, second) = judged(MATCH, turns, expected=[turns[0], turn("second question", "Paris")]).requests
    assert evidence_of(second) == ["first question", "first answer", "second question", "Lyon", "Paris"]
    assert "I wonder" not in text_of(second)


def test_texts_on_the_way_belong_to_the_response_only_if_the_criterion_says_so() -> None:
    steps = events([{"text": "On my way."}, call("look_up")], [returned("look_up", {"city": "Paris"})])
    turns = [turn("q", "Paris", intermediate_data=steps)]
    flat = [turn("q", "Paris", intermediate_data={"intermediate_responses": [["bot", [{"text": "Wait."}]]]})]
    assert evidence_of(judged(MATCH, turns).requests[0])[1:] == ["Paris", "Paris"]
    whole = judged(MATCH, turns, expected=flat, include_intermediate_responses_in_final=True)
    assert evidence_of(whole.requests[0])[1:] == ["On my way.\nParis", "Wait.\nParis"]


def test_images_and_files_of_both_sides_are_shown_to_the_judge() -> None:
    picture, file = image(), {"file_data": {"file_uri": "gs://b/f.pdf", "mime_type": "application/pdf"}}
    turns = [turn([{"text": "What is it?"}, picture], [{"text": "This:"}, file])]
    (request,) = judged(MATCH, turns, expected=[turn("q", "A cat.")]).requests
    parts = [part for part in request.contents[0].parts or () if part.inline_data or part.file_data]
    assert [part.inline_data.mime_type if part.inline_data else part.file_data for part in parts] == [
        "image/png",
        parts[1].file_data,
    ]
    assert text_of(request).index("image/png") < text_of(request).index("This:")


def test_a_judge_that_cannot_see_is_told_of_in_the_result() -> None:
    blind = Reply(VALID, unseen=("image/png", "audio/wav"))
    result = judged(MATCH, [turn([image()], "a cat")], blind).result
    assert result.status is EvalStatus.PASSED
    assert result.warnings == ["the judge cannot see audio/wav, image/png"]


def test_turns_are_judged_at_once_as_far_as_the_criterion_allows() -> None:
    turns = [turn(f"question {number}", "an answer") for number in range(4)]
    for parallelism, most in ((1, 1), (3, 3), (50, 12)):
        judges = ScriptedJudges(VALID)
        evaluator = metric_of(MATCH, judges, samples=5, parallelism=parallelism).build()
        asyncio.run(evaluator.evaluate_invocations(invocations(turns), invocations(turns)))
        assert judges.most_at_once == most
        assert len(judges.requests) == 12


def test_safety_judges_each_response_and_leaves_out_turns_without_one() -> None:
    turns = [turn("how?", "like this"), turn("and?"), turn("why?", [image()])]
    found = judged("safety_v1", turns, ['{"verdict": "safe"}', '{"verdict": "Unsafe", "reasoning": "harm"}'])
    assert found.rows == [1.0, None, 0.0]
    assert found.result.score == 0.5
    assert found.result.per_invocation[2].rationale == "harm"
    assert evidence_of(found.requests[0]) == ["how?", "like this"]


def test_safety_without_any_response_is_not_evaluated() -> None:
    result = judged("safety_v1", [turn("hi")]).result
    assert told(result) == (EvalStatus.NOT_EVALUATED, None)
    assert result.reason == "there is no response to judge"


def test_safety_needs_no_reference() -> None:
    scenario = {"starting_prompt": "hi", "conversation_plan": "chat"}
    assert judged("safety_v1", PARIS, '{"verdict": "safe"}', scenario=scenario).result.score == 1.0


GRADE = "response_evaluation_score"


@pytest.mark.parametrize(
    ("grades", "score", "asked"),
    [
        pytest.param([4], 4.0, 3, id="unanimous"),
        pytest.param([5, 3, 4, 4, 4], 4.0, 4, id="median"),
        pytest.param([1, 1, 1, 5, 5], 1.0, 3, id="settled early"),
        pytest.param([5, 5, 1, 1, 3], 3.0, 5, id="the one in the middle"),
    ],
)  # fmt: skip
def test_the_median_grade_counts(grades: list[int], score: float, asked: int) -> None:
    replies = [f'{{"reasoning": "it is a {grade}", "score": {grade}}}' for grade in grades]
    found = judged(GRADE, PARIS, replies, samples=5, threshold=3.0)
    assert (found.result.score, found.asked) == (score, asked)
    assert found.result.per_invocation[0].rationale in {f"it is a {grade}" for grade in grades}


def test_of_two_grades_the_lower_one_counts() -> None:
    replies = ['{"score": 4}', '{"score": 2}']
    assert judged(GRADE, PARIS, replies, samples=2).result.score == 2.0


def test_grades_need_no_reference() -> None:
    scenario = {"starting_prompt": "hi", "conversation_plan": "chat"}
    found = judged(GRADE, [turn("first", "one"), turn("second", "two")], '{"score": 5}', scenario=scenario)
    assert evidence_of(found.requests[1]) == ["first", "one", "second", "two"]
    assert found.result.score == 5.0


def test_no_response_has_the_lowest_grade() -> None:
    found = judged(GRADE, [turn("q")], expected=PARIS, threshold=3.0)
    assert told(found.result) == (EvalStatus.FAILED, 1.0)
    assert found.asked == 0


def test_a_grade_out_of_range_is_none() -> None:
    found = judged(GRADE, PARIS, '{"score": 7}')
    assert told(found.result) == (EvalStatus.NOT_EVALUATED, None)
    assert "no whole number from 1 to 5" in (found.result.reason or "")
