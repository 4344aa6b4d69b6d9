"""Stored runs scored again, by another config: no agent is asked anything.

What comes of it is a result like any other, with a journal and a summary of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from agent_eval import clock
from agent_eval.agents.environment import load_env_file
from agent_eval.aggregate import verdict
from agent_eval.aggregate.outcome import RunOutcome, outcome_of
from agent_eval.aggregate.verdict import Stop
from agent_eval.consistency import criteria_problems
from agent_eval.criteria import built_scorer, config_metrics, config_ref, open_judges
from agent_eval.custom_code import refuse_code
from agent_eval.diagnose.diagnosis import Diagnosis
from agent_eval.engine.places import Places
from agent_eval.engine.progress import Progress, Silent
from agent_eval.engine.run import expectations
from agent_eval.engine.scheduler import run_all
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.configs import LoadedConfig, load_config, with_num_runs
from agent_eval.inputs.evalsets import LoadedEvalSet, case_sha256, load_eval_set
from agent_eval.inputs.project import find_project
from agent_eval.inputs.selectors import Selector
from agent_eval.judge.judges import Judges
from agent_eval.metrics.configured import ConfiguredMetric
from agent_eval.metrics.scoring import DEFAULT_TIMEOUT, Scorer
from agent_eval.options import JudgeOptions
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import (
    CaseResult,
    ConfigRef,
    EvalResult,
    EvalSetRef,
    Provenance,
    RunRecord,
    RunStatus,
    TokenPrices,
)
from agent_eval.schema.trace import Content, Invocation
from agent_eval.selection import code_folders
from agent_eval.store.journal import SUFFIX, Journal
from agent_eval.store.provenance import provenance
from agent_eval.store.summary import DEFAULT_FOLDER, new_stem, write_summary
from agent_eval.stored import Stored


@dataclass(frozen=True, slots=True)
class GradeOptions:
    """How to score runs again."""

    config: str
    eval_set: str | None = None
    """Where expectations are taken from, whatever was expected when the runs were made."""
    parallelism: int = 4
    metric_timeout: float | None = DEFAULT_TIMEOUT
    env_file: str | None = None
    """Loaded before metrics are, for judges and metrics of one's own."""
    judges: JudgeOptions = field(default_factory=JudgeOptions)
    custom_code: bool = True
    """Whether the config may name code to import."""
    output: str | None = None
    command: str = "agent-eval"


@dataclass(frozen=True, slots=True)
class Grading:
    """Runs to score again, and all that it takes."""

    options: GradeOptions
    stored: Stored
    eval_set: LoadedEvalSet | None
    """None where only the records tell what was expected."""
    cases: dict[str, CaseResult]
    """As they were judged, of those that are scored again."""
    expectations: dict[str, EvalCase]
    """What is expected, by case; the records tell it of the others."""
    config: LoadedConfig
    metrics: tuple[ConfiguredMetric, ...]
    scorer: Scorer
    judges: Judges
    judge_prices: dict[str, TokenPrices]
    warnings: tuple[str, ...]

    @property
    def eval_set_ref(self) -> EvalSetRef:
        """The eval set that is named, else the one that was run."""
        if self.eval_set is None or self.options.eval_set is None:
            return self.stored.result.eval_set
        found = self.eval_set
        return EvalSetRef(eval_set_id=found.eval_set.eval_set_id, path=str(found.path), sha256=found.sha256)

    @property
    def runs(self) -> int:
        """How many runs there are to score."""
        return sum(case.attempts for case in self.cases.values())


