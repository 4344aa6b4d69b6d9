"""What changed from a baseline to a candidate: first the goalposts, then the cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from pydantic import computed_field

from agent_eval.aggregate.cross_run import Direction
from agent_eval.aggregate.significance import (
    ALPHA,
    CaseTest,
    Counts,
    case_tests,
    exact_test,
    runs_to_tell,
    times_the_runs,
)
from agent_eval.compare.gate import Gate
from agent_eval.compare.goalposts import GoalpostChange, goalposts, is_edited
from agent_eval.compare.referee import Referee
from agent_eval.schema.base import Value
from agent_eval.schema.result import CaseMetric, CaseResult, EvalResult
from agent_eval.schema.trace import EvalStatus


class Change(StrEnum):
    """What became of a case, judged by the baseline's rules. The order is that of the report."""

    REGRESSED = "regressed"
    """It passed, and does not any more; or fewer of its runs pass, by more than noise."""
    FIXED = "fixed"
    """It did not pass, and does."""
    MOVED = "moved"
    """Its verdict changed with the goalposts, or as far as can be told may have."""
    NEW = "new"
    REMOVED = "removed"
    """It was not run any more."""
    UNCHANGED = "unchanged"


class ScoreChange(Value):
    """A metric's score in both results."""

    metric_name: str
    before: float | None
    after: float | None
    worse: bool = False
    """It was better before."""

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
    flaky_before: bool = False
    flaky_after: bool = False
    p_value: float | None = None
    """How often chance alone tells the pass rates at least as far apart; None where none can be compared."""
    adjusted_p: float | None = None
    """The same in view of all the cases that were compared."""
    within_noise: bool = False
    """It differs, and its pass rates by no more than chance would have it."""
    runs_to_settle: int | None = None
    """About how many runs a side would tell such pass rates apart, where these do not."""
    case_changed: bool = False
    """The case itself is not the same in both."""
    note: str | None = None
    """What else to know of the change."""
    scores: list[ScoreChange] = []

    @property
    def is_drop(self) -> bool:
        """Whether anything about the case is worse."""
        passed = self.before is EvalStatus.PASSED
        if self.change is Change.NEW:
            return False
        if self.change is Change.REGRESSED or (passed and self.after is not EvalStatus.PASSED):
            return True
        fewer = (self.pass_rate_after or 0.0) < (self.pass_rate_before or 0.0)
        return self.change is not Change.REMOVED and (fewer or any(score.worse for score in self.scores))


class SuiteChange(Value):
    """All cases whose runs can be compared, together."""

    cases: int
    """How many there are."""
    pass_rate_before: float | None = None
    """Mean over these cases of the share of runs that passed."""
    pass_rate_after: float | None = None
    p_value: float | None = None
    """Of the exact test over all of them."""
    within_noise: bool = False
    runs_to_settle: int | None = None
    """About how many runs of each case would tell such a difference."""
    scores: list[ScoreChange] = []
    """Means over the cases that are in both results and have the score in both."""

    @property
    def has_dropped(self) -> bool:
        """Whether fewer runs pass, by more than noise."""
        return self._is_beyond_noise and self._difference < 0

    @property
    def _difference(self) -> float:
        return (self.pass_rate_after or 0.0) - (self.pass_rate_before or 0.0)

    @property
    def _is_beyond_noise(self) -> bool:
        return self.p_value is not None and self.p_value <= ALPHA


class Comparison(Value):
    """Everything that changed."""

    eval_set_id: str
    """Of the candidate."""
    baseline: str
    """Result id."""
    candidate: str
    goalposts: list[GoalpostChange]
    incomparable: list[str]
    """Why the candidate's scores cannot be held against the baseline's rules."""
    suite: SuiteChange
    cases: list[CaseChange]
    counts: dict[Change, int]

    def fails(self, gate: Gate) -> bool:
        """Whether something became worse that a gate does not let pass."""
        regressed = [case for case in self.cases if case.change is Change.REGRESSED]
        if self.suite.has_dropped or any(not case.within_noise for case in regressed):
            return True
        if gate is Gate.NOISE_EXCLUDED:
            return False
        return bool(regressed) or (gate is Gate.ANY_DROP and any(case.is_drop for case in self.cases))


