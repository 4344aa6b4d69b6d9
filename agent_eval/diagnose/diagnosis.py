"""Run records -> the causes of what did not pass, most likely first.

Records are looked at one at a time and forgotten; what stays is small. A run that passed costs
nothing: the rules are not even imported before one fails.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_eval.schema.result import (
    CaseMetric,
    CaseResult,
    Cause,
    EvalResult,
    MetricResult,
    RunRecord,
    RunStatus,
)
from agent_eval.schema.trace import EvalStatus

if TYPE_CHECKING:
    from agent_eval.diagnose.base import Clue
    from agent_eval.diagnose.evidence import Evidence, Run

MAX_CAUSES = 5
"""More causes than these of one metric would explain nothing."""

CRASHED = "CRASHED"

_Place = tuple[str, str, str]
"""A case, a metric (none where the run crashed), and what became of it."""
_Key = tuple[str, str]
"""A code, and what it is about."""


@dataclass(slots=True)
class _Tally:
    """How often a cause was seen in the runs of a case."""

    weight: int
    """The earlier it was named in each run, the more."""
    first: int
    """The earliest run, whose words are kept."""
    seen: str
    change: str
    runs: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Found:
    """A cause of one run."""

    key: _Key
    seen: str
    change: str


class Diagnosis:
    """The causes of one evaluation's failures, collected run by run in whatever order they finish."""

    def __init__(
        self, criteria: Mapping[str, Mapping[str, Any]], custom: Iterable[str] = (), agent: str = ""
    ) -> None:
        """Takes what is known of the evaluation.

        Args:
            criteria: of each metric, as the config has them.
            custom: the metrics of the user's own.
            agent: the agent's name.
        """
        self._criteria = criteria
        self._custom = frozenset(custom)
        self._agent = agent
        self._tallies: dict[_Place, dict[_Key, _Tally]] = {}
        self._rubrics: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
        """Metric and rubric -> case -> runs in which it failed, and was judged."""

    def add(self, record: RunRecord) -> None:
        """Looks at a finished run."""
        if record.status is RunStatus.CRASHED:
            self._look_into(record, [])
            return
        self._count_rubrics(record)
        failed = [
            metric
            for metric in record.metrics
            if metric.status in (EvalStatus.FAILED, EvalStatus.NOT_EVALUATED)
        ]
        if failed:
            self._look_into(record, failed)

    def _look_into(self, record: RunRecord, metrics: list[MetricResult]) -> None:
        from agent_eval.diagnose.evidence import Evidence, Run  # none of it is needed where all runs pass

        run = Run(record, self._agent)
        if not metrics:
            self._note(record, "", CRASHED, _explained(run, Evidence(run)))
        for metric in metrics:
            name = metric.metric_name
            evidence = Evidence(run, metric, self._criteria.get(name), is_custom=name in self._custom)
            self._note(record, name, metric.status.value, _explained(run, evidence))

    def _note(self, record: RunRecord, metric: str, outcome: str, found: list[_Found]) -> None:
        tallies = self._tallies.setdefault((record.eval_id, metric, outcome), {})
        for position, one in enumerate(found):
            tally = tallies.setdefault(one.key, _Tally(0, record.run_index, one.seen, one.change))
            tally.weight += 60 // (position + 1)
            tally.runs.append(record.run_index)
            if record.run_index < tally.first:
                tally.first, tally.seen, tally.change = record.run_index, one.seen, one.change

    def _count_rubrics(self, record: RunRecord) -> None:
        for metric in record.metrics:
            rows = [row.rubric_scores for row in metric.per_invocation if row.rubric_scores]
            if not rows and not metric.rubric_scores:
                continue
            worst: dict[str, float] = {}
            for score in (score for scores in rows or [metric.rubric_scores or []] for score in scores):
                if score.score is not None:
                    worst[score.rubric_id] = min(score.score, worst.get(score.rubric_id, score.score))
            for rubric_id, lowest in worst.items():
                cases = self._rubrics.setdefault((metric.metric_name, rubric_id), {})
                failed, judged = cases.get(record.eval_id, (0, 0))
                cases[record.eval_id] = (failed + (lowest < 1), judged + 1)

    def explained(self, result: EvalResult) -> EvalResult:
        """The result with the causes of what did not pass."""
        if not self._tallies:
            return result
        from agent_eval.diagnose.across import every_case

        result = result.model_copy(update={"cases": [self._case(case) for case in result.cases]})
        return result.model_copy(update={"causes": list(every_case(result))})

    def _case(self, case: CaseResult) -> CaseResult:
        crashes = self._causes(case, "", CRASHED)
        metrics = [
            metric.model_copy(update={"causes": self._metric(case, metric, crashes)})
            if metric.status in (EvalStatus.FAILED, EvalStatus.NOT_EVALUATED)
            else metric
            for metric in case.metrics
        ]
        return case.model_copy(update={"causes": crashes, "metrics": metrics})

    def _metric(self, case: CaseResult, metric: CaseMetric, crashes: list[Cause]) -> list[Cause]:
        from agent_eval.diagnose.across import moving_score, rubric_everywhere

        causes = self._causes(case, metric.metric_name, metric.status.value)
        if not causes:
            return crashes or _of_reason(metric)
        whole = [
            cause
            for (name, rubric_id), verdicts in self._rubrics.items()
            if name == metric.metric_name
            and case.eval_id in verdicts
            and (cause := rubric_everywhere(rubric_id, verdicts))
        ]
        moves = moving_score(case, metric)
        mostly_passes = moves is not None and (metric.passed or 0) * 2 >= (metric.scored or 0)
        ordered = [moves] if moves and mostly_passes else []
        ordered += [*whole, *causes]
        ordered += [moves] if moves and not mostly_passes else []
        return ordered[:MAX_CAUSES]

    def _causes(self, case: CaseResult, metric: str, outcome: str) -> list[Cause]:
        """What was seen in the runs of a case, by how early and how often."""
        from agent_eval.diagnose.across import elsewhere

        tallies = self._tallies.get((case.eval_id, metric, outcome), {})
        ranked = sorted(tallies.items(), key=lambda item: (-item[1].weight, item[0]))
        return [
            Cause(
                code=code,
                seen=tally.seen
                + (elsewhere(self._rubrics.get((metric, subject), {}), case.eval_id) if subject else ""),
                change=tally.change,
                runs=sorted(tally.runs) if case.attempts > 1 else [],
            )
            for (code, subject), tally in ranked[:MAX_CAUSES]
        ]


