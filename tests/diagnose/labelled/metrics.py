"""Metrics of one's own that the failures use."""

from __future__ import annotations

from threading import Event
from typing import Any

from agent_eval import EvalStatus, EvaluationResult, PerInvocationResult


def same_text(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return float(actual[0].final_response.text == expected[0].final_response.text)


def broken(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return float(actual[7].final_response.text)


def unset(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return 1.0 if len(actual) >= eval_metric.threshold else 0.0


def reckons(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return 1.0 - eval_metric.threshold


async def negates(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return max(0.0, eval_metric.threshold / 2)


def limited(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    raise RuntimeError("quota exceeded")


def throttled(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    raise RuntimeError("429 Too Many Requests")


def missing_file(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    raise FileNotFoundError("no such file: golden.csv")


def bad_division(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return 1 / 0


def slow(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    Event().wait(0.8)
    return 1.0


def text(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> str:
    return "good"


def nothing(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> None:
    return None


def infinite(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return float("inf")


def undecided(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> EvaluationResult:
    return EvaluationResult()


def scored_only(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> EvaluationResult:
    return EvaluationResult(overall_score=0.7)


def says_why(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> EvaluationResult:
    return EvaluationResult(reason="this case has no rows")


def low(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return 0.25


def lower_is_better(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> EvaluationResult:
    return EvaluationResult(overall_score=0.9, overall_eval_status=EvalStatus.FAILED)


def rates(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> EvaluationResult:
    rows = [
        PerInvocationResult(score=0.0, eval_status=EvalStatus.FAILED, rationale="not one polite word")
        for _ in actual
    ]
    return EvaluationResult(
        overall_score=0.0, overall_eval_status=EvalStatus.FAILED, per_invocation_results=rows
    )


def lengths(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return min(1.0, len(actual[0].final_response.text) / 100)


def zero(eval_metric: Any, actual: Any, expected: Any, scenario: Any) -> float:
    return 0.0
