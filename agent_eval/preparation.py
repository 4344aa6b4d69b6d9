"""Before anything runs: what was asked for, found, loaded and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent_eval.addresses import public_address
from agent_eval.agents.base import Agent
from agent_eval.agents.environment import load_env_file
from agent_eval.agents.resolve import resolve_agent
from agent_eval.consistency import check_playable, check_scorable
from agent_eval.custom_code import refuse_code
from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.files import real
from agent_eval.inputs.choice import fitting, has_failed
from agent_eval.inputs.configs import LoadedConfig, default_config, load_config
from agent_eval.inputs.discovery import Found, find_agent, find_config, select_cases, selected_eval_sets
from agent_eval.inputs.evalsets import LoadedEvalSet, load_eval_set
from agent_eval.inputs.project import Project, find_project
from agent_eval.inputs.selectors import Selector
from agent_eval.judge.cache import JudgeCache
from agent_eval.judge.judges import Judges
from agent_eval.metrics.configured import ConfiguredMetric, configured_metrics
from agent_eval.metrics.scoring import Scorer
from agent_eval.options import ALL_CASES, JudgeOptions, Options
from agent_eval.plan import PlannedCase
from agent_eval.reruns import Carried, Earlier, carried
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import ConfigRef, TokenPrices
from agent_eval.simulation.players import Players, players_of
from agent_eval.store.history import last_verdicts
from agent_eval.store.summary import DEFAULT_FOLDER


@dataclass(frozen=True, slots=True)
class Given:
    """What code hands over itself; the rest is found by the names that the options have."""

    agent: Agent | None = None
    eval_set: LoadedEvalSet | None = None
    config: LoadedConfig | None = None
    earlier: Earlier | None = None
    """A result whose runs stand, except those that are to be made again."""


NOTHING = Given()


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """One eval set, ready to run: everything that can be checked has been."""

    loaded: LoadedEvalSet
    cases: tuple[PlannedCase, ...]
    config: LoadedConfig
    config_why: str
    metrics: tuple[ConfiguredMetric, ...]
    scorer: Scorer
    players: Players
    agent_why: str
    carried: Carried | None = None

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
    judges: Judges
    """Those of all sets; simulated users have their models from it too."""
    judge_prices: Mapping[str, TokenPrices]
    """Of judge models, by name."""
    warnings: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        """How many runs there are to make."""
        return sum(
            len(planned.cases) * planned.num_runs - (len(planned.carried.runs) if planned.carried else 0)
            for planned in self.sets
        )


def plan_evaluation(options: Options, given: Given = NOTHING) -> Evaluation:
    """Finds, loads and checks everything. No agent is asked anything yet.

    Args:
        options: what was asked for.
        given: what need not be found, as the caller has it.

    Raises:
        AgentEvalError: something cannot be used; everything found wrong with eval sets and
            configs at once.
    """
    _refuse_empty(options)
    project = find_project()
    if options.env_file:
        load_env_file(Path(options.env_file))
    reads: list[ReadSet] = []
    planned: list[PlannedSet] = []
    problems: list[Problem] = []
    agents: dict[str, Agent] = {}
    selectors = _selectors(options, given, project)
    judges = open_judges(options.judges, project, selectors, options.config)
    for selector in selectors:
        try:
            reads.append(_read(selector, options, given))
        except InputError as error:
            problems += error.problems
    chosen, notes = (reads, ()) if problems else _chosen(reads, options)
    for read in chosen:
        try:
            planned.append(_plan_set(read, options, project, agents, judges, given))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return Evaluation(
        options=options,
        sets=tuple(planned),
        agents=agents,
        judges=judges,
        judge_prices=project.settings.judge_prices,
        warnings=(
            *notes,
            *dict.fromkeys(warning for one in planned for warning in one.config.warnings),
            *_app_name_warnings(planned, agents),
        ),
    )


def _selectors(options: Options, given: Given, project: Project) -> list[Selector]:
    if given.eval_set:
        return [Selector(str(given.eval_set.path))]
    return selected_eval_sets(options.eval_sets, options.agent, project, every=options.all)


def _chosen(reads: Sequence[ReadSet], options: Options) -> tuple[list[ReadSet], tuple[str, ...]]:
    """The sets with the cases that are to run, without those that have none; and what to know of that.

    Raises:
        InputError: none is left.
    """
    choice = options.choice
    if choice == ALL_CASES:
        return list(reads), ()
    known = [case.eval_id for read in reads for case in read.cases]
    problems = [
        Problem(f"there is no case `{case_id}`", hint=did_you_mean(case_id, known))
        for case_id in choice.case_ids
        if case_id not in known
    ]
    if problems:
        raise InputError(*problems)
    named = [replace(read, cases=fitting(read.cases, names_of(read), choice)) for read in reads]
    left = [read for read in named if read.cases]
    if not left:
        raise InputError(
            Problem(f"no case fits -k {choice.expression!r}", hint="the names of eval sets count too")
        )
    return _by_history(left, options) if choice.needs_history else (left, ())


def names_of(read: ReadSet) -> str:
    """The names of an eval set that `-k` may mean."""
    return f"{read.loaded.eval_set.eval_set_id} {read.loaded.path.name}"


def _by_history(reads: Sequence[ReadSet], options: Options) -> tuple[list[ReadSet], tuple[str, ...]]:
    """The cases that did not pass when they last ran: alone, or before the others."""
    folder = Path(options.output or DEFAULT_FOLDER)
    failed: list[ReadSet] = []
    in_order: list[ReadSet] = []
    for read in reads:
        eval_ids = [case.eval_id for case in read.cases]
        verdicts = last_verdicts(folder, read.loaded.eval_set.eval_set_id, eval_ids)
        first = [case for case in read.cases if has_failed(case, verdicts)]
        others = [case for case in read.cases if not has_failed(case, verdicts)]
        if first:
            failed.append(replace(read, cases=first))
        in_order.append(replace(read, cases=[*first, *others]))
    if not options.choice.last_failed:
        return in_order, ()
    return (failed, ()) if failed else (list(reads), ("no case is known to have failed, so all of them run",))


@dataclass(frozen=True, slots=True)
class ReadSet:
    """An eval set and its config, as their files say."""

    loaded: LoadedEvalSet
    cases: list[EvalCase]
    """Those selected."""
    config: LoadedConfig
    config_why: str


def read_set(selector: Selector, config: str | None, *, custom_code: bool = True) -> ReadSet:
    """Reads an eval set and the config that is given or found for it.

    Args:
        selector: the eval set and its cases.
        config: the config; None for the one that is found.
        custom_code: whether the config may name code to import.

    Raises:
        InputError: one of them cannot be read, has not what is selected, or names code it may not.
    """
    loaded = load_eval_set(Path(selector.file))
    return _with_config(loaded, selector, config, custom_code)


def _read(selector: Selector, options: Options, given: Given) -> ReadSet:
    loaded = given.eval_set or load_eval_set(Path(selector.file))
    if given.config is None:
        return _with_config(loaded, selector, options.config, options.custom_code)
    return ReadSet(loaded, _selected(loaded, selector), given.config, "given")


def _with_config(loaded: LoadedEvalSet, selector: Selector, config: str | None, custom_code: bool) -> ReadSet:
    found = Found(config, "--config") if config else find_config(loaded.path)
    read = load_config(Path(found.reference)) if found else default_config()
    if not custom_code:
        refuse_code(read)
    return ReadSet(
        loaded=loaded,
        cases=_selected(loaded, selector),
        config=read,
        config_why=found.why if found else "the default, as no config was found",
    )


def _selected(loaded: LoadedEvalSet, selector: Selector) -> list[EvalCase]:
    return select_cases(loaded.eval_set.eval_cases, selector.case_ids, selector.file)


def metrics_of(
    read: ReadSet, project: Project, judges: Judges, folders: Sequence[Path] = ()
) -> list[ConfiguredMetric]:
    """The metrics of a config; their code is looked for beside the files, in the project and in `folders`.

    Raises:
        InputError: some are not known, cannot be imported, or have options that do not fit.
    """
    places = [read.loaded.path.resolve().parent, project.root.resolve(), *folders]
    return config_metrics(read.config, judges, places)


def config_metrics(config: LoadedConfig, judges: Judges, folders: Sequence[Path]) -> list[ConfiguredMetric]:
    """The metrics of a config; their code is looked for beside it and in `folders`.

    Raises:
        InputError: some are not known, cannot be imported, or have options that do not fit.
    """
    beside = [config.path.resolve().parent] if config.path else []
    return configured_metrics(
        config.config,
        code_folders=tuple(dict.fromkeys([*beside, *folders])),
        file=str(config.path) if config.path else None,
        judges=judges,
    )


def open_judges(
    options: JudgeOptions, project: Project, selectors: Sequence[Selector], config: str | None
) -> Judges:
    """Where metrics get their judges; models of the user's own code are looked for beside the files."""
    files = [*(selector.file for selector in selectors), *([config] if config else [])]
    folders = [real(Path(file)).parent for file in files] + [project.root.resolve()]
    return Judges(
        parallelism=options.parallelism,
        max_calls=options.max_calls,
        cache=JudgeCache() if options.cache else None,
        code_folders=tuple(dict.fromkeys(folders)),
    )


