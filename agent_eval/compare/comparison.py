"""What changed from a baseline to a candidate: first the goalposts, then the cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum

from pydantic import computed_field

from agent_eval.schema.base import Value
from agent_eval.schema.result import CaseMetric, CaseResult, EvalResult
from agent_eval.schema.trace import EvalStatus


class Change(StrEnum):
    """What became of a case. The order is that of the report."""

    REGRESSED = "regressed"
    """It passed, and does not any more."""
    FIXED = "fixed"
    """It did not pass, and does."""
    NEW = "new"
    GONE = "gone"
    UNCHANGED = "unchanged"


class GoalpostChange(Value):
    """Something besides the agent that differs, and may account for a difference in scores."""

    what: str
    before: str
    after: str


class ScoreChange(Value):
    """A metric's score in both results."""

    metric_name: str
    before: float | None
    after: float | None

    @computed_field  # type: ignore[prop-decorator] # pydantic's own pattern; mypy has no rule for it
    @property
    def delta(self) -> float | None:
        """After minus before; None unless both are there."""
        return None if self.before is None or self.after is None else self.after - self.before


class CaseChange(Value):
    """One case in both results."""

    eval_id: str
    change: Change
    before: EvalStatus | None = None
    after: EvalStatus | None = None
    pass_rate_before: float | None = None
    pass_rate_after: float | None = None
    runs_before: str | None = None
    """Passed of scored runs, like `4/5` or `3/3 +1 crashed`."""
    runs_after: str | None = None
    within_noise: bool = False
    """The rates differ by no more than their 95 % intervals allow."""
    case_changed: bool = False
    """The case itself is not the same in both."""
    scores: list[ScoreChange] = []


class Comparison(Value):
    """Everything that changed."""

    baseline: str
    """Result id."""
    candidate: str
    goalposts: list[GoalpostChange]
    cases: list[CaseChange]
    counts: dict[Change, int]

    @property
    def has_regressed(self) -> bool:
        """Whether a case that passed does not any more."""
        return self.counts[Change.REGRESSED] > 0


def compare(baseline: EvalResult, candidate: EvalResult) -> Comparison:
    """Compares two results case by case. Regressions come first."""
    before = {case.eval_id: case for case in baseline.cases}
    after = {case.eval_id: case for case in candidate.cases}
    changes = [_case_change(name, before.get(name), after.get(name)) for name in {**before, **after}]
    order = list(Change)
    changes.sort(key=lambda change: order.index(change.change))
    return Comparison(
        baseline=baseline.result_id,
        candidate=candidate.result_id,
        goalposts=[*_goalposts(baseline, candidate), *_changed_cases(changes)],
        cases=changes,
        counts={kind: sum(change.change is kind for change in changes) for kind in Change},
    )


def _case_change(eval_id: str, before: CaseResult | None, after: CaseResult | None) -> CaseChange:
    return CaseChange(
        eval_id=eval_id,
        change=_kind(before, after),
        before=before.verdict if before else None,
        after=after.verdict if after else None,
        pass_rate_before=before.pass_rate if before else None,
        pass_rate_after=after.pass_rate if after else None,
        runs_before=_runs(before) if before else None,
        runs_after=_runs(after) if after else None,
        within_noise=before is not None and after is not None and is_within_noise(before, after),
        case_changed=bool(before and after and _differ(before.sha256, after.sha256)),
        scores=_score_changes(before, after),
    )


def _differ(before: str, after: str) -> bool:
    """Whether two digests are of different things; results of ADK have none."""
    return bool(before and after) and before != after


def _runs(case: CaseResult) -> str:
    return f"{case.passed}/{case.scored}" + (f" +{case.crashed} crashed" if case.crashed else "")


def _kind(before: CaseResult | None, after: CaseResult | None) -> Change:
    if before is None:
        return Change.NEW
    if after is None:
        return Change.GONE
    passed, passes = before.verdict is EvalStatus.PASSED, after.verdict is EvalStatus.PASSED
    if passed == passes:
        return Change.UNCHANGED
    return Change.REGRESSED if passed else Change.FIXED


def is_within_noise(before: CaseResult, after: CaseResult) -> bool:
    """Whether repeated runs whose pass rates differ could well have the same one behind them.

    That is so when the 95 % interval of the difference holds zero. The interval is Newcombe's
    (1998, method 10), made of the two Wilson intervals. A single run is no rate.
    """
    if min(before.scored, after.scored) < 2 or before.pass_rate == after.pass_rate:
        return False
    if before.interval is None or after.interval is None:
        return False
    one, other = before.passed / before.scored, after.passed / after.scored
    difference = other - one
    low = difference - math.hypot(other - after.interval[0], before.interval[1] - one)
    high = difference + math.hypot(after.interval[1] - other, one - before.interval[0])
    return low <= 0.0 <= high


def _score_changes(before: CaseResult | None, after: CaseResult | None) -> list[ScoreChange]:
    """Thresholded metrics whose score is not the same in both."""
    old, new = _gating(before), _gating(after)
    return [
        ScoreChange(
            metric_name=name,
            before=old[name].score if name in old else None,
            after=new[name].score if name in new else None,
        )
        for name in {**old, **new}
        if before and after and (name not in old or name not in new or old[name].score != new[name].score)
    ]


def _gating(case: CaseResult | None) -> dict[str, CaseMetric]:
    metrics = case.metrics if case else []
    return {metric.metric_name: metric for metric in metrics if metric.threshold is not None}


def _goalposts(baseline: EvalResult, candidate: EvalResult) -> Iterator[GoalpostChange]:
    """What differs between the two besides the agent's answers."""
    yield from _differs("eval set", baseline.eval_set.eval_set_id, candidate.eval_set.eval_set_id)
    yield from _differs("agent", baseline.agent.name, candidate.agent.name)
    before, after = baseline.config.criteria, candidate.config.criteria
    for name in {**before, **after}:
        if name not in before or name not in after:
            yield GoalpostChange(
                what=name,
                before="a criterion" if name in before else "no criterion",
                after="a criterion" if name in after else "no criterion",
            )
        else:
            yield from _differing_keys(name, before[name], after[name])
    yield from _differing_keys("", baseline.config.multi_run_config, candidate.config.multi_run_config)
    for name, code in baseline.config.custom_metrics.items():
        yield from _differs(f"code of {name}", code, candidate.config.custom_metrics.get(name, code))
    yield from _differs("seed", baseline.provenance.seed, candidate.provenance.seed)
    yield from _differs("stopped early", baseline.stopped, candidate.stopped)


def _differing_keys(prefix: str, before: object, after: object) -> Iterator[GoalpostChange]:
    """Leaves of two nested objects that are not the same, by their place."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            place = f"{prefix}.{key}" if prefix else str(key)
            yield from _differing_keys(place, before.get(key), after.get(key))
    else:
        yield from _differs(prefix, before, after)


def _differs(what: str, before: object, after: object) -> Iterator[GoalpostChange]:
    if before != after:
        yield GoalpostChange(what=what, before=_shown(before), after=_shown(after))


def _shown(value: object) -> str:
    return "not set" if value is None else str(value)


def _changed_cases(changes: list[CaseChange]) -> Iterator[GoalpostChange]:
    for change in changes:
        if change.case_changed:
            yield GoalpostChange(what=f"case {change.eval_id}", before="as it was", after="edited")