@dataclass(frozen=True, slots=True)
class _Pair:
    """A case that is in both results."""

    before: CaseResult
    after: CaseResult
    decided: CaseResult | None
    """As the baseline would have decided it; None if that cannot be told."""

    @property
    def counts(self) -> Counts | None:
        """Its runs, if they can be compared. One that crashed or has no verdict has not passed."""
        if self.decided is None or not self.before.attempts or not self.after.attempts:
            return None
        return Counts(self.before.passed, self.before.attempts, self.decided.passed, self.decided.attempts)

    @property
    def has_other_runs(self) -> bool:
        """Whether the case was to be run more often on one side, so that passing was harder there."""
        return self.before.attempts + self.before.saved != self.after.attempts + self.after.saved


def compare(baseline: EvalResult, candidate: EvalResult) -> Comparison:
    """Compares two results case by case. Regressions come first."""
    referee = Referee(baseline, candidate)
    before = {case.eval_id: case for case in baseline.cases}
    after = {case.eval_id: case for case in candidate.cases}
    pairs = {name: _pair(before[name], after[name], referee) for name in before if name in after}
    counts = {name: found for name, pair in pairs.items() if (found := pair.counts)}
    tests = dict(zip(counts, case_tests(list(counts.values())), strict=True))
    same_set = bool(baseline.eval_set.sha256) and baseline.eval_set.sha256 == candidate.eval_set.sha256
    changes = [
        *(_change(pair, counts.get(name), tests.get(name), referee) for name, pair in pairs.items()),
        *(_new(case) for name, case in after.items() if name not in before),
        *(_removed(case, skipped=same_set) for name, case in before.items() if name not in after),
    ]
    places = {name: place for place, name in enumerate({**before, **after})}
    order = list(Change)
    changes.sort(key=lambda change: (order.index(change.change), places[change.eval_id]))
    return Comparison(
        eval_set_id=candidate.eval_set.eval_set_id,
        baseline=baseline.result_id,
        candidate=candidate.result_id,
        goalposts=list(goalposts(baseline, candidate)),
        incomparable=referee.obstacles,
        suite=_suite(list(pairs.values()), list(counts.values()), referee),
        cases=changes,
        counts={kind: sum(change.change is kind for change in changes) for kind in Change},
    )


def _pair(before: CaseResult, after: CaseResult, referee: Referee) -> _Pair:
    return _Pair(before, after, None if is_edited(before, after) else referee.decided(after))


def _new(case: CaseResult) -> CaseChange:
    return CaseChange(
        eval_id=case.eval_id,
        change=Change.NEW,
        after=case.verdict,
        pass_rate_after=case.pass_rate,
        runs_after=_runs(case),
        flaky_after=case.flaky,
    )


def _removed(case: CaseResult, *, skipped: bool) -> CaseChange:
    return CaseChange(
        eval_id=case.eval_id,
        change=Change.REMOVED,
        before=case.verdict,
        pass_rate_before=case.pass_rate,
        runs_before=_runs(case),
        flaky_before=case.flaky,
        note="skipped: the eval set has it still" if skipped else None,
    )


def _change(pair: _Pair, counts: Counts | None, test: CaseTest | None, referee: Referee) -> CaseChange:
    before, after = pair.before, pair.after
    change, note = _kind(pair, counts, test)
    differs = change in (Change.REGRESSED, Change.FIXED) or bool(counts and counts.difference)
    within_noise = bool(test and not test.is_beyond_noise and differs)
    rates = _rates(counts) if counts else (0.0, 0.0)
    return CaseChange(
        eval_id=after.eval_id,
        change=change,
        before=before.verdict,
        after=after.verdict,
        pass_rate_before=before.pass_rate,
        pass_rate_after=after.pass_rate,
        runs_before=_runs(before),
        runs_after=_runs(after),
        flaky_before=before.flaky,
        flaky_after=after.flaky,
        p_value=test and test.p_value,
        adjusted_p=test and test.adjusted,
        within_noise=within_noise,
        runs_to_settle=runs_to_tell(*rates, test.compared) if test and within_noise else None,
        case_changed=is_edited(before, after),
        note=note,
        scores=list(_score_changes(_gating(before), _gating(after), referee)),
    )


