"""What a verdict needs to know of a run: small enough to keep while records go to disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from agent_eval.schema.result import (
    JudgeUsage,
    MetricResult,
    RunError,
    RunRecord,
    RunStatus,
    SimulatorUsage,
    StoppedBy,
)
from agent_eval.schema.trace import EvalStatus


@dataclass(frozen=True, slots=True)
class MetricOutcome:
    """One metric of one run."""

    name: str
    status: EvalStatus
    score: float | None
    threshold: float | None
    turn_scores: tuple[float, ...]
    reason: str | None
    warnings: tuple[str, ...] = ()

    @property
    def gates(self) -> bool:
        """Whether the metric has a part in the verdict."""
        return self.status is not EvalStatus.INFORMATIONAL

    @property
    def is_scored(self) -> bool:
        """Whether the metric decided: it said passed or failed."""
        return self.status in (EvalStatus.PASSED, EvalStatus.FAILED)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """One run without its conversation."""

    run_index: int
    status: RunStatus
    error: RunError | None
    seconds: float
    metrics: tuple[MetricOutcome, ...]
    input_tokens: int
    output_tokens: int
    retries: int = 0
    judges: tuple[JudgeUsage, ...] = ()
    """What each judge model was asked."""
    stopped_by: StoppedBy | None = None
    simulator: SimulatorUsage | None = None

    @property
    def is_crashed(self) -> bool:
        """Whether the run ended before it could be scored."""
        return self.status is RunStatus.CRASHED

    @property
    def is_scored(self) -> bool:
        """Whether at least one thresholded metric decided."""
        return not self.is_crashed and any(metric.is_scored for metric in self.metrics)

    @property
    def is_passed(self) -> bool:
        """Whether every thresholded metric passed, and there was one."""
        gating = [metric for metric in self.metrics if metric.gates]
        return bool(gating) and all(metric.status is EvalStatus.PASSED for metric in gating)

    @property
    def has_failed(self) -> bool:
        """Whether a thresholded metric failed."""
        return any(metric.status is EvalStatus.FAILED for metric in self.metrics)

    def metric(self, name: str) -> MetricOutcome | None:
        """One metric of the run, None if it was not computed."""
        return next((metric for metric in self.metrics if metric.name == name), None)


def outcome_of(record: RunRecord) -> RunOutcome:
    """The outcome of a run record."""
    tokens = record.metric("token_usage_v1")
    return RunOutcome(
        run_index=record.run_index,
        status=record.status,
        error=RunError(type=record.error.type, message=record.error.message) if record.error else None,
        seconds=record.seconds,
        metrics=tuple(_metric_outcome(metric) for metric in record.metrics),
        input_tokens=_sum_over_turns(tokens, "input_tokens"),
        output_tokens=_sum_over_turns(tokens, "output_tokens"),
        retries=len(record.failed_attempts),
        judges=sum_by_model(metric.judge for metric in record.metrics if metric.judge),
        stopped_by=record.stopped_by,
        simulator=record.simulator,
    )


def sum_by_model(usages: Iterable[JudgeUsage]) -> tuple[JudgeUsage, ...]:
    """What each model was asked in all."""
    sums: dict[str, JudgeUsage] = {}
    for usage in usages:
        sums[usage.model] = sums[usage.model] + usage if usage.model in sums else usage
    return tuple(sums.values())


def _metric_outcome(metric: MetricResult) -> MetricOutcome:
    turns = () if metric.status is EvalStatus.INFORMATIONAL else metric.per_invocation
    return _shared_outcome(
        metric.metric_name,
        metric.status,
        metric.score,
        metric.threshold,
        tuple(turn.score for turn in turns if turn.score is not None),
        metric.reason,
        tuple(metric.warnings),
    )


_shared_outcome = lru_cache(maxsize=4096)(MetricOutcome)
"""Runs that scored alike share one object: most of many thousand do."""


def _sum_over_turns(metric: MetricResult | None, key: str) -> int:
    turns = metric.per_invocation if metric else []
    return sum(int((turn.details or {}).get(key) or 0) for turn in turns)
