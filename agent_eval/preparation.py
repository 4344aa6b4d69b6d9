"""Before anything runs: agents, metrics, judges and players, built for what was read and checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_eval.addresses import public_address
from agent_eval.agents.base import Agent
from agent_eval.agents.resolve import resolve_agent
from agent_eval.consistency import check_playable, check_scorable
from agent_eval.criteria import built_scorer, metrics_of, open_judges
from agent_eval.engine.executors.base import Executor
from agent_eval.engine.executors.local import LocalExecutor
from agent_eval.engine.places import AdaptivePlaces, Places
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.configs import LoadedConfig, with_num_runs
from agent_eval.inputs.discovery import find_agent
from agent_eval.inputs.evalsets import LoadedEvalSet
from agent_eval.inputs.project import Project
from agent_eval.judge.judges import Judges
from agent_eval.load.pace import Limits
from agent_eval.load.traffic import Traffic
from agent_eval.metrics.configured import ConfiguredMetric
from agent_eval.metrics.scoring import Scorer
from agent_eval.options import Options, Place
from agent_eval.plan import PlannedCase
from agent_eval.reruns import Carried, carried
from agent_eval.resumption import Resumed, made_so_far
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import ShardRef, TokenPrices
from agent_eval.selection import NOTHING, Given, ReadSet, Selection, select
from agent_eval.simulation.players import Players, players_of

if TYPE_CHECKING:
    from agent_eval.engine.executors.processes import ProcessExecutor


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
    shard: ShardRef | None = None
    """What the cases are of those of all shards."""

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
    local: LocalExecutor
    """Makes runs in this process."""
    executor: Executor[Any]
    """What makes the runs, here or elsewhere."""
    places: Places
    """How many of them are under way at once."""
    traffic: Traffic
    """What endpoints say to the model calls of agents, here or elsewhere."""
    is_named: bool = True
    """All that runs can be found again by its name, so that it can go on after it was broken off."""
    resumed: Resumed | None = None
    """What was broken off, and goes on."""
    warnings: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        """How many runs there are to make."""
        return sum(
            len(planned.cases) * planned.num_runs - (len(planned.carried.runs) if planned.carried else 0)
            for planned in self.sets
        )

    @property
    def troubles(self) -> tuple[str, ...]:
        """What went wrong without harm to any run; complete once it is closed."""
        told = [self.traffic.told] if self.traffic.told else []
        return tuple(dict.fromkeys((*told, *self.executor.warnings, *self.local.warnings)))

    async def aclose(self) -> None:
        """Gives back what agents, metrics and judges hold, here and elsewhere."""
        if self.executor is not self.local:
            await self.executor.aclose()
        await self.local.aclose()


def plan_evaluation(options: Options, given: Given = NOTHING) -> Evaluation:
    """Finds, loads and checks everything. No agent is asked anything yet.

    Args:
        options: what was asked for.
        given: what need not be found, as the caller has it.

    Raises:
        AgentEvalError: something cannot be used; everything found wrong with eval sets and
            configs at once.
    """
    if options.ray_address and options.executor is not Place.RAY:
        raise InputError(Problem("--ray_address is for --executor ray"))
    selection = select(options, given)
    if options.executor is Place.RAY:
        return _on_ray(selection, given)
    if options.workers is None:
        return prepared(selection, given, limits=Limits(options.rpm, options.tpm))
    from agent_eval.engine.executors.processes import shared_number

    evaluation = prepared(selection, given, limits=Limits(options.rpm, options.tpm, shared_number))
    return replace(evaluation, executor=_workers(selection, options.workers, evaluation))


def _workers(selection: Selection, workers: int, evaluation: Evaluation) -> ProcessExecutor:
    """Worker processes that prepare the same for themselves; limits hold for all together."""
    from agent_eval.engine.executors.processes import ProcessExecutor, SharedCount

    options = selection.options
    calls = None if options.judges.max_calls is None else SharedCount()
    traffic = evaluation.traffic
    make = partial(_executor_of, _share_of_judges(selection, workers), calls, traffic.limits)
    return ProcessExecutor(make, traffic, workers=workers, places=evaluation.places.most)


def _executor_of(selection: Selection, judge_calls: Iterator[int] | None, limits: Limits) -> LocalExecutor:
    return prepared(selection, judge_calls=judge_calls, limits=limits).local


def _share_of_judges(selection: Selection, workers: int) -> Selection:
    """What one of the workers prepares, so that all together ask no more judges at once than one would."""
    options = selection.options
    judges = replace(options.judges, parallelism=max(1, options.judges.parallelism // workers))
    return replace(selection, options=replace(options, judges=judges))


def _on_ray(selection: Selection, given: Given) -> Evaluation:
    """The evaluation on a cluster, whose nodes prepare the same for themselves.

    Raises:
        InputError: an option takes knowledge of all nodes, or the cluster cannot be used.
    """
    from agent_eval.engine.executors.ray import RayExecutor, connect
    from agent_eval.travel import packed, portable, sent

    options = selection.options
    common = {"max_judge_calls": options.judges.max_calls, "rpm": options.rpm, "tpm": options.tpm}
    told = [f"--{name}" for name, limit in common.items() if limit is not None]
    if told:
        problem = f"{', '.join(told)} cannot be kept to, as no node knows of the calls of the others"
        raise InputError(Problem(f"--executor ray: {problem}"))
    if options.parallelism == "auto":
        problem = "--parallelism takes a number, as what nodes are refused is not known here"
        raise InputError(Problem(f"--executor ray: {problem}"))
    selection = portable(selection)
    evaluation = prepared(selection, given)
    if options.dry_run:
        return evaluation
    luggage = packed(selection, evaluation.agents)
    cpus = connect(options.ray_address, luggage)
    actors = options.workers or max(1, min(cpus, options.parallelism))
    make = partial(_executor_on_node, _share_of_judges(sent(selection), actors))
    executor = RayExecutor(make, actors=actors, places=evaluation.places.most, luggage=luggage)
    return replace(evaluation, executor=executor)


def _executor_on_node(selection: Selection) -> LocalExecutor:
    from agent_eval.travel import arrived

    return prepared(arrived(selection)).local


def prepared(
    selection: Selection,
    given: Given = NOTHING,
    judge_calls: Iterator[int] | None = None,
    limits: Limits | None = None,
) -> Evaluation:
    """Builds agents, metrics, judges and players for what was read, and checks that they fit.

    Args:
        selection: what was read.
        given: what need not be built, as the caller has it.
        judge_calls: numbers the calls of judges.
        limits: what the model calls of agents have to keep.

    Raises:
        AgentEvalError: something cannot be used.
    """
    options, project = selection.options, selection.project
    planned: list[PlannedSet] = []
    problems = [*selection.problems]
    agents: dict[str, Agent] = {}
    judges = open_judges(options.judges, selection.code_folders, judge_calls)
    for index, read in enumerate(selection.sets):
        try:
            one = _plan_set(read, options, project, agents, judges, given)
            shard = given.resumed.plan.sets[index].shard if given.resumed else one.shard
            planned.append(replace(one, carried=_carried(one, given, index), shard=shard))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*dict.fromkeys(problems))
    traffic = Traffic(limits)
    local = LocalExecutor(agents, planned, judges, traffic)
    return Evaluation(
        options=options,
        sets=tuple(planned),
        agents=agents,
        judges=judges,
        judge_prices=project.settings.judge_prices,
        local=local,
        executor=local,
        places=_places(options, traffic),
        traffic=traffic,
        is_named=given.is_named,
        resumed=given.resumed,
        warnings=(
            *selection.warnings,
            *_mixed_warnings(planned),
            *dict.fromkeys(warning for one in planned for warning in one.config.warnings),
            *_app_name_warnings(planned, agents),
            *_limit_warnings(options, agents),
        ),
    )


def _places(options: Options, traffic: Traffic) -> Places:
    """Where runs take place; each worker process has one at least."""
    if options.parallelism != "auto":
        return Places(max(options.parallelism, options.workers or 1))
    places = AdaptivePlaces(lambda: traffic.limits.are_reached)

    def heard(place: str, seconds: float, is_new: bool) -> None:
        if is_new:
            places.refused()

    traffic.listeners.append(heard)
    return places


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
        shard=_shard_ref(read, named, project),
    )


def _shard_ref(read: ReadSet, named: str | None, project: Project) -> ShardRef | None:
    part = read.part
    if part is None:
        return None
    return ShardRef(
        index=part.shard.index,
        count=part.shard.count,
        used=part.used,
        positions=list(part.positions),
        cases=len(part.every),
        agents=list(dict.fromkeys(find_agent(case, named, project).reference for case in part.every)),
    )


def _carried(planned: PlannedSet, given: Given, index: int) -> Carried | None:
    """The runs of an eval set that were made before and stand."""
    cases = [one.case for one in planned.cases]
    if given.resumed:
        agents = dict.fromkeys(one.agent for one in planned.cases)
        return made_so_far(given.resumed, index, cases, planned.config, agents)
    return carried(given.earlier, cases, planned.config) if given.earlier else None


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


def _mixed_warnings(sets: Sequence[PlannedSet]) -> Iterator[str]:
    """Of sets that go on although something has changed."""
    for planned in sets:
        if planned.carried and planned.carried.changed:
            told = ", ".join(planned.carried.changed)
            yield f"{len(planned.carried.runs)} runs were made before this changed: {told}"


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


_SEEN_CALLS = {
    "python": "only for those in `session.model_call()`",
    "http": "not at all: its server makes them",
}
"""Which model calls of agents of a kind can be held to a limit, if not all."""


def _limit_warnings(options: Options, agents: dict[str, Agent]) -> Iterator[str]:
    """One for each agent some of whose model calls cannot be seen."""
    if options.rpm or options.tpm:
        for agent in agents.values():
            if which := _SEEN_CALLS.get(agent.kind):
                yield f"--rpm and --tpm hold for model calls of `{agent.name}` {which}"
