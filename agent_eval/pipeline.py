"""The whole flow on one page: inputs -> plan -> runs -> records -> verdicts -> summary."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from agent_eval import clock, serde
from agent_eval.agents.base import Agent
from agent_eval.agents.resolve import resolve_agent
from agent_eval.aggregate import verdict
from agent_eval.aggregate.outcome import RunOutcome, outcome_of
from agent_eval.engine.progress import Progress, Silent
from agent_eval.engine.run import execute
from agent_eval.engine.scheduler import run_all
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.configs import LoadedConfig, default_config, load_config
from agent_eval.inputs.discovery import (
    Found,
    find_agent,
    find_config,
    select_cases,
    selected_eval_sets,
)
from agent_eval.inputs.evalsets import LoadedEvalSet, load_eval_set
from agent_eval.inputs.project import Project, find_project
from agent_eval.inputs.selectors import Selector
from agent_eval.metrics.registry import ConfiguredMetric, configured_metrics
from agent_eval.metrics.scoring import Scorer
from agent_eval.plan import PlannedCase, RunSpec, plan_runs
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import (
    AgentRef,
    ConfigRef,
    EvalResult,
    EvalSetRef,
    Provenance,
    RunRecord,
)
from agent_eval.simulation.static import StaticPlayer
from agent_eval.store.journal import SUFFIX, Journal
from agent_eval.store.provenance import provenance
from agent_eval.store.summary import DEFAULT_FOLDER, new_stem, write_summary


@dataclass(frozen=True, slots=True)
class Options:
    """What to evaluate, and how."""

    agent: str | None = None
    eval_sets: tuple[str, ...] = ()
    """Paths, or `PATH:case1,case2`."""
    all: bool = False
    """Every eval set of the project."""
    config: str | None = None
    num_runs: int | None = None
    """Overrides the config."""
    parallelism: int = 4
    timeout: float | None = 300.0
    """Seconds a run may take."""
    seed: int | None = None
    output: str | None = None
    """Folder for results; `.agent_eval/results` if not given."""
    command: str = "agent-eval"
    """The command line, for the record."""


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """One eval set, ready to run: everything that can be checked has been."""

    loaded: LoadedEvalSet
    cases: tuple[PlannedCase, ...]
    config: LoadedConfig
    config_why: str
    metrics: tuple[ConfiguredMetric, ...]
    agent_why: str

    @property
    def num_runs(self) -> int:
        """How often each case runs."""
        return self.config.config.multi_run_config.num_runs


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that an evaluation will do."""

    options: Options
    sets: tuple[PlannedSet, ...]
    agents: dict[str, Agent]
    """By reference."""
    seed: int
    warnings: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        """How many runs there are to make."""
        return sum(len(planned.cases) * planned.num_runs for planned in self.sets)


def plan_evaluation(options: Options) -> Evaluation:
    """Finds, loads and checks everything. No agent is asked anything yet.

    Raises:
        AgentEvalError: something cannot be used; everything found wrong with eval sets and
            configs at once.
    """
    project = find_project()
    planned: list[PlannedSet] = []
    problems: list[Problem] = []
    for selector in selected_eval_sets(options.eval_sets, options.agent, project, every=options.all):
        try:
            planned.append(_plan_set(selector, options, project))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*dict.fromkeys(problems))
    references = dict.fromkeys(case.agent for one in planned for case in one.cases)
    agents = {reference: resolve_agent(reference) for reference in references}
    return Evaluation(
        options=options,
        sets=tuple(planned),
        agents=agents,
        seed=random.SystemRandom().randrange(2**31) if options.seed is None else options.seed,
        warnings=tuple(dict.fromkeys(_app_name_warnings(planned, agents))),
    )


def _plan_set(selector: Selector, options: Options, project: Project) -> PlannedSet:
    path = Path(selector.file)
    loaded = load_eval_set(path)
    found = Found(options.config, "--config") if options.config else find_config(path)
    config = load_config(Path(found.reference)) if found else default_config()
    if options.num_runs is not None:
        config = _with_num_runs(config, options.num_runs)
    cases = select_cases(loaded.eval_set.eval_cases, selector.case_ids, selector.file)
    agents = [find_agent(case, options.agent, project) for case in cases]
    folders = [Path(found.reference).resolve().parent] if found else []
    metrics = configured_metrics(
        config.config,
        code_folders=tuple(dict.fromkeys([*folders, path.resolve().parent, project.root.resolve()])),
        file=str(config.path) if config.path else None,
    )
    _check(metrics, cases, loaded, config)
    return PlannedSet(
        loaded=loaded,
        cases=tuple(PlannedCase(case, agent.reference) for case, agent in zip(cases, agents, strict=True)),
        config=config,
        config_why=found.why if found else "the default, as no config was found",
        metrics=tuple(metrics),
        agent_why=agents[0].why,
    )


def _with_num_runs(config: LoadedConfig, num_runs: int) -> LoadedConfig:
    multi = config.config.multi_run_config.model_copy(update={"num_runs": num_runs})
    changed = config.config.model_copy(update={"multi_run_config": multi})
    return LoadedConfig(changed, config.path, config.sha256)


