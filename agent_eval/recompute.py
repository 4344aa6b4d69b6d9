"""Run records without a summary -> a result, its verdicts computed anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import ValidationError

from agent_eval import clock
from agent_eval.aggregate.outcome import RunOutcome, outcome_of
from agent_eval.aggregate.verdict import Stop, case_result, merge_statuses, totals
from agent_eval.metrics.builtin import BUILT_IN
from agent_eval.schema.config import BaseCriterion, EvalConfig
from agent_eval.schema.multi_run import CrossRunMethod, CrossRunScoring, MultiRunConfig
from agent_eval.schema.result import (
    AgentRef,
    CaseResult,
    ConfigRef,
    EvalResult,
    EvalSetRef,
    Provenance,
    RunRecord,
    RunStatus,
)
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.adk_reading import AdkCase, AdkResult
from agent_eval.store.adk_results import SUFFIX

BROKEN_OFF = Stop("there is no summary: the evaluation was broken off, or is still running")
DEFAULT_RULES = "repeated runs are judged by the default rules, as the config's are not known"


@dataclass(slots=True)
class _Runs:
    """What verdicts need of run records that are read one at a time."""

    outcomes: dict[str, list[RunOutcome]] = field(default_factory=dict)
    """Of each case, in the order in which cases turn up."""
    criteria: dict[str, BaseCriterion | None] = field(default_factory=dict)
    """Of each metric that passes or fails; None where no threshold is known."""
    begun: float = float("inf")
    ended: float = 0.0

    def add(self, record: RunRecord) -> None:
        self.outcomes.setdefault(record.eval_id, []).append(outcome_of(record))
        for metric in record.metrics:
            if metric.status is not EvalStatus.INFORMATIONAL and not self.criteria.get(metric.metric_name):
                known = metric.threshold is not None
                self.criteria[metric.metric_name] = (
                    BaseCriterion(threshold=metric.threshold) if known else None
                )
        started = clock.moment_of(record.started)
        self.begun, self.ended = min(self.begun, started), max(self.ended, started + record.seconds)

    def config(self, multi: MultiRunConfig) -> EvalConfig:
        """The config that the runs tell of. A metric without a threshold has to pass in every run."""
        passing = CrossRunScoring(method=CrossRunMethod.PASS_RATE)
        unknown = {name: passing for name, known in self.criteria.items() if known is None}
        scoring = unknown | multi.cross_run_scoring_by_metric
        return EvalConfig(
            criteria={name: known or BaseCriterion(threshold=1.0) for name, known in self.criteria.items()},
            multi_run_config=multi.model_copy(update={"cross_run_scoring_by_metric": scoring}),
        )

    def config_ref(self, config: EvalConfig) -> ConfigRef:
        """What can be said of the config: its thresholds, and of ADK's metrics the whole criterion."""
        return ConfigRef(
            path=None,
            sha256="",
            criteria={
                name: known.model_dump(mode="json") if known else {"threshold": None}
                for name, known in self.criteria.items()
            },
            multi_run_config=config.multi_run_config.model_dump(mode="json"),
        )


def result_of_records(records: Iterable[RunRecord], result_id: str) -> EvalResult | None:
    """The result so far of an evaluation that left no summary; None without records.

    The records tell the thresholds. How repeated runs are judged they do not: the default rules apply.
    """
    runs = _Runs()
    record = None
    for record in records:
        runs.add(record)
    if record is None:
        return None
    last = max(run.run_index for one in runs.outcomes.values() for run in one)
    config = runs.config(MultiRunConfig(num_runs=last + 1))
    cases = [
        case_result(record.eval_set_id, eval_id, "", config, outcomes, stop=BROKEN_OFF)
        for eval_id, outcomes in runs.outcomes.items()
    ]
    name = record.session.app_name if record.session else "unknown"
    result = _result(runs, config, cases, result_id=result_id, eval_set_id=record.eval_set_id, agent=name)
    stopped = BROKEN_OFF.reason + (f"; {DEFAULT_RULES}" if last else "")
    return result.model_copy(update={"stopped": stopped})


