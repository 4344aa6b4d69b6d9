"""Scores one run: every configured metric, each on its own, exceptions turned into data."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import math
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any

from agent_eval import serde
from agent_eval.errors import InputError, Problem
from agent_eval.metrics.base import EvaluationResult, Evaluator, PerInvocationResult, RunContext
from agent_eval.metrics.configured import ConfiguredMetric
from agent_eval.schema.config import Better, Interval
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import ErrorInfo, InvocationScore, MetricResult, RubricScore
from agent_eval.schema.trace import EvalStatus, Invocation

DEFAULT_TIMEOUT = 120.0
"""Seconds a metric may take for one run."""


UNSET_THRESHOLD = re.compile("not supported between .*NoneType|unsupported operand .*NoneType")
"""What Python says where a metric compares or reckons with `eval_metric.threshold`."""


class MetricError(Exception):
    """A metric that gave something that is no result; the message says what."""


class Scorer:
    """The metrics of one evaluation, built once."""

    def __init__(self, metrics: Sequence[ConfiguredMetric], timeout: float | None = DEFAULT_TIMEOUT) -> None:
        """Builds every evaluator.

        Raises:
            InputError: one of them cannot be built, for whatever reason.
        """
        self._evaluators = [(metric, _built(metric, metric.build)) for metric in metrics if metric.build]
        self._timeout = timeout
        self._turn = asyncio.Lock()

    async def score(
        self,
        case: EvalCase,
        invocations: list[Invocation],
        state: Mapping[str, Any],
        context: Sequence[Invocation] = (),
    ) -> list[MetricResult]:
        """One result a metric, in the config's order.

        Of runs that end together one is scored in each round of the event loop, so that the
        runs that take their places need not wait for all of them.
        """
        async with self._turn:
            await asyncio.sleep(0)
        run = RunContext(case, invocations, state, context)
        return [await self._measure(metric, evaluator, run) for metric, evaluator in self._evaluators]

    async def aclose(self) -> None:
        """Closes the evaluators. What one of them raises hinders no other, and no result."""
        for _, evaluator in self._evaluators:
            with suppress(Exception):
                await evaluator.aclose()

    async def _measure(self, metric: ConfiguredMetric, evaluator: Evaluator, run: RunContext) -> MetricResult:
        """The one place where a metric's failure becomes data. Only our own cancellation passes."""
        limit = asyncio.timeout(None if metric.needs_judge else self._timeout)  # judges keep their own time
        try:
            result: Any = evaluator.evaluate_run(run)
            if inspect.isawaitable(result):
                async with limit:
                    result = await result
            return metric_result(result, metric, len(run.invocations))
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            if isinstance(error, TimeoutError) and limit.expired():
                error = MetricError(f"took longer than {self._timeout:g} s (--metric_timeout)")
            return _failure(metric, error)


def _built(metric: ConfiguredMetric, build: Callable[[], Evaluator]) -> Evaluator:
    place = f"criteria.{metric.name}"
    try:
        return build()
    except InputError as error:
        problems = [dataclasses.replace(problem, path=problem.path or place) for problem in error.problems]
        raise InputError(*problems) from None
    except Exception as error:  # whatever the constructor of a user's evaluator does
        told = f"the metric cannot be set up: {type(error).__name__}: {serde.told(error)}"
        raise InputError(Problem(told, path=place)) from error


def _failure(metric: ConfiguredMetric, error: BaseException) -> MetricResult:
    message = serde.told(error)
    told = message if isinstance(error, MetricError) else f"{type(error).__name__}: {message}"
    if (
        isinstance(error, TypeError)
        and UNSET_THRESHOLD.search(message)
        and metric.eval_metric.custom_function_path
    ):
        told += " (eval_metric.threshold is None by contract: read eval_metric.criterion.threshold)"
    trace = None if isinstance(error, MetricError) else "".join(traceback.format_tb(error.__traceback__, -20))
    return MetricResult(
        metric_name=metric.name,
        status=EvalStatus.NOT_EVALUATED,
        threshold=metric.threshold,
        reason=told,
        error=ErrorInfo(type=type(error).__name__, message=message, traceback=trace and trace + told),
    )