def _check(
    metrics: Sequence[ConfiguredMetric],
    cases: Sequence[EvalCase],
    loaded: LoadedEvalSet,
    config: LoadedConfig,
) -> None:
    """What only the config and the cases together can tell."""
    file = str(config.path) if config.path else None
    problems = []
    if not any(metric.gates for metric in metrics):
        problems.append(
            Problem(
                "there are no criteria, so nothing could pass or fail", file, "criteria", hint="name a metric"
            )
        )
    problems += [
        Problem(
            f"`{metric.name}` needs a judge model, which this version does not have",
            file,
            f"criteria.{metric.name}",
        )
        for metric in metrics
        if metric.build is None
    ]
    problems += [
        Problem(
            f"case `{case.eval_id}` is a scenario, and this version plays no simulated user",
            str(loaded.path),
        )
        for case in cases
        if case.conversation_scenario
    ]
    if problems:
        raise InputError(*problems)


def _app_name_warnings(sets: Sequence[PlannedSet], agents: dict[str, Agent]) -> Iterator[str]:
    for planned in sets:
        for case in planned.cases:
            given = case.case.session_input.app_name if case.case.session_input else ""
            name = agents[case.agent].name
            if given and given != name:
                yield f"case `{case.case.eval_id}` is written for app `{given}`, and runs on `{name}`"


@dataclass(slots=True)
class _OpenSet:
    """An eval set under way."""

    planned: PlannedSet
    scorer: Scorer
    journal: Journal
    started: float
    outcomes: dict[str, list[RunOutcome]]
    """Of each case, in plan order."""

    def keep(self, record: RunRecord) -> None:
        """Takes a finished run: the record to disk, what the verdict needs to memory."""
        self.journal.append(record)
        self.outcomes[record.eval_id].append(outcome_of(record))


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of one eval set, and its files."""

    result: EvalResult
    summary: Path
    journal: Path


async def evaluate(evaluation: Evaluation, progress: Progress | None = None) -> list[Finished]:
    """Makes all runs in one pool and writes the results, one for each eval set.

    Raises:
        OSError: results cannot be written; the journal keeps what was written before.
    """
    options = evaluation.options
    folder = Path(options.output) if options.output else DEFAULT_FOLDER
    with ExitStack() as stack:
        opened = [_open_set(planned, folder, stack) for planned in evaluation.sets]

        async def make(spec: RunSpec) -> RunRecord:
            player = StaticPlayer(spec.case.conversation or [])
            return await execute(spec, evaluation.agents[spec.agent], player, opened[spec.set_index].scorer)

        await run_all(
            _specs(evaluation),
            make,
            lambda spec, record: opened[spec.set_index].keep(record),
            parallelism=options.parallelism,
            progress=progress or Silent(),
        )
    origin = provenance(options.command, evaluation.seed)
    return [_finish(one, evaluation.agents, origin) for one in opened]


def _specs(evaluation: Evaluation) -> Iterator[RunSpec]:
    for index, planned in enumerate(evaluation.sets):
        yield from plan_runs(
            index,
            planned.loaded.eval_set.eval_set_id,
            planned.cases,
            num_runs=planned.num_runs,
            seed=evaluation.seed,
            timeout=evaluation.options.timeout,
        )


def _open_set(planned: PlannedSet, folder: Path, stack: ExitStack) -> _OpenSet:
    stem = new_stem(folder, planned.loaded.eval_set.eval_set_id)
    return _OpenSet(
        planned=planned,
        scorer=Scorer(planned.metrics),
        journal=stack.enter_context(Journal(stem.with_name(stem.name + SUFFIX))),
        started=clock.monotonic(),
        outcomes={case.case.eval_id: [] for case in planned.cases},
    )


def _finish(one: _OpenSet, agents: dict[str, Agent], origin: Provenance) -> Finished:
    """The verdicts and the summary file of a finished eval set."""
    planned, journal = one.planned, one.journal.path
    result_id = journal.name.removesuffix(SUFFIX)
    eval_set = planned.loaded.eval_set
    config = planned.config.config
    cases = [
        verdict.case_result(
            eval_set.eval_set_id,
            planned_case.case.eval_id,
            hashlib.sha256(serde.model_to_json(planned_case.case)).hexdigest(),
            config,
            one.outcomes[planned_case.case.eval_id],
        )
        for planned_case in planned.cases
    ]
    outcomes = [outcome for runs in one.outcomes.values() for outcome in runs]
    result = EvalResult(
        result_id=result_id,
        created=clock.timestamp(),
        eval_set=EvalSetRef(
            eval_set_id=eval_set.eval_set_id, path=str(planned.loaded.path), sha256=planned.loaded.sha256
        ),
        agent=_agent_ref(planned, agents),
        config=ConfigRef(
            path=str(planned.config.path) if planned.config.path else None,
            sha256=planned.config.sha256,
            criteria={
                metric.name: metric.eval_metric.criterion.model_dump(mode="json", exclude_defaults=True)
                for metric in planned.metrics
                if metric.eval_metric.criterion
            },
            multi_run_config=config.multi_run_config.model_dump(mode="json", exclude_defaults=True),
        ),
        provenance=origin,
        totals=verdict.totals(
            cases,
            clock.monotonic() - one.started,
            sum(outcome.input_tokens for outcome in outcomes),
            sum(outcome.output_tokens for outcome in outcomes),
        ),
        cases=cases,
    )
    summary = journal.with_name(f"{result_id}.json")
    write_summary(result, summary)
    return Finished(result, summary, journal)


def _agent_ref(planned: PlannedSet, agents: dict[str, Agent]) -> AgentRef:
    """The agent of the set; where cases name several, all of them."""
    references = list(dict.fromkeys(case.agent for case in planned.cases))
    return AgentRef(
        name=", ".join(agents[reference].name for reference in references),
        kind=", ".join(dict.fromkeys(agents[reference].kind for reference in references)),
        reference=", ".join(references),
    )