def _of_reason(metric: CaseMetric) -> list[Cause]:
    """All that there is where no record has the metric."""
    from agent_eval.diagnose.unscored import NO_VERDICT
    from agent_eval.diagnose.wording import MAX_SENTENCE, cut

    if not metric.reason:
        return []
    return [
        Cause(
            code=NO_VERDICT,
            seen=cut(f"there is no score: {metric.reason}", MAX_SENTENCE),
            change="see whether the result is of the config that you think of",
        )
    ]


def _explained(run: Run, evidence: Evidence) -> list[_Found]:
    """What the rules find in one run, most likely first."""
    from agent_eval.diagnose.base import Level
    from agent_eval.diagnose.rules import rules_for
    from agent_eval.diagnose.wording import MAX_SENTENCE, cut

    found: dict[_Key, list[Clue]] = {}
    for rule in rules_for(evidence.kind):
        try:
            clues = list(rule.find(evidence))
        except Exception as error:  # an explanation that fails must not take the evaluation with it
            warnings.warn(f"rule {rule.code} failed: {type(error).__name__}: {error}", stacklevel=2)
            continue
        for clue in clues:
            found.setdefault((rule.code, clue.subject), []).append(clue)
    ranked = sorted(found.items(), key=lambda item: (min(c.level for c in item[1]), -len(item[1]), item[0]))
    better = [(key, clues) for key, clues in ranked if any(clue.level is not Level.REST for clue in clues)]
    ranked = better or ranked[:1]  # what can be said anyhow is said where there is nothing else
    return [
        _Found(key, cut(_in_turns(clues, run), MAX_SENTENCE), cut(clues[0].change, MAX_SENTENCE))
        for key, clues in ranked
    ]


def _in_turns(clues: list[Clue], run: Run) -> str:
    """The first clue, with its turn where there are several, and those of the others."""
    first, *others = clues
    if first.turn is None or not run.has_several_turns:
        return first.seen
    also = ", ".join(str(clue.turn) for clue in others if clue.turn not in (None, first.turn))
    return f"turn {first.turn}: {first.seen}" + (f" (and alike in turn {also})" if also else "")


def explained(result: EvalResult, records: Iterable[RunRecord]) -> EvalResult:
    """A result with its causes found anew, from all its records."""
    diagnosis = Diagnosis(result.config.criteria, result.config.custom_metrics, result.agent.name)
    for record in records:
        diagnosis.add(record)
    return diagnosis.explained(result)