def _refuse_empty(options: Options) -> None:
    """An option that is there but empty, as an unset variable leaves it, is no option left out."""
    for name in ("agent", "config", "output", "url", "app_name", "env_file"):
        given = getattr(options, name)
        if given is not None and not given.strip():
            raise InputError(Problem(f"--{name} is empty"))


def _agent(reference: str, options: Options) -> Agent:
    if options.url:
        from agent_eval.agents.http import HttpAgent, Server

        return HttpAgent(Server(options.url, options.app_name, dict(options.headers)))
    return resolve_agent(reference, options.agents)


def _plan_set(
    read: ReadSet,
    options: Options,
    project: Project,
    agents: dict[str, Agent],
    judges: Judges,
    given: Given,
) -> PlannedSet:
    """Finds and checks what one eval set needs; its agents are added to `agents`."""
    loaded, cases, config = read.loaded, read.cases, read.config
    if options.num_runs is not None:
        config = with_num_runs(config, options.num_runs)
    named = given.agent.name if given.agent else options.agent
    if options.url:
        named = public_address(options.url)
    found_agents = [find_agent(case, named, project, by_case=options.custom_code) for case in cases]
    for reference in dict.fromkeys(agent.reference for agent in found_agents):
        if reference not in agents:
            agents[reference] = given.agent or _agent(reference, options)
    own = [Path(agent.reference).resolve() for agent in found_agents if Path(agent.reference).is_dir()]
    metrics = metrics_of(read, project, judges, own)
    check_scorable(metrics, cases, loaded, config)
    if not options.dry_run:
        check_playable(cases, loaded, config)
    return PlannedSet(
        loaded=loaded,
        cases=tuple(
            PlannedCase(case, agent.reference) for case, agent in zip(cases, found_agents, strict=True)
        ),
        config=config,
        config_why=read.config_why,
        metrics=tuple(metrics),
        scorer=built_scorer(metrics, options.metric_timeout, config),
        players=_players(cases, config, judges),
        agent_why=found_agents[0].why,
        carried=carried(given.earlier, cases, config) if given.earlier else None,
    )