def result_of_adk(found: AdkResult, file: str) -> EvalResult:
    """ADK's runs under this project's rules; where the verdicts differ, the case says so.

    Args:
        found: the file's content.
        file: its name, for a result that has no id.
    """
    runs = _Runs()
    for record in (record for case in found.cases for record in case.runs):
        runs.add(record)
    runs.criteria = {name: known and _typed(name, known) for name, known in found.criteria.items()}
    most = max(len(case.runs) for case in found.cases)
    config = runs.config(_rules(found, most))
    result = _result(
        runs,
        config,
        [_adk_case(found, case, runs) for case in found.cases],
        result_id=found.result_id or file.removesuffix(SUFFIX),
        eval_set_id=found.eval_set_id,
        agent=found.agent or "unknown",
    )
    return result.model_copy(
        update={
            "created": found.created,
            "config": result.config.model_copy(update={"custom_metrics": found.custom_metrics}),
            "provenance": _provenance(found.origin.seed if found.origin else 0),
        }
    )


def _rules(found: AdkResult, num_runs: int) -> MultiRunConfig:
    """How the runs of a case are judged: by the rules that the file has, else by the default ones."""
    return found.origin.multi_run_config if found.origin else MultiRunConfig(num_runs=num_runs)


def run_status(record: RunRecord) -> EvalStatus:
    """What a run counts as by itself; a crashed one has failed, as in ADK."""
    if record.status is RunStatus.CRASHED:
        return EvalStatus.FAILED
    return merge_statuses(metric.status for metric in record.metrics)


def _typed(name: str, criterion: BaseCriterion) -> BaseCriterion:
    """A criterion with all the keys that the metric has, as a summary keeps it, for comparisons."""
    wanted = next((m.criterion_type for m in BUILT_IN if m.info.metric_name == name), BaseCriterion)
    try:
        return wanted.model_validate(criterion.model_dump())
    except ValidationError:
        return criterion


def _adk_case(found: AdkResult, case: AdkCase, runs: _Runs) -> CaseResult:
    outcomes = runs.outcomes[case.eval_id]
    config = runs.config(_rules(found, len(outcomes)))
    result = case_result(found.eval_set_id, case.eval_id, "", config, outcomes)
    alone = runs.config(MultiRunConfig())
    counted: dict[EvalStatus, list[int]] = {}
    for number, (outcome, status) in enumerate(zip(outcomes, case.counted_as, strict=True), 1):
        if case_result(found.eval_set_id, case.eval_id, "", alone, [outcome]).verdict is not status:
            counted.setdefault(status, []).append(number)
    reasons = [
        f"ADK counted {_which(numbers) if len(outcomes) > 1 else 'this case'} as {status.value}"
        for status, numbers in counted.items()
    ]
    if not runs.criteria and result.verdict is EvalStatus.NOT_EVALUATED:
        reasons.append("the file has no metric that passes or fails")
    return result.model_copy(update={"reasons": [*result.reasons, *reasons]})


def _provenance(seed: int = 0) -> Provenance:
    """What is known of how a result came about: nothing but the seed, if that."""
    return Provenance(command="", seed=seed, git_commit=None, git_dirty=None, packages={})


def _which(numbers: list[int]) -> str:
    return f"run{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _result(
    runs: _Runs, config: EvalConfig, cases: list[CaseResult], *, result_id: str, eval_set_id: str, agent: str
) -> EvalResult:
    outcomes = [outcome for one in runs.outcomes.values() for outcome in one]
    return EvalResult(
        result_id=result_id,
        created=clock.timestamp(runs.ended),
        eval_set=EvalSetRef(eval_set_id=eval_set_id, path="", sha256=""),
        agent=AgentRef(name=agent, kind="", reference=agent),
        config=runs.config_ref(config),
        provenance=_provenance(),
        totals=totals(cases, outcomes, runs.ended - runs.begun),
        cases=cases,
    )
