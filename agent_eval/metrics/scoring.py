"""Scores one run: every configured metric, each on its own, exceptions turned into data."""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Sequence

from agent_eval.metrics.base import EvaluationResult, Evaluator
from agent_eval.metrics.registry import ConfiguredMetric
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import ErrorInfo, InvocationScore, MetricResult
from agent_eval.schema.trace import EvalStatus, Invocation


class Scorer:
    """The metrics of one evaluation, built once."""

    def __init__(self, metrics: Sequence[ConfiguredMetric]) -> None:
        self._evaluators = [(metric, metric.build()) for metric in metrics if metric.build]

    async def score(self, case: EvalCase, invocations: list[Invocation]) -> list[MetricResult]:
        """One result a metric, in the config's order."""
        return [
            await _measure(metric, evaluator, case, invocations) for metric, evaluator in self._evaluators
        ]


async def _measure(
    metric: ConfiguredMetric, evaluator: Evaluator, case: EvalCase, invocations: list[Invocation]
) -> MetricResult:
    """The one place where a metric's failure becomes data. Only cancellation passes."""
    threshold = metric.eval_metric.criterion.threshold if metric.eval_metric.criterion else None
    try:
        result = evaluator.evaluate_invocations(invocations, case.conversation, case.conversation_scenario)
        if inspect.isawaitable(result):
            result = await result
        return _as_record(metric.name, threshold, result)
    except (Exception, SystemExit) as error:
        return MetricResult(
            metric_name=metric.name,
            status=EvalStatus.NOT_EVALUATED,
            threshold=threshold,
            reason=f"{type(error).__name__}: {error}",
            error=ErrorInfo(
                type=type(error).__name__, message=str(error), traceback=traceback.format_exc(limit=-20)
            ),
        )


def _as_record(name: str, threshold: float | None, result: EvaluationResult) -> MetricResult:
    if result.overall_score is not None and not math.isfinite(result.overall_score):
        raise ValueError(f"the score is {result.overall_score}, not a finite number")
    status = EvalStatus(result.overall_eval_status)
    return MetricResult(
        metric_name=name,
        status=status,
        score=result.overall_score,
        threshold=threshold,
        per_invocation=[
            InvocationScore(
                score=turn.score if turn.score is None or math.isfinite(turn.score) else None,
                status=turn.eval_status,
                rubric_scores=turn.rubric_scores,
                details=_known(turn.details),
            )
            for turn in result.per_invocation_results
        ],
        rubric_scores=result.overall_rubric_scores,
        details=_known(result.details),
        reason="the metric did not evaluate the run" if status is EvalStatus.NOT_EVALUATED else None,
    )


def _known(details: dict[str, float | None] | None) -> dict[str, float] | None:
    return {key: value for key, value in (details or {}).items() if value is not None} or None
