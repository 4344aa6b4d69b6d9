"""The verdict of a case, and the totals of a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from agent_eval.aggregate.cross_run import gating_metric, informational_metric
from agent_eval.aggregate.outcome import MetricOutcome, RunOutcome, sum_by_model
from agent_eval.aggregate.statistics import pass_at_k, pass_hat_k, wilson_interval
from agent_eval.schema.config import INFORMATIONAL_METRICS, EvalConfig
from agent_eval.schema.result import (
    CaseResult,
    JudgeTotals,
    JudgeUsage,
    RunScore,
    RunSummary,
    SimulatorTotals,
    SimulatorUsage,
    TokenPrices,
    Totals,
)
from agent_eval.schema.trace import EvalStatus


def merge_statuses(statuses: Iterable[EvalStatus]) -> EvalStatus:
    """FAILED if one failed, else NOT_EVALUATED if one is (or none gates), else PASSED."""
    gating = {status for status in statuses if status is not EvalStatus.INFORMATIONAL}
    if EvalStatus.FAILED in gating:
        return EvalStatus.FAILED
    return EvalStatus.PASSED if gating == {EvalStatus.PASSED} else EvalStatus.NOT_EVALUATED


@dataclass(frozen=True, slots=True)
class Stop:
    """Why an evaluation ended before all of its runs were made."""

    reason: str
    dead_endpoint: bool = False
    """The agent never answered, so that its crashes say nothing about it."""


def case_result(
    eval_set_id: str,
    eval_id: str,
    sha256: str,
    config: EvalConfig,
    outcomes: Sequence[RunOutcome],
    *,
    saved: int = 0,
    stop: Stop | None = None,
) -> CaseResult:
    """The verdict of one case from the outcomes of its runs, in whatever order they finished.

    Args:
        eval_set_id: of its eval set.
        eval_id: of the case.
        sha256: of the case.
        config: the eval config.
        outcomes: of the runs that were made.
        saved: runs that were not made since the verdict stood.
        stop: why runs are missing besides those.
    """
    multi = config.multi_run_config
    runs = sorted(outcomes, key=lambda run: run.run_index)
    scored = sum(run.is_scored for run in runs)
    passed = sum(run.is_passed for run in runs)
    crashed = sum(run.is_crashed for run in runs)
    gating = [
        gating_metric(name, config.criterion(name).threshold, multi.scoring(name), runs)
        for name in config.criteria
    ]
    informational = [informational_metric(n, runs) for n in INFORMATIONAL_METRICS if n not in config.criteria]
    findings = [
        *_crash_findings(crashed, len(runs), multi.max_crashed_runs, stop),
        *_joint_findings(passed, scored, multi.cross_run_criteria),
        *_missing_findings(len(runs) + saved, multi.num_runs, stop, said=0 < crashed == len(runs)),
    ]
    return CaseResult(
        eval_set_id=eval_set_id,
        eval_id=eval_id,
        sha256=sha256,
        verdict=merge_statuses([*(metric.status for metric in gating), *(status for status, _ in findings)]),
        reasons=list(dict.fromkeys(reason for _, reason in findings)),
        flaky=passed > 0 and any(run.is_crashed or run.has_failed for run in runs),
        attempts=len(runs),
        scored=scored,
        passed=passed,
        crashed=crashed,
        retries=sum(run.retries for run in runs),
        saved=saved,
        pass_rate=passed / scored if scored else None,
        interval=wilson_interval(passed, scored),
        pass_at_k=pass_at_k(passed, scored, multi.num_runs) if multi.num_runs > 1 else None,
        pass_hat_k=pass_hat_k(passed, scored, multi.num_runs) if multi.num_runs > 1 else None,
        required_pass_rate=multi.cross_run_criteria,
        metrics=gating + informational,
        runs=[_run_summary(run) for run in runs],
    )


Finding = tuple[EvalStatus, str]
"""A part of the verdict that no metric has, and its reason."""


def _crash_findings(crashed: int, attempts: int, allowed: int, stop: Stop | None) -> Iterator[Finding]:
    if stop and stop.dead_endpoint and 0 < crashed == attempts:
        yield EvalStatus.NOT_EVALUATED, stop.reason
    elif crashed > allowed:
        yield EvalStatus.FAILED, f"{crashed} of {attempts} runs crashed, {allowed} may"


def _joint_findings(passed: int, scored: int, required: float | None) -> Iterator[Finding]:
    if required is not None and not scored:
        yield EvalStatus.NOT_EVALUATED, "no run was scored"
    elif required is not None and passed / scored < required:
        yield (
            EvalStatus.FAILED,
            f"all metrics passed together in {passed} of {scored} runs ({passed / scored:.2f}), "
            f"{required:.2f} is required",
        )


def _missing_findings(accounted: int, planned: int, stop: Stop | None, *, said: bool) -> Iterator[Finding]:
    """Runs that were not made; `said` if the crashes of a dead endpoint have told of them."""
    if accounted < planned and not (stop and stop.dead_endpoint and said):
        reason = f": {stop.reason}" if stop else ""
        yield EvalStatus.NOT_EVALUATED, f"{accounted} of {planned} runs were made{reason}"


def _run_summary(run: RunOutcome) -> RunSummary:
    return RunSummary(
        run_index=run.run_index,
        status=run.status,
        error=run.error,
        seconds=run.seconds,
        retries=run.retries,
        stopped_by=run.stopped_by,
        metrics=_run_scores(tuple(metric for metric in run.metrics if metric.gates)),
    )


@lru_cache(maxsize=4096)
def _run_scores(metrics: tuple[MetricOutcome, ...]) -> dict[str, RunScore]:
    """The scores of a run; runs that scored alike share them."""
    return {metric.name: RunScore(score=metric.score, status=metric.status) for metric in metrics}


def totals(
    cases: Sequence[CaseResult],
    outcomes: Sequence[RunOutcome],
    seconds: float,
    prices: Mapping[str, TokenPrices] | None = None,
) -> Totals:
    """Counts over the cases of a result and the outcomes of their runs.

    Args:
        cases: the results of the cases.
        outcomes: of all their runs.
        seconds: what the evaluation took.
        prices: of models, by name.
    """
    verdicts = [case.verdict for case in cases]
    input_tokens = sum(outcome.input_tokens for outcome in outcomes)
    output_tokens = sum(outcome.output_tokens for outcome in outcomes)
    judges = sum_by_model(usage for outcome in outcomes for usage in outcome.judges)
    simulated = [outcome.simulator for outcome in outcomes if outcome.simulator]
    return Totals(
        cases=len(cases),
        passed=verdicts.count(EvalStatus.PASSED),
        failed=verdicts.count(EvalStatus.FAILED),
        not_evaluated=verdicts.count(EvalStatus.NOT_EVALUATED),
        flaky=sum(case.flaky for case in cases),
        crashed_runs=sum(case.crashed for case in cases),
        retries=sum(case.retries for case in cases),
        saved_runs=sum(case.saved for case in cases),
        duration_seconds=round(seconds, 3),
        tokens={"input": input_tokens, "output": output_tokens, "total": input_tokens + output_tokens},
        judges=[_priced(usage, prices or {}) for usage in judges],
        simulator=_priced_simulator(sum(simulated, SimulatorUsage()), prices or {}) if simulated else None,
    )


def sum_totals(parts: Sequence[Totals]) -> Totals:
    """The totals of results that were made at the same time: it took as long as the longest did."""
    counts = ("cases", "passed", "failed", "not_evaluated", "flaky", "crashed_runs", "retries", "saved_runs")
    models = dict.fromkeys(usage.model for part in parts for usage in part.judges)
    simulators = [part.simulator for part in parts if part.simulator]
    return Totals(
        **{name: sum(getattr(part, name) for part in parts) for name in counts},
        duration_seconds=max(part.duration_seconds for part in parts),
        tokens={kind: sum(part.tokens[kind] for part in parts) for kind in parts[0].tokens},
        judges=[
            _sum_priced([usage for part in parts for usage in part.judges if usage.model == model])
            for model in models
        ],
        simulator=_sum_priced(simulators) if simulators else None,
    )


Priced = TypeVar("Priced", JudgeTotals, SimulatorTotals)


def _sum_priced(usages: Sequence[Priced]) -> Priced:
    """Of one model."""
    first, *others = usages
    total = sum(others, first)
    costs = [usage.cost for usage in usages if usage.cost is not None]
    return type(first)(**dict(total), cost=sum(costs) if len(costs) == len(usages) else None)


def _priced(usage: JudgeUsage, prices: Mapping[str, TokenPrices]) -> JudgeTotals:
    return JudgeTotals(**dict(usage), cost=_cost(usage, prices))


def _priced_simulator(usage: SimulatorUsage, prices: Mapping[str, TokenPrices]) -> SimulatorTotals:
    return SimulatorTotals(**dict(usage), cost=_cost(usage, prices))


def _cost(usage: JudgeUsage | SimulatorUsage, prices: Mapping[str, TokenPrices]) -> float | None:
    known = prices.get(usage.model)
    return known.cost(usage.input_tokens, usage.output_tokens) if known else None