def metric_result(given: Any, metric: ConfiguredMetric, turns: int) -> MetricResult:
    """What a metric gave, as it goes on record.

    A finite number is the overall score. An object with the attributes of a result is one.

    Raises:
        MetricError: it is neither, or contradicts itself.
    """
    if isinstance(given, Real) and not isinstance(given, bool):  # numpy's numbers too
        given = _from_number(float(given), metric)
    if inspect.iscoroutine(given):
        given.close()  # or Python warns that nobody awaited it
    if isinstance(given, type) or not hasattr(given, "overall_eval_status"):
        raise MetricError(f"returned {_named(given)}, not an EvaluationResult or a number")
    score, status = _finite(given.overall_score), _status(given.overall_eval_status)
    rows = [_row(row) for row in given.per_invocation_results or ()]
    is_scored = score is not None or bool(rows)
    if rows and len(rows) != turns:
        if status in (EvalStatus.PASSED, EvalStatus.FAILED):
            raise MetricError(f"returned {len(rows)} per-invocation results for {turns} turns")
        rows = []  # nobody can tell which turns they are of
    if metric.interval and score is not None:
        _check_range(score, metric.interval)
    details = getattr(given, "details", None)
    own = given if isinstance(given, EvaluationResult) else None
    return MetricResult(
        metric_name=metric.name,
        status=status,
        score=score,
        threshold=metric.threshold,
        per_invocation=rows,
        rubric_scores=_rubrics(getattr(given, "overall_rubric_scores", None)),
        details=None if len(rows) == 1 and not metric.gates else _known(details),
        reason=_why_not(own, is_scored) if status is EvalStatus.NOT_EVALUATED else None,
        warnings=own.warnings if own else [],
        judge=own and own.judge,
    )


def _why_not(result: EvaluationResult | None, is_scored: bool) -> str:
    """Why a metric that raised nothing has not evaluated a run."""
    if result and result.reason:
        return result.reason
    if is_scored:
        return "the metric returned scores, but left overall_eval_status at NOT_EVALUATED"
    return "the metric did not evaluate the run"


def _from_number(score: float, metric: ConfiguredMetric) -> EvaluationResult:
    _finite(score)
    threshold = metric.threshold or 0.0
    lower = metric.info.better is Better.LOWER
    met = score <= threshold if lower else score >= threshold
    return EvaluationResult(
        overall_score=score, overall_eval_status=EvalStatus.PASSED if met else EvalStatus.FAILED
    )


def _row(row: Any) -> InvocationScore:
    score = row.score
    return InvocationScore(
        score=score if score is None or math.isfinite(score) else None,
        status=_status(row.eval_status),
        rationale=row.rationale if isinstance(row, PerInvocationResult) else None,
        rubric_scores=_rubrics(getattr(row, "rubric_scores", None)),
        details=_known(getattr(row, "details", None)),
    )


def _status(given: Any) -> EvalStatus:
    if isinstance(given, EvalStatus):
        return given
    name = str(getattr(given, "name", None))  # of ADK's own enum
    if name not in EvalStatus.__members__:
        raise MetricError(f"returned the status {given!r}, not an EvalStatus")
    return EvalStatus[name]


def _finite(score: Any) -> float | None:
    if score is not None and not math.isfinite(score):
        raise MetricError(f"returned the score {score}, not a finite number")
    return None if score is None else float(score)


def _rubrics(scores: Any) -> list[RubricScore] | None:
    if scores is None:
        return None
    return [
        RubricScore(rubric_id=score.rubric_id, rationale=score.rationale, score=score.score)
        for score in scores
    ]


def _check_range(score: float, interval: Interval) -> None:
    low, high = interval.min_value, interval.max_value
    below = score < low or (interval.open_at_min and score == low)
    above = score > high or (interval.open_at_max and score == high)
    if below or above:
        raise MetricError(f"returned the score {score}, outside its range of {low} to {high}")


def _named(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _known(details: Mapping[str, float | None] | None) -> dict[str, float] | None:
    if not details:
        return None
    return {
        key: value for key, value in details.items() if value is not None and math.isfinite(value)
    } or None
