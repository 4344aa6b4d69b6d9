from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval.metrics.base import EvalMetric, EvaluationResult
from agent_eval.metrics.trajectory import TrajectoryEvaluator
from agent_eval.schema.calls import trajectory_matches
from agent_eval.schema.config import BaseCriterion, MatchType, TrajectoryCriterion
from agent_eval.schema.trace import Content, EvalStatus, FunctionCall, IntermediateData, Invocation

EXACT, IN_ORDER, ANY_ORDER = MatchType

CALLS = st.lists(
    st.builds(
        FunctionCall,
        name=st.sampled_from("abc"),
        args=st.none() | st.fixed_dictionaries({}, optional={"x": st.sampled_from([1, 2])}),
    ),
    max_size=5,
)


def calls(names: str) -> list[FunctionCall]:
    """One call without arguments for each letter."""
    return [FunctionCall(name=name) for name in names]


@pytest.mark.parametrize(
    ("actual", "expected", "matching"),
    [
        pytest.param("ab", "ab", {EXACT, IN_ORDER, ANY_ORDER}, id="same"),
        pytest.param("", "", {EXACT, IN_ORDER, ANY_ORDER}, id="none on either side"),
        pytest.param("axb", "ab", {IN_ORDER, ANY_ORDER}, id="another in between"),
        pytest.param("a", "", {IN_ORDER, ANY_ORDER}, id="none expected"),
        pytest.param("ba", "ab", {ANY_ORDER}, id="other order"),
        pytest.param("a", "ab", set(), id="one is missing"),
        pytest.param("aab", "abb", set(), id="repeated the wrong one"),
        pytest.param("ab", "aa", set(), id="one call for two expected"),
        pytest.param("abab", "bb", {IN_ORDER, ANY_ORDER}, id="repeated with others in between"),
    ],
)
def test_match_types(actual: str, expected: str, matching: set[MatchType]) -> None:
    found = {kind for kind in MatchType if trajectory_matches(calls(actual), calls(expected), kind, False)}
    assert found == matching


@pytest.mark.parametrize(
    ("actual", "expected", "equal"),
    [
        pytest.param(None, {}, True, id="absent and empty"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="key order"),
        pytest.param({"n": 1}, {"n": 1.0}, True, id="whole number and float"),
        pytest.param({"n": 1}, {"n": True}, True, id="one and true"),
        pytest.param({"n": 1}, {"n": "1"}, False, id="number and text"),
        pytest.param({"l": [1, 2]}, {"l": [2, 1]}, False, id="list order"),
        pytest.param({"a": None}, {}, False, id="null argument and none"),
        pytest.param({"s": "\u00e9"}, {"s": "e\u0301"}, False, id="texts are not normalized"),
    ],
)
def test_arguments(actual: Any, expected: Any, equal: bool) -> None:
    got, wanted = [FunctionCall(name="f", args=actual)], [FunctionCall(name="f", args=expected)]
    assert trajectory_matches(got, wanted, EXACT, ignore_args=False) == equal
    assert trajectory_matches(got, wanted, EXACT, ignore_args=True)


@given(CALLS, CALLS, st.booleans())
def test_exact_implies_in_order_implies_any_order(
    actual: list[FunctionCall], expected: list[FunctionCall], ignore_args: bool
) -> None:
    exact, in_order, any_order = (
        trajectory_matches(actual, expected, kind, ignore_args) for kind in (EXACT, IN_ORDER, ANY_ORDER)
    )
    assert exact <= in_order <= any_order


@given(CALLS, st.booleans())
def test_calls_match_themselves_by_every_type(actual: list[FunctionCall], ignore_args: bool) -> None:
    assert all(trajectory_matches(actual, actual, kind, ignore_args) for kind in MatchType)


@given(CALLS, st.randoms(use_true_random=False), st.booleans())
def test_any_order_is_blind_to_order(actual: list[FunctionCall], random: Any, ignore_args: bool) -> None:
    shuffled = random.sample(actual, len(actual))
    assert trajectory_matches(shuffled, actual, ANY_ORDER, ignore_args)


@given(CALLS, CALLS, CALLS, st.sampled_from([IN_ORDER, ANY_ORDER]), st.booleans())
def test_another_actual_call_breaks_no_match_but_an_exact_one(
    before: list[FunctionCall],
    after: list[FunctionCall],
    expected: list[FunctionCall],
    kind: MatchType,
    ignore_args: bool,
) -> None:
    without = trajectory_matches(before + after, expected, kind, ignore_args)
    assert without <= trajectory_matches(
        [*before, FunctionCall(name="d"), *after], expected, kind, ignore_args
    )


@given(CALLS, CALLS, st.sampled_from(MatchType))
def test_ignoring_arguments_breaks_no_match(
    actual: list[FunctionCall], expected: list[FunctionCall], kind: MatchType
) -> None:
    strict, loose = (trajectory_matches(actual, expected, kind, ignore) for ignore in (False, True))
    assert strict <= loose


