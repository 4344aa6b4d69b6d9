"""What was asked for, found and read: eval sets, which of their cases, and their configs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_eval.agents.base import Agent
from agent_eval.agents.environment import load_env_file
from agent_eval.custom_code import refuse_code
from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.files import real
from agent_eval.inputs.choice import fitting, has_failed
from agent_eval.inputs.configs import LoadedConfig, default_config, load_config, with_num_runs
from agent_eval.inputs.discovery import Found, find_config, select_cases, selected_eval_sets
from agent_eval.inputs.evalsets import LoadedEvalSet, load_eval_set
from agent_eval.inputs.project import Project, find_project
from agent_eval.inputs.selectors import Selector
from agent_eval.inputs.shards import Shard
from agent_eval.options import ALL_CASES, Options
from agent_eval.reruns import Earlier
from agent_eval.resumption import Resumed
from agent_eval.schema.evalset import EvalCase
from agent_eval.store.history import last_verdicts
from agent_eval.store.summary import DEFAULT_FOLDER
from agent_eval.store.unfinished import UnfinishedSet


@dataclass(frozen=True, slots=True)
class Given:
    """What code hands over itself; the rest is found by the names that the options have."""

    agent: Agent | None = None
    eval_set: LoadedEvalSet | None = None
    config: LoadedConfig | None = None
    earlier: Earlier | None = None
    """A result whose runs stand, except those that are to be made again."""
    resumed: Resumed | None = None
    """An evaluation that goes on; it says itself what runs."""

    @property
    def is_named(self) -> bool:
        """Whether all that runs can be found again by its name."""
        return self.agent is None and self.eval_set is None and self.config is None


NOTHING = Given()


@dataclass(frozen=True, slots=True)
class Part:
    """Which of an eval set's cases a shard has."""

    shard: Shard
    used: int
    """How many shards have a case of any eval set."""
    positions: tuple[int, ...]
    """Among those that are to run, from 0."""
    every: tuple[EvalCase, ...]
    """All that are to run, here or elsewhere."""


@dataclass(frozen=True, slots=True)
class ReadSet:
    """An eval set and its config, as their files say."""

    loaded: LoadedEvalSet
    cases: list[EvalCase]
    """Those selected."""
    config: LoadedConfig
    config_why: str
    part: Part | None = None
    """What the cases are of a whole that is shared out."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The sets that are to run, as their files say. Plain data, so that it can be sent to another process."""

    options: Options
    project: Project
    sets: tuple[ReadSet, ...]
    code_folders: tuple[Path, ...]
    """Where the code is looked for that configs name."""
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Of the sets that could not be read, so that they are told with those of the others."""


def select(options: Options, given: Given = NOTHING) -> Selection:
    """Finds and reads what was asked for.

    Args:
        options: what was asked for.
        given: what need not be found, as the caller has it.

    Raises:
        InputError: nothing was asked for, or nothing is left of it.
    """
    _refuse_empty(options)
    if options.shard and options.choice.needs_history:
        raise InputError(Problem("--shard takes the same cases on each machine, not those of its history"))
    project = find_project()
    if options.env_file:
        load_env_file(Path(options.env_file))
    reads: list[ReadSet] = []
    problems: list[Problem] = []
    selectors = _selectors(options, given, project)
    for index, selector in enumerate(selectors):
        try:
            reads.append(_read(selector, options, given, index))
        except InputError as error:
            problems += error.problems
    chosen, notes = (reads, ()) if problems else _chosen(reads, options)
    if options.shard and not problems:
        chosen, notes = _shared_out(chosen, options.shard)
    return Selection(
        options=options,
        project=project,
        sets=tuple(chosen),
        code_folders=code_folders(project, selectors, options.config),
        warnings=notes,
        problems=tuple(problems),
    )


def code_folders(project: Project, selectors: Sequence[Selector], config: str | None) -> tuple[Path, ...]:
    """Where code is looked for that configs name: beside the files, and in the project."""
    files = [*(selector.file for selector in selectors), *([config] if config else [])]
    folders = [real(Path(file)).parent for file in files]
    return tuple(dict.fromkeys([*folders, project.root.resolve()]))


def _selectors(options: Options, given: Given, project: Project) -> list[Selector]:
    if given.resumed:
        return [Selector(one.eval_set.path) for one in given.resumed.plan.sets]
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


def _shared_out(reads: Sequence[ReadSet], shard: Shard) -> tuple[list[ReadSet], tuple[str, ...]]:
    """The sets with the cases of a shard, without those of which it has none; and what to know of that."""
    total = sum(len(read.cases) for read in reads)
    parts: list[ReadSet] = []
    first = 0
    for read in reads:
        mine = [index for index in range(len(read.cases)) if shard.has(first + index)]
        first += len(read.cases)
        if mine:
            part = Part(shard, min(shard.count, total), tuple(mine), tuple(read.cases))
            parts.append(replace(read, cases=[read.cases[index] for index in mine], part=part))
    return parts, () if parts else (f"shard {shard} has no case, as there are no more than {total}",)


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


def _read(selector: Selector, options: Options, given: Given, index: int) -> ReadSet:
    if given.resumed:
        return _read_again(given.resumed.plan.sets[index], options.custom_code)
    loaded = given.eval_set or load_eval_set(Path(selector.file))
    if given.config is None:
        return _with_config(loaded, selector, options.config, options.custom_code)
    return ReadSet(loaded, _selected(loaded, selector), given.config, "given")


def _read_again(was: UnfinishedSet, custom_code: bool) -> ReadSet:
    """A set as it was planned before, as its files are now."""
    loaded = load_eval_set(Path(was.eval_set.path))
    config = _config(was.config_path, custom_code)
    there = {case.eval_id: case for case in loaded.eval_set.eval_cases}
    cases = [there[case.eval_id] for case in was.cases if case.eval_id in there]
    if not cases:
        raise InputError(Problem("none of the cases is there any more", was.eval_set.path))
    return ReadSet(loaded, cases, with_num_runs(config, was.num_runs), "as before")


def _with_config(loaded: LoadedEvalSet, selector: Selector, config: str | None, custom_code: bool) -> ReadSet:
    found = Found(config, "--config") if config else find_config(loaded.path)
    return ReadSet(
        loaded=loaded,
        cases=_selected(loaded, selector),
        config=_config(found.reference if found else None, custom_code),
        config_why=found.why if found else "the default, as no config was found",
    )


def _config(file: str | None, custom_code: bool) -> LoadedConfig:
    """The config in a file, or the default one; refused if it names code and may not."""
    config = load_config(Path(file)) if file else default_config()
    if not custom_code:
        refuse_code(config)
    return config


def _selected(loaded: LoadedEvalSet, selector: Selector) -> list[EvalCase]:
    return select_cases(loaded.eval_set.eval_cases, selector.case_ids, selector.file)


def _refuse_empty(options: Options) -> None:
    """An option that is there but empty, as an unset variable leaves it, is no option left out."""
    for name in ("agent", "config", "output", "url", "app_name", "env_file", "ray_address"):
        given = getattr(options, name)
        if given is not None and not given.strip():
            raise InputError(Problem(f"--{name} is empty"))
