"""House rules about answers: a metric as a class, and one that needs tool responses."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field

from agent_eval import (
    ConversationScenario,
    EvalMetric,
    EvalStatus,
    EvaluationResult,
    Evaluator,
    Invocation,
    PerInvocationResult,
    get_all_tool_responses,
)
from agent_eval.schema.config import BaseCriterion

PRICE = re.compile(r"\$(\d+(?:\.\d\d)?)")


class ShortAnswersCriterion(BaseCriterion):
    """The options of `ShortAnswers`; a config with others is refused before any agent runs."""

    max_words: int = Field(ge=1)


class ShortAnswers(Evaluator):
    """Share of turns whose answer has at most `max_words` words."""

    criterion_type = ShortAnswersCriterion

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric)
        assert isinstance(eval_metric.criterion, ShortAnswersCriterion)
        self._max_words = eval_metric.criterion.max_words

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Counts words."""
        rows = [
            row(invocation, len(answer(invocation).split()) <= self._max_words)
            for invocation in actual_invocations
        ]
        return result(rows, self.threshold)


def quoted_prices(
    eval_metric: EvalMetric,
    actual_invocations: list[Invocation],
    expected_invocations: list[Invocation] | None,
    conversation_scenario: ConversationScenario | None,
) -> EvaluationResult:
    """1 for each turn that quotes no price but those that a tool has returned in the conversation so far."""
    known: set[float] = set()
    rows = []
    for invocation in actual_invocations:
        for response in get_all_tool_responses(invocation.intermediate_data):
            known |= numbers(response.response)
        quoted = {float(price) for price in PRICE.findall(answer(invocation))}
        rows.append(row(invocation, quoted <= known))
    assert eval_metric.criterion  # a config always gives one
    return result(rows, eval_metric.criterion.threshold)


def numbers(value: Any) -> set[float]:
    """Every number in what a tool returned."""
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return {number for item in items for number in numbers(item)}
    return {float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else set()


def answer(invocation: Invocation) -> str:
    return invocation.final_response.text if invocation.final_response else ""


def row(invocation: Invocation, passed: bool) -> PerInvocationResult:
    status = EvalStatus.PASSED if passed else EvalStatus.FAILED
    return PerInvocationResult(actual_invocation=invocation, score=float(passed), eval_status=status)


def result(rows: list[PerInvocationResult], threshold: float) -> EvaluationResult:
    """The share of turns that passed, against the threshold."""
    share = sum(row.score or 0.0 for row in rows) / len(rows)
    status = EvalStatus.PASSED if share >= threshold else EvalStatus.FAILED
    return EvaluationResult(overall_score=share, overall_eval_status=status, per_invocation_results=rows)