def plan_grading(stored: Stored, options: GradeOptions) -> Grading:
    """Reads and checks everything.

    Raises:
        InputError: the result has no runs beside it, or a file or metric cannot be used.
    """
    if stored.journal is None and not stored.kept:
        raise InputError(Problem("its journal is not beside it, so there are no runs", str(stored.path)))
    if options.env_file:
        load_env_file(Path(options.env_file))
    project = find_project()
    result = stored.result
    num_runs = result.config.multi_run_config.get("num_runs", 1)
    config = with_num_runs(load_config(Path(options.config)), num_runs)
    if not options.custom_code:
        refuse_code(config)
    eval_set = _eval_set(stored, options)
    files = [Selector(str(eval_set.path))] if eval_set else []
    judges = open_judges(options.judges, code_folders(project, files, options.config))
    beside = [eval_set.path.resolve().parent] if eval_set else []
    agent = Path(result.agent.reference)
    folders = [*beside, project.root.resolve(), *([agent.resolve()] if agent.is_dir() else [])]
    metrics = config_metrics(config, judges, folders)
    if problems := list(criteria_problems(metrics, config)):
        raise InputError(*problems)
    known = {case.eval_id: case for case in eval_set.eval_set.eval_cases} if eval_set else {}
    cases = {case.eval_id: case for case in result.cases}
    warnings = list(config.warnings)
    if options.eval_set:
        wanted = {name: case for name, case in cases.items() if name in known}
        warnings += [
            f"case `{name}` is not in {options.eval_set}, and left out"
            for name in cases
            if name not in wanted
        ]
        cases = wanted
        if not cases:
            raise InputError(Problem(f"{options.eval_set} has none of the cases", str(stored.path)))
    else:
        known = {name: case for name, case in known.items() if name in cases and _is_same(case, cases[name])}
        if edited := [name for name in cases if name not in known]:
            warnings.append(_as_recorded(edited, eval_set))
    return Grading(
        options=options,
        stored=stored,
        eval_set=eval_set,
        cases=cases,
        expectations=known,
        config=config,
        metrics=tuple(metrics),
        scorer=built_scorer(metrics, options.metric_timeout, config),
        judges=judges,
        judge_prices=project.settings.judge_prices,
        warnings=tuple(warnings),
    )


def _eval_set(stored: Stored, options: GradeOptions) -> LoadedEvalSet | None:
    """The eval set that is named, or the one that was run if it is still there."""
    path = options.eval_set or stored.result.eval_set.path
    if options.eval_set is None and not (path and Path(path).is_file()):
        return None
    return load_eval_set(Path(path))


def _is_same(case: EvalCase, judged: CaseResult) -> bool:
    return case_sha256(case) == judged.sha256


def _as_recorded(eval_ids: list[str], eval_set: LoadedEvalSet | None) -> str:
    """That only the records tell what was expected, which is each turn's answer, tools and rubrics."""
    which = f"case `{eval_ids[0]}`" if len(eval_ids) == 1 else f"{len(eval_ids)} cases"
    if eval_set is None:
        return f"{which}: what is expected is taken from the runs, as their eval set is not there"
    return (
        f"{which}: what is expected is taken from the runs, as {eval_set.path} has another version; "
        f"`--evalset {eval_set.path}` grades by that one"
    )


@dataclass(frozen=True, slots=True)
class Graded:
    """The result, and its files."""

    result: EvalResult
    summary: Path
    journal: Path


async def grade(grading: Grading, progress: Progress | None = None) -> Graded:
    """Scores every run, in the order of the journal, a few at a time; no more than those are held.

    Raises:
        InputError: a judge or the folder for results cannot be used, or the journal is damaged.
        OSError: results cannot be written; the journal keeps what was written before.
    """
    options = grading.options
    started = clock.monotonic()
    outcomes: dict[str, list[RunOutcome]] = {name: [] for name in grading.cases}
    config = config_ref(grading.config, grading.metrics)
    diagnosis = Diagnosis(config.criteria, config.custom_metrics, grading.stored.result.agent.name)
    try:
        if options.judges.preflight and (problems := await grading.judges.preflight()):
            raise InputError(*problems)
        with Journal(_journal_path(grading)) as journal:

            def keep(_: RunRecord, record: RunRecord) -> None:
                journal.append(record)
                outcomes[record.eval_id].append(outcome_of(record))
                diagnosis.add(record)

            await run_all(
                (record for record in grading.stored.records() if record.eval_id in grading.cases),
                _itself,
                lambda record: _scored(record, grading),
                keep,
                places=Places(options.parallelism),
                one_by_one=True,
                progress=progress or Silent(),
            )
        result = _result(grading, config, journal.path, outcomes, clock.monotonic() - started)
        result = diagnosis.explained(result)
        summary = journal.path.with_name(f"{result.result_id}.json")
        write_summary(result, summary)
        return Graded(result, summary, journal.path)
    finally:
        await grading.scorer.aclose()
        await grading.judges.aclose()