def built_scorer(metrics: Sequence[ConfiguredMetric], timeout: float | None, config: LoadedConfig) -> Scorer:
    """The evaluators, built.

    Raises:
        InputError: one of them cannot be.
    """
    try:
        return Scorer(metrics, timeout)
    except InputError as error:
        file = str(config.path) if config.path else None
        raise InputError(*(replace(problem, file=file) for problem in error.problems)) from None


def _players(cases: Sequence[EvalCase], config: LoadedConfig, judges: Judges) -> Players:
    """Who plays the cases, a model opened if one does.

    Raises:
        InputError: the model cannot be.
    """
    try:
        return players_of(config.config, cases, judges.model)
    except InputError as error:
        file = str(config.path) if config.path else None
        place = "user_simulator_config.model"
        raise InputError(*(replace(problem, file=file, path=place) for problem in error.problems)) from None


def config_ref(config: LoadedConfig, metrics: Sequence[ConfiguredMetric]) -> ConfigRef:
    """A config as results have it: every criterion with all its keys, and nothing secret."""
    return ConfigRef(
        path=str(config.path) if config.path else None,
        sha256=config.sha256,
        criteria={
            metric.name: _without_headers(metric.eval_metric.criterion.model_dump(mode="json"))
            for metric in metrics
            if metric.eval_metric.criterion
        },
        custom_metrics={
            metric.name: path for metric in metrics if (path := metric.eval_metric.custom_function_path)
        },
        multi_run_config=config.config.multi_run_config.model_dump(mode="json"),
    )


def _without_headers(criterion: dict[str, Any]) -> dict[str, Any]:
    """A criterion without what is sent along to the judge's endpoint, which may be secret."""
    match criterion:
        case {
            "judge_model_options": {"judge_model_config": {"http_options": {"headers": dict() as headers}}}
        }:
            headers.update(dict.fromkeys(headers, "***"))
    return criterion


def with_num_runs(config: LoadedConfig, num_runs: int) -> LoadedConfig:
    """A config whose cases run so often."""
    multi = config.config.multi_run_config.model_copy(update={"num_runs": num_runs})
    changed = config.config.model_copy(update={"multi_run_config": multi})
    return replace(config, config=changed)


def _app_name_warnings(sets: Sequence[PlannedSet], agents: dict[str, Agent]) -> Iterator[str]:
    """One for each pair of names, with its cases."""
    cases: dict[tuple[str, str], list[str]] = {}
    for planned in sets:
        for case in planned.cases:
            given = case.case.session_input.app_name if case.case.session_input else ""
            name = agents[case.agent].name
            if given and given != name:
                cases.setdefault((given, name), []).append(case.case.eval_id)
    for (given, name), eval_ids in cases.items():
        more = f" and {len(eval_ids) - 1} more" if len(eval_ids) > 1 else ""
        yield f"case `{eval_ids[0]}`{more}: written for app `{given}`, run on `{name}`"