def test_score_is_the_share_of_matching_turns() -> None:
    result = evaluate(["a", "b"], ["a", "a"], TrajectoryCriterion(threshold=0.5))
    assert [turn.score for turn in result.per_invocation_results] == [1, 0]
    assert [turn.eval_status for turn in result.per_invocation_results] == [
        EvalStatus.PASSED,
        EvalStatus.FAILED,
    ]
    assert (result.overall_score, result.overall_eval_status) == (0.5, EvalStatus.PASSED)


def test_bare_threshold_compares_exactly() -> None:
    assert evaluate(["ab"], ["a"], BaseCriterion(threshold=1)).overall_eval_status is EvalStatus.FAILED


def test_other_number_of_turns_is_refused() -> None:
    with pytest.raises(ValueError, match="took 1 turns where 2 are expected"):
        evaluate(["a"], ["a", "a"], BaseCriterion(threshold=1))


def test_turn_without_step_data_has_no_calls() -> None:
    bare = Invocation(user_content=Content())
    metric = EvalMetric(metric_name="tool_trajectory_avg_score", criterion=BaseCriterion(threshold=1))
    assert TrajectoryEvaluator(metric).evaluate_invocations([bare], [turn("")]).overall_score == 1


def evaluate(actual: list[str], expected: list[str], criterion: BaseCriterion) -> EvaluationResult:
    metric = EvalMetric(metric_name="tool_trajectory_avg_score", criterion=criterion)
    return TrajectoryEvaluator(metric).evaluate_invocations(
        [turn(names) for names in actual], [turn(names) for names in expected]
    )


def turn(names: str) -> Invocation:
    return Invocation(user_content=Content(), intermediate_data=IntermediateData(tool_uses=calls(names)))


@pytest.mark.parametrize(
    ("expected", "ignore_args", "equal"),
    [
        pytest.param({"id": {"$regex": r"^A\d$"}, "at": {"$any": True}}, False, True, id="patterns"),
        pytest.param({"id": {"$regex": r"^B"}, "at": {"$any": True}}, False, False, id="pattern fails"),
        pytest.param({"id": "A1"}, False, False, id="argument that is not expected"),
        pytest.param({"id": "A1"}, ["at"], True, id="argument that is ignored"),
        pytest.param({"id": "A1", "at": "then", "by": "me"}, ["at", "by"], True, id="ignored on both sides"),
        pytest.param({"id": "A2"}, ["at"], False, id="others still count"),
        pytest.param({"id": {"$oneof": ["A1", "A2"]}}, ["at"], True, id="both"),
        pytest.param({}, True, True, id="all ignored"),
    ],
)
def test_arguments_that_vary(expected: Any, ignore_args: bool | list[str], equal: bool) -> None:
    got = [FunctionCall(name="f", args={"id": "A1", "at": "now"})]
    wanted = [FunctionCall(name="f", args=expected)]
    assert {trajectory_matches(got, wanted, kind, ignore_args) for kind in MatchType} == {equal}


def test_any_order_finds_an_assignment_where_patterns_overlap() -> None:
    got = [FunctionCall(name="f", args={"x": "a"}), FunctionCall(name="f", args={"x": "b"})]
    wide_first = [
        FunctionCall(name="f", args={"x": {"$any": True}}),
        FunctionCall(name="f", args={"x": "a"}),
    ]
    assert trajectory_matches(got, wide_first, ANY_ORDER)


@pytest.mark.parametrize(
    ("actual", "expected", "details"),
    [
        pytest.param("ab", "ab", None, id="all"),
        pytest.param("axb", "ab", {"expected": 2, "matched": 2, "extra": 1}, id="one more"),
        pytest.param("ba", "ab", {"expected": 2, "matched": 2, "extra": 0}, id="other order"),
        pytest.param("a", "ab", {"expected": 2, "matched": 1, "extra": 0}, id="one is missing"),
        pytest.param("xy", "ab", {"expected": 2, "matched": 0, "extra": 2}, id="none"),
        pytest.param("x", "", {"expected": 0, "matched": 0, "extra": 1}, id="nothing expected"),
    ],
)
def test_details_of_a_turn_that_fails_have_the_partial_credit(
    actual: str, expected: str, details: dict[str, int] | None
) -> None:
    result = evaluate([actual], [expected], TrajectoryCriterion(threshold=1))
    (row,) = result.per_invocation_results
    assert row.details == details
    assert row.score == float(actual == expected)


PATTERNED = st.lists(
    st.builds(
        FunctionCall,
        name=st.just("f"),
        args=st.fixed_dictionaries({"x": st.sampled_from([1, 2, {"$any": True}, {"$oneof": [1, 3]}])}),
    ),
    max_size=4,
)
PLAIN = st.lists(
    st.builds(FunctionCall, name=st.just("f"), args=st.fixed_dictionaries({"x": st.sampled_from([1, 2, 3])})),
    max_size=4,
)


@given(PLAIN, PATTERNED)
def test_any_order_matches_if_some_order_does(
    actual: list[FunctionCall], expected: list[FunctionCall]
) -> None:
    some = any(trajectory_matches(list(order), expected, IN_ORDER) for order in permutations(actual))
    assert trajectory_matches(actual, expected, ANY_ORDER) == some
