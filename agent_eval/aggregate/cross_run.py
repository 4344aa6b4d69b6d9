"""The runs of a case -> one score and status a metric."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from enum import Enum

from agent_eval.aggregate.outcome import MetricOutcome, RunOutcome
from agent_eval.aggregate.statistics import wilson_interval
from agent_eval.schema.multi_run import CrossRunMethod, CrossRunScoring
from agent_eval.schema.result import CaseMetric
from agent_eval.schema.trace import EvalStatus


class Direction(Enum):
    """Which scores are better, told from how an evaluator judged the runs."""

    HIGHER = "higher"
    LOWER = "lower"
    UNKNOWN = "unknown"
    """Neither explains every verdict."""


def direction_of(metrics: Sequence[MetricOutcome], threshold: float) -> Direction:
    """The direction under which every run's score and status agree; higher if both do.

    A score right at the threshold says nothing: evaluators differ in whether it passes.
    """
    pairs = [
        (m.score, m.status is EvalStatus.PASSED)
        for m in metrics
        if m.score is not None and m.score != threshold
    ]
    if all((score > threshold) == passed for score, passed in pairs):
        return Direction.HIGHER
    if all((score < threshold) == passed for score, passed in pairs):
        return Direction.LOWER
    return Direction.UNKNOWN


def gating_metric(
    name: str, threshold: float, scoring: CrossRunScoring, runs: Sequence[RunOutcome]
) -> CaseMetric:
    """A thresholded metric over the runs of a case. Crashed runs are in no denominator.

    Where a run that did not crash has no score of the metric, the metric is FAILED if the other
    runs fail it, and NOT_EVALUATED otherwise.
    """
    completed = [run for run in runs if not run.is_crashed]
    found = [metric for run in completed if (metric := run.metric(name))]
    if found and not any(metric.gates for metric in found):
        return informational_metric(name, runs)  # a metric may say so of itself
    scored = [metric for metric in found if metric.is_scored]
    passed = sum(metric.status is EvalStatus.PASSED for metric in scored)
    score, against, meets = _combined(scored, passed, threshold, scoring, repeated=len(runs) > 1)
    status = EvalStatus.PASSED if meets else EvalStatus.FAILED
    reason = None
    if not scored or (len(scored) < len(completed) and meets):
        status = EvalStatus.NOT_EVALUATED
        reason = _why_unscored(found, len(completed), len(scored))
    return CaseMetric(
        metric_name=name,
        method=scoring.method.value,
        score=score,
        threshold=against,
        status=status,
        passed=passed,
        scored=len(scored),
        pass_rate=passed / len(scored) if scored else None,
        interval=wilson_interval(passed, len(scored)),
        per_run=[metric.score if (metric := run.metric(name)) else None for run in runs],
        reason=reason,
        warnings=list(dict.fromkeys(warning for metric in found for warning in metric.warnings)),
    )


def _combined(
    scored: Sequence[MetricOutcome],
    passed: int,
    threshold: float,
    scoring: CrossRunScoring,
    *,
    repeated: bool,
) -> tuple[float | None, float, bool]:
    """The score of all runs together, what it is held against, and whether it meets that."""
    if scoring.method is CrossRunMethod.PASS_RATE:
        rate = passed / len(scored) if scored else None
        return rate, scoring.pass_rate, rate is not None and rate >= scoring.pass_rate
    scores = [metric.score for metric in scored if metric.score is not None]
    all_passed = 0 < passed == len(scored)
    if not scores or not repeated:
        return scores[0] if scores else None, threshold, all_passed
    direction = direction_of(scored, threshold)
    if scoring.method is CrossRunMethod.MIN_OVER_RUNS:
        return (max if direction is Direction.LOWER else min)(scores), threshold, all_passed
    turns = [
        score for metric in scored for score in metric.turn_scores or (metric.score,) if score is not None
    ]
    mean = statistics.fmean(turns)
    if direction is Direction.UNKNOWN:
        return mean, threshold, all_passed
    if math.isclose(mean, threshold, rel_tol=ROUNDING):
        ties = [metric.status for metric in scored if metric.score == threshold]
        return mean, threshold, EvalStatus.FAILED not in ties
    return mean, threshold, mean > threshold if direction is Direction.HIGHER else mean < threshold


ROUNDING = 1e-12
"""A mean this close to the threshold is at it: it differs by the rounding of its sum."""


def _why_unscored(found: Sequence[MetricOutcome], completed: int, scored: int) -> str:
    if not completed:
        return "every run crashed"
    reasons = [metric.reason for metric in found if metric.reason and not metric.is_scored]
    reason = reasons[0] if reasons else "no score"
    return reason if completed == 1 else f"no score in {completed - scored} of {completed} runs: {reason}"


def informational_metric(name: str, runs: Sequence[RunOutcome]) -> CaseMetric:
    """An informational metric: the mean of the runs that have it. It never gates."""
    per_run = [metric.score if (metric := run.metric(name)) else None for run in runs]
    scores = [score for score in per_run if score is not None]
    return CaseMetric(
        metric_name=name,
        score=statistics.fmean(scores) if scores else None,
        status=EvalStatus.INFORMATIONAL,
        per_run=per_run,
    )