def _rates(counts: Counts) -> tuple[float, float]:
    return counts.passed_before / counts.runs_before, counts.passed_after / counts.runs_after


def _runs(case: CaseResult) -> str:
    return f"{case.passed}/{case.scored}" + (f" +{case.crashed} crashed" if case.crashed else "")


UNKNOWN = "not to be told: the goalposts moved"
FEWER_OR_MORE_RUNS = "may pass only by another number of runs"


def _kind(pair: _Pair, counts: Counts | None, test: CaseTest | None) -> tuple[Change, str | None]:
    """What became of a case, and what to know of that.

    Where it cannot be told how the baseline would have judged, a case that fails has regressed, and
    one that passes is not fixed.
    """
    beyond = bool(test and test.is_beyond_noise)
    passed, passes = (case.verdict is EvalStatus.PASSED for case in (pair.before, pair.after))
    if pair.decided is None:
        if passed == passes:
            return Change.UNCHANGED, None
        note = "not to be told: the case was edited" if is_edited(pair.before, pair.after) else UNKNOWN
        return (Change.REGRESSED, "under other goalposts") if passed else (Change.MOVED, note)
    would_pass = pair.decided.verdict is EvalStatus.PASSED
    if passed and not would_pass:
        return Change.REGRESSED, "passes by the moved goalposts alone" if passes else None
    if beyond and counts and counts.difference < 0:
        return Change.REGRESSED, "passes less often"
    if would_pass != passes:
        return Change.MOVED, f"{'passes' if passes else 'fails'} by the moved goalposts alone"
    if passed == passes:
        return Change.UNCHANGED, None
    is_steady = pair.before.passed == 0 and pair.after.passed == pair.after.attempts
    if pair.has_other_runs and not is_steady and not beyond:
        return Change.MOVED, FEWER_OR_MORE_RUNS
    return Change.FIXED, None


def _gating(case: CaseResult) -> dict[str, CaseMetric]:
    return {metric.metric_name: metric for metric in case.metrics if metric.threshold is not None}


def _score_changes(
    old: dict[str, CaseMetric], new: dict[str, CaseMetric], referee: Referee
) -> Iterator[ScoreChange]:
    """Thresholded metrics whose score is not the same in both."""
    for name in {**old, **new}:
        if name not in old or name not in new or old[name].score != new[name].score:
            before = old[name].score if name in old else None
            after = new[name].score if name in new else None
            rate = name in new and new[name].method == "pass_rate"
            yield _score_change(name, before, after, referee, rate=rate)


def _score_change(
    name: str, before: float | None, after: float | None, referee: Referee, *, rate: bool = False
) -> ScoreChange:
    lower = not rate and referee.directions.get(name) is Direction.LOWER
    worse = before is not None and after is not None and (after > before if lower else after < before)
    return ScoreChange(metric_name=name, before=before, after=after, worse=worse)


def _suite(pairs: Sequence[_Pair], counts: Sequence[Counts], referee: Referee) -> SuiteChange:
    if not counts:
        return SuiteChange(cases=0, scores=_mean_scores(pairs, referee))
    p_value = exact_test(counts).two_sided
    before, after = (fmean(rates) for rates in zip(*map(_rates, counts), strict=True))
    within_noise = p_value > ALPHA and before != after
    times = times_the_runs(counts) if within_noise else None
    runs = fmean((one.runs_before + one.runs_after) / 2 for one in counts)
    return SuiteChange(
        cases=len(counts),
        pass_rate_before=before,
        pass_rate_after=after,
        p_value=p_value,
        within_noise=within_noise,
        runs_to_settle=None if times is None else max(round(runs) + 1, round(times * runs)),
        scores=_mean_scores(pairs, referee),
    )


def _mean_scores(pairs: Sequence[_Pair], referee: Referee) -> list[ScoreChange]:
    """Each metric's mean over the cases that have its score on both sides."""
    both: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        old, new = _gating(pair.before), _gating(pair.after)
        for name in old.keys() & new.keys():
            one, other = old[name].score, new[name].score
            if one is not None and other is not None and old[name].method == new[name].method:
                both.setdefault(name, []).append((one, other))
    return [
        _score_change(
            name, fmean(before for before, _ in both[name]), fmean(after for _, after in both[name]), referee
        )
        for name in referee.directions
        if name in both
    ]
