"""The candidate's runs under the baseline's rules, so that a moved goalpost changes no verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_eval.aggregate.cross_run import Direction, direction_of
from agent_eval.aggregate.outcome import MetricOutcome, RunOutcome
from agent_eval.aggregate.verdict import case_result
from agent_eval.compare.goalposts import differing_keys
from agent_eval.schema.config import BaseCriterion, EvalConfig
from agent_eval.schema.multi_run import MultiRunConfig
from agent_eval.schema.result import CaseResult, EvalResult, RunScore
from agent_eval.schema.trace import EvalStatus


class Referee:
    """Decides cases of the candidate as the baseline would have, from the scores that are stored."""

    def __init__(self, baseline: EvalResult, candidate: EvalResult) -> None:
        self._wanted = _thresholds(baseline)
        self._given = _thresholds(candidate)
        self._rules = MultiRunConfig.model_validate(baseline.config.multi_run_config)
        self._own_rules = MultiRunConfig.model_validate(candidate.config.multi_run_config)
        self.directions = {
            name: _direction(name, (baseline, candidate)) for name in {**self._wanted, **self._given}
        }
        self.obstacles = list(self._obstacles(baseline, candidate))
        """Why no case can be decided again."""
        one_run = {"num_runs": 1}
        self.is_needed = self._wanted != self._given or self._rules.model_copy(
            update=one_run
        ) != self._own_rules.model_copy(update=one_run)
        """Whether the rules differ in more than the number of runs."""

    def _obstacles(self, baseline: EvalResult, candidate: EvalResult) -> Iterator[str]:
        before, after = baseline.config.criteria, candidate.config.criteria
        for name, criterion in before.items():
            if name not in after:
                yield f"{name} is not scored any more"
                continue
            for key in differing_keys(criterion, after[name]):
                if key != "threshold":
                    yield f"{name}.{key} changed"
            code = baseline.config.custom_metrics.get(name)
            if code != candidate.config.custom_metrics.get(name, code):
                yield f"the code of {name} changed"
            if self._wanted[name] != self._given[name]:
                if None in (self._wanted[name], self._given[name]):
                    yield f"{name} has no threshold"
                elif self.directions[name] is Direction.UNKNOWN:
                    yield f"{name} does not tell which scores are better"

    def decided(self, case: CaseResult) -> CaseResult | None:
        """A case of the candidate by the rules of the baseline; None if that cannot be done.

        It cannot where the same computation under the candidate's own rules does not give the
        verdict that is stored, as the verdict then rests on what the summary does not hold.
        """
        if self.obstacles:
            return None
        if not self.is_needed:
            return case
        own = self._decide(case, self._given, self._own_rules)
        return self._decide(case, self._wanted, self._rules) if own.verdict is case.verdict else None

    def _decide(
        self, case: CaseResult, thresholds: dict[str, float | None], rules: MultiRunConfig
    ) -> CaseResult:
        reasons = {metric.metric_name: metric.reason for metric in case.metrics}
        outcomes = []
        for run in case.runs:
            metrics = tuple(
                MetricOutcome(
                    name=name,
                    status=self._status(name, score, threshold),
                    score=score.score,
                    threshold=threshold,
                    turn_scores=(),
                    reason=reasons.get(name),
                )
                for name, threshold in thresholds.items()
                if (score := run.metrics.get(name))
            )
            outcomes.append(RunOutcome(run.run_index, run.status, run.error, run.seconds, metrics, 0, 0))
        criteria: dict[str, BaseCriterion | float] = {
            name: BaseCriterion(threshold=0.0 if threshold is None else threshold)
            for name, threshold in thresholds.items()
        }
        made = rules.model_copy(update={"num_runs": max(1, case.attempts + case.saved)})
        config = EvalConfig.model_construct(criteria=criteria, multi_run_config=made)
        decided = case_result(case.eval_set_id, case.eval_id, case.sha256, config, outcomes, saved=case.saved)
        return decided.model_copy(update={"reasons": case.reasons})

    def _status(self, name: str, run: RunScore, threshold: float | None) -> EvalStatus:
        """What the run's score is against a threshold; as it was where that has not moved."""
        decides = run.status in (EvalStatus.PASSED, EvalStatus.FAILED)
        if not decides or run.score is None or threshold is None or threshold == self._given.get(name):
            return run.status
        lower = self.directions[name] is Direction.LOWER
        met = run.score <= threshold if lower else run.score >= threshold
        return EvalStatus.PASSED if met else EvalStatus.FAILED


def _thresholds(result: EvalResult) -> dict[str, float | None]:
    return {name: criterion.get("threshold") for name, criterion in result.config.criteria.items()}


def _direction(name: str, results: Sequence[EvalResult]) -> Direction:
    """Which scores of a metric are better, told from all its runs on both sides."""
    found = []
    for result in results:
        threshold = result.config.criteria.get(name, {}).get("threshold")
        scores = [run.metrics.get(name) for case in result.cases for run in case.runs]
        found += [
            MetricOutcome(name, one.status, one.score - threshold, 0.0, (), None)
            for one in scores
            if one and one.score is not None and threshold is not None
            if one.status in (EvalStatus.PASSED, EvalStatus.FAILED)
        ]
    return direction_of(found, 0.0)
