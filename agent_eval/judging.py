"""Judges apart from evaluations: what they would be asked, and how far they agree with people."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_eval.aggregate.agreement import Agreement, agreement
from agent_eval.criteria import metrics_of, open_judges
from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.inputs.labels import Label, Verdict, load_labels
from agent_eval.inputs.project import find_project
from agent_eval.inputs.selectors import parse_selector
from agent_eval.judge.base import Request
from agent_eval.judge.judges import Judges
from agent_eval.metrics.base import RunContext
from agent_eval.metrics.configured import ConfiguredMetric
from agent_eval.metrics.judged.base import JudgedEvaluator
from agent_eval.metrics.scoring import Scorer
from agent_eval.options import JudgeOptions
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import MetricResult, RunRecord
from agent_eval.schema.trace import Content, EvalStatus, Invocation, Part
from agent_eval.selection import ReadSet, code_folders, read_set
from agent_eval.stored import read_stored


@dataclass(frozen=True, slots=True)
class Shown:
    """What a metric asks its judge about one run."""

    metric_name: str
    judge_model: str
    num_samples: int
    requests: list[Request]


class JudgedSet:
    """An eval set with the judged metrics of its config."""

    def __init__(
        self,
        eval_set: str,
        config: str | None,
        metric: str | None,
        options: JudgeOptions,
        *,
        custom_code: bool = True,
    ) -> None:
        """Reads the files.

        Args:
            eval_set: `PATH` or `PATH:case1,case2`.
            config: the eval config; None for the one that is found.
            metric: the one metric that is wanted; None for every judged one.
            options: how judges are asked.
            custom_code: whether the config may name code to import.

        Raises:
            InputError: they cannot be read, have no such metric, or name code they may not.
        """
        project = find_project()
        selector = parse_selector(eval_set)
        self.read: ReadSet = read_set(selector, config, custom_code=custom_code)
        self.judges: Judges = open_judges(options, code_folders(project, [selector], config))
        self.preflight = options.preflight
        judged = [one for one in metrics_of(self.read, project, self.judges) if one.needs_judge]
        self.metrics = [one for one in judged if metric in (None, one.name)]
        if not self.metrics:
            raise InputError(_no_metric(self.read, judged, metric))

    def case(self, eval_id: str) -> EvalCase:
        """The case of an id.

        Raises:
            InputError: there is none.
        """
        known = {case.eval_id: case for case in self.read.cases}
        if eval_id not in known:
            hint = did_you_mean(eval_id, known) or f"the cases are {', '.join(known)}"
            raise InputError(Problem(f"there is no case `{eval_id}`", str(self.read.loaded.path), hint=hint))
        return known[eval_id]


def _no_metric(read: ReadSet, judged: Sequence[ConfiguredMetric], metric: str | None) -> Problem:
    file = str(read.config.path) if read.config.path else None
    names = [one.name for one in judged]
    if metric and names:
        hint = did_you_mean(metric, names) or f"the judged metrics are {', '.join(names)}"
        return Problem(f"`{metric}` is no judged metric of the config", file, "criteria", hint=hint)
    hint = "`agent-eval metrics` lists those that need a judge"
    return Problem(f"no metric is judged ({read.config_why})", file, "criteria", hint=hint)


def expected_run(case: EvalCase) -> RunContext:
    """The run of an agent that does and says what the case expects.

    Raises:
        InputError: the case is a scenario, and expects nothing.
    """
    if case.conversation is None:
        hint = "name a result in which it was played: --result"
        raise InputError(Problem(f"case `{case.eval_id}` is a scenario, so there are no turns", hint=hint))
    context, turns = case.conversation[: case.context_turns], case.conversation[case.context_turns :]
    return RunContext(case.scored, turns, (case.session_input and case.session_input.state) or {}, context)


def recorded_run(case: EvalCase, records: Mapping[tuple[str, int], RunRecord], run_index: int) -> RunContext:
    """A run of a case as it was recorded.

    Raises:
        InputError: there is none.
    """
    record = records.get((case.eval_id, run_index))
    if record is None:
        raise InputError(Problem(f"the result has no run {run_index} of case `{case.eval_id}`"))
    state = record.session.state if record.session else {}
    return RunContext(case.scored, record.invocations, state, record.context)


def recorded_runs(result: Path) -> dict[tuple[str, int], RunRecord]:
    """The runs of a result by case and run index.

    Raises:
        InputError: the result cannot be read, or its journal is not there.
    """
    stored = read_stored(result)
    if stored.journal is None and not stored.kept:
        raise InputError(Problem("its journal is not beside it, so there are no turns", str(result)))
    return {(record.eval_id, record.run_index): record for record in stored.records()}


def shown(judged: JudgedSet, run: RunContext) -> list[Shown]:
    """What each judged metric would ask about a run."""
    found = []
    for metric in judged.metrics:
        evaluator = metric.build() if metric.build else None
        if isinstance(evaluator, JudgedEvaluator):
            options = evaluator.options
            requests = evaluator.requests(run)
            found.append(Shown(metric.name, options.judge_model, options.num_samples, requests))
    return found


@dataclass(frozen=True, slots=True)
class Rated:
    """What people and a judge say of one run."""

    label: Label
    result: MetricResult

    @property
    def passed(self) -> bool | None:
        """What the judge says; None if it says nothing."""
        decided = self.result.status in (EvalStatus.PASSED, EvalStatus.FAILED)
        return self.result.status is EvalStatus.PASSED if decided else None


@dataclass(frozen=True, slots=True)
class Checked:
    """A judged metric measured against labels."""

    metric_name: str
    judge_model: str
    agreement: Agreement
    unscored: list[Rated]
    disagreed: list[Rated]


def check(judged: JudgedSet, labels: Path, result: Path | None) -> list[Checked]:
    """Has each judged metric score what people have labelled.

    Args:
        judged: the eval set and its metrics.
        labels: the file of labels.
        result: where the runs are that labels without a response are about.

    Raises:
        InputError: the labels do not fit, or a judge cannot be used.
    """
    records = recorded_runs(result) if result else {}
    runs = [(label, _labelled_run(judged, label, records, labels)) for label in load_labels(labels)]
    return asyncio.run(_check(judged, runs))


def _labelled_run(
    judged: JudgedSet, label: Label, records: Mapping[tuple[str, int], RunRecord], file: Path
) -> RunContext:
    case = judged.case(label.eval_id)
    if label.response is None:
        if not records:
            hint = "give each label a `response`, or name the result they are about: --result"
            raise InputError(Problem(f"the label of `{label.eval_id}` has no response", str(file), hint=hint))
        return recorded_run(case, records, label.run_index)
    run = expected_run(case)
    if len(label.response) != len(run.invocations):
        given, wanted = len(label.response), len(run.invocations)
        told = f"the label of `{label.eval_id}` has {given} responses for {wanted} turns"
        raise InputError(Problem(told, str(file)))
    turns = [_saying(turn, text) for turn, text in zip(run.invocations, label.response, strict=True)]
    return dataclasses.replace(run, invocations=turns)


def _saying(turn: Invocation, text: str) -> Invocation:
    return turn.model_copy(update={"final_response": Content(role="model", parts=[Part(text=text)])})


async def _check(judged: JudgedSet, runs: Sequence[tuple[Label, RunContext]]) -> list[Checked]:
    try:
        scorer = Scorer(judged.metrics)
        if judged.preflight and (problems := await judged.judges.preflight()):
            raise InputError(*problems)
        scored = await asyncio.gather(
            *(scorer.score(run.case, run.invocations, run.state, run.context) for _, run in runs)
        )
    finally:
        await judged.judges.aclose()
    rated = [
        Rated(label, result) for (label, _), results in zip(runs, scored, strict=True) for result in results
    ]
    return [_checked(metric, rated) for metric in judged.metrics]


def _checked(metric: ConfiguredMetric, rated: Iterable[Rated]) -> Checked:
    own = [
        one
        for one in rated
        if one.result.metric_name == metric.name and one.label.metric in (None, metric.name)
    ]
    decided = [(one, one.label.label is Verdict.PASS, one.passed) for one in own if one.passed is not None]
    return Checked(
        metric_name=metric.name,
        judge_model=metric.judge_model or "",
        agreement=agreement((said, passed) for _, said, passed in decided),
        unscored=[one for one in own if one.passed is None],
        disagreed=[one for one, said, passed in decided if said is not passed],
    )