async def _itself(record: RunRecord) -> RunRecord:
    """A stored run has been played already."""
    return record


def _journal_path(grading: Grading) -> Path:
    folder = Path(grading.options.output or DEFAULT_FOLDER)
    try:
        stem = new_stem(folder, grading.eval_set_ref.eval_set_id)
    except OSError as error:
        raise InputError(Problem(f"results cannot be kept there: {error.strerror}", str(folder))) from None
    return stem.with_name(stem.name + SUFFIX)


async def _scored(record: RunRecord, grading: Grading) -> RunRecord:
    """A run with new scores; a crashed one has none, as ever."""
    known = grading.expectations.get(record.eval_id)
    metrics = []
    if record.status is not RunStatus.CRASHED:
        case = known or recorded_case(record)
        state = record.session.state if record.session else {}
        metrics = await grading.scorer.score(case.scored, record.invocations, state, record.context)
    told = expectations(known.scored) if known else {}
    eval_set_id = grading.eval_set_ref.eval_set_id
    return record.model_copy(update={"eval_set_id": eval_set_id, "metrics": metrics, **told})


def recorded_case(record: RunRecord) -> EvalCase:
    """The case of a run, as its record tells."""
    turns = None
    if record.expected is not None:
        asked = [turn.user_content for turn in record.invocations]
        unasked = [Content(parts=[])] * len(record.expected)
        turns = [
            Invocation(user_content=question, **dict(expected))
            for question, expected in zip([*asked, *unasked], record.expected, strict=False)
        ]
    known = {
        "conversation": turns,
        "conversation_scenario": record.conversation_scenario,
        "rubrics": record.rubrics,
        "final_session_state": record.final_session_state or {},
    }
    case = EvalCase(eval_id=record.eval_id, conversation=[])  # one may have neither turns nor scenario
    return case.model_copy(update=known)


def _result(
    grading: Grading,
    config: ConfigRef,
    journal: Path,
    outcomes: dict[str, list[RunOutcome]],
    seconds: float,
) -> EvalResult:
    """The verdicts."""
    was = grading.stored.result
    cases = [_case_result(grading, case, outcomes[name]) for name, case in grading.cases.items()]
    return EvalResult(
        result_id=journal.name.removesuffix(SUFFIX),
        created=clock.timestamp(),
        eval_set=grading.eval_set_ref,
        agent=was.agent,
        config=config,
        provenance=_provenance(grading),
        totals=verdict.totals(
            cases, [one for runs in outcomes.values() for one in runs], seconds, grading.judge_prices
        ),
        stopped=was.stopped,
        cases=cases,
    )


def _case_result(grading: Grading, case: CaseResult, outcomes: list[RunOutcome]) -> CaseResult:
    stopped = grading.stored.result.stopped
    config = grading.config.config
    if not stopped:  # all runs that were to be made are there, however many that are
        config = with_num_runs(grading.config, max(1, case.attempts + case.saved)).config
    known = grading.expectations.get(case.eval_id)
    return verdict.case_result(
        grading.eval_set_ref.eval_set_id,
        case.eval_id,
        case_sha256(known) if known else case.sha256,
        config,
        outcomes,
        saved=case.saved,
        stop=Stop(stopped) if stopped else None,
    )


def _provenance(grading: Grading) -> Provenance:
    """What is needed to grade the same again; of the runs it says which, from which code and seed."""
    was = grading.stored.result
    now = provenance(grading.options.command, was.provenance.seed)
    return now.model_copy(
        update={
            "git_commit": was.provenance.git_commit,
            "git_dirty": was.provenance.git_dirty,
            "graded_from": was.result_id,
        }
    )
