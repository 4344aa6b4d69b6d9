from __future__ import annotations

from typing import Any

import pytest

from agent_eval.metrics.base import EvalMetric, EvaluationResult
from agent_eval.metrics.efficiency import EfficiencyEvaluator
from agent_eval.schema.config import INFORMATIONAL_METRICS, BaseCriterion
from agent_eval.schema.trace import EvalStatus, Invocation

CALL = {"function_call": {"name": "f"}}


def evaluate(name: str, *turns: dict[str, Any]) -> EvaluationResult:
    invocations = [Invocation.model_validate({"user_content": {}, **turn}) for turn in turns]
    return EfficiencyEvaluator(EvalMetric(metric_name=name)).evaluate_invocations(invocations)


def steps(*events: dict[str, Any]) -> dict[str, Any]:
    return {"intermediate_data": {"invocation_events": [{"author": "agent", **event} for event in events]}}


@pytest.mark.parametrize("name", INFORMATIONAL_METRICS)
def test_value_is_informational_also_without_turns(name: str) -> None:
    for result in (evaluate(name), evaluate(name, {})):
        assert result.overall_eval_status is EvalStatus.INFORMATIONAL


@pytest.mark.parametrize("name", INFORMATIONAL_METRICS)
def test_threshold_is_refused(name: str) -> None:
    metric = EvalMetric(metric_name=name, criterion=BaseCriterion(threshold=1))
    with pytest.raises(ValueError, match="Remove it from `criteria`"):
        EfficiencyEvaluator(metric)


def test_tool_calls_are_counted_in_either_form_of_step_data() -> None:
    as_list = {"intermediate_data": {"tool_uses": [{"name": "f"}, {"name": "g"}]}}
    as_events = steps({"content": {"parts": [CALL, CALL]}}, {"content": {"parts": [CALL]}}, {})
    result = evaluate("tool_call_count_v1", as_list, as_events, {})
    assert [turn.score for turn in result.per_invocation_results] == [2, 3, 0]
    assert result.overall_score == pytest.approx(5 / 3)


def test_inference_calls_are_events_with_usage_or_a_model_version() -> None:
    recorded = steps({"usage_metadata": {}}, {"model_version": "m-1"}, {"content": {"parts": [CALL]}})
    written_by_hand = {"intermediate_data": {"tool_uses": []}}
    result = evaluate("inference_call_count_v1", recorded, written_by_hand)
    assert [turn.score for turn in result.per_invocation_results] == [2, None]
    assert result.overall_score == 2


def test_tokens_are_summed_by_kind_and_unreported_kinds_are_none() -> None:
    usage = {"prompt_token_count": 10, "candidates_token_count": 4, "thoughts_token_count": 1}
    result = evaluate("token_usage_v1", steps({"usage_metadata": usage}, {"usage_metadata": usage}))
    assert result.overall_score == 30
    assert result.details == {
        "total_tokens": 30,
        "input_tokens": 20,
        "prompt_tokens": 20,
        "cached_tokens": None,
        "tool_use_tokens": None,
        "output_tokens": 10,
        "candidates_tokens": 8,
        "reasoning_tokens": 2,
    }


def test_turn_without_a_kind_of_tokens_lowers_its_mean() -> None:
    cached = {"prompt_token_count": 10, "cached_content_token_count": 8}
    result = evaluate(
        "token_usage_v1",
        steps({"usage_metadata": cached}),
        steps({"usage_metadata": {"prompt_token_count": 10}}),
    )
    assert result.details is not None
    assert (result.details["cached_tokens"], result.overall_score) == (4, 10)


def test_framework_has_the_seconds_that_model_and_tools_leave() -> None:
    timed = {"duration": 2.0, "model_duration": 1.25, "tool_duration": 0.5}
    result = evaluate("invocation_duration_v1", timed, {})
    assert result.overall_score == 2
    assert result.details is not None
    assert result.details["framework_seconds"] == 0.25
    assert result.per_invocation_results[1].score is None


def test_overlapping_seconds_leave_the_framework_none() -> None:
    result = evaluate(
        "invocation_duration_v1", {"duration": 1.0, "model_duration": 1.0, "tool_duration": 0.5}
    )
    assert result.details is not None
    assert result.details["framework_seconds"] == 0
