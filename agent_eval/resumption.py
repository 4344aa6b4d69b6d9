"""Going on with an evaluation that was broken off: which one, and whether it is still the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_eval.addresses import public_address
from agent_eval.agents.sources import sources_sha256
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.configs import LoadedConfig
from agent_eval.inputs.evalsets import case_sha256
from agent_eval.options import Options
from agent_eval.reruns import Carried
from agent_eval.schema.evalset import EvalCase
from agent_eval.store.journal import SUFFIX as JOURNAL
from agent_eval.store.journal import read_journal
from agent_eval.store.summary import DEFAULT_FOLDER
from agent_eval.store.unfinished import (
    SUFFIX,
    PlanFile,
    Settings,
    Unfinished,
    UnfinishedSet,
    read_unfinished,
    unfinished,
)


@dataclass(frozen=True, slots=True)
class Resumed:
    """An evaluation that is to go on."""

    plan: Unfinished
    file: PlanFile
    """Locked: nobody else goes on with it."""
    anyway: bool
    """Also where something has changed since it began."""

    @property
    def home(self) -> Path:
        """The folder of results."""
        return self.file.path.parent


def resumed(name: str | None, options: Options, *, anyway: bool) -> tuple[Options, Resumed]:
    """The evaluation to go on with, and the options that it began with.

    Args:
        name: a file of its results; None for the newest that is unfinished.
        options: those of now.
        anyway: go on although something has changed.

    Raises:
        InputError: there is none, somebody is at work on it, or options are missing.
    """
    home = Path(options.output or DEFAULT_FOLDER)
    path = _found(name, home)
    plan = read_unfinished(path)
    if plan.settings.url and public_address(options.url or "") != plan.settings.url:
        raise InputError(Problem(f"was served at {plan.settings.url}: name it with --url again", str(path)))
    try:
        file = PlanFile(path)
    except BlockingIOError:
        raise InputError(Problem("is being worked on by another process", str(path))) from None
    options = replace(restored(plan.settings, options), command=plan.command)
    return options, Resumed(plan, file, anyway)


def _found(name: str | None, home: Path) -> Path:
    if name is None:
        if not (found := unfinished(home)):
            raise InputError(Problem(f"nothing to resume: no evaluation in {home} is unfinished"))
        return found[-1]
    path = Path(name)
    if path.name.endswith(SUFFIX):
        return path
    result_id = path.name.removesuffix(JOURNAL).removesuffix(".json")
    for file in reversed(unfinished(path.parent.parent if path.parent != Path() else home)):
        if any(one.result_id == result_id for one in read_unfinished(file).sets):
            return file
    hint = "only an evaluation that was broken off can go on; `--rerun errors` makes runs of a result again"
    raise InputError(Problem("belongs to no unfinished evaluation", name, hint=hint))


def settings_of(options: Options) -> Settings:
    """The options that decide what comes out, without what may be secret in them."""
    agents, own = options.agents, Settings.model_fields.keys() - _OF_AGENTS
    return Settings(
        **{name: getattr(options, name) for name in own if name != "url"},
        url=public_address(options.url) if options.url else None,
        share_agent=agents.share,
        record_inner_calls=agents.record_inner_calls,
        artifacts=agents.artifacts if isinstance(agents.artifacts, str) else None,
    )


_OF_AGENTS = {"share_agent", "record_inner_calls", "artifacts"}


def restored(settings: Settings, options: Options) -> Options:
    """The options with those that an evaluation began with."""
    own = settings.model_dump(exclude=_OF_AGENTS | {"url", "custom_code"})
    agents = replace(
        options.agents,
        share=settings.share_agent,
        record_inner_calls=settings.record_inner_calls,
        artifacts=settings.artifacts,
    )
    custom_code = options.custom_code and settings.custom_code
    return replace(options, agents=agents, custom_code=custom_code, **own)


def made_so_far(
    resumed: Resumed, set_index: int, cases: Sequence[EvalCase], config: LoadedConfig, agents: Iterable[str]
) -> Carried:
    """The runs of an eval set that are made already.

    Raises:
        InputError: something has changed since, or the journal is damaged.
    """
    was = resumed.plan.sets[set_index]
    changed = tuple(_changes(was, cases, config.sha256, sources(agents)))
    if changed and not resumed.anyway:
        told = f"cannot go on, as this has changed since it began: {', '.join(changed)}"
        hint = "run it anew, or mix runs of before and after with --resume_anyway"
        raise InputError(Problem(told, str(resumed.file.path), hint=hint))
    journal = was.journal(resumed.home)
    eval_ids = {case.eval_id for case in cases}
    try:
        records = list(_keys(journal)) if journal.exists() else []
    except ValueError as error:
        raise InputError(Problem(str(error).splitlines()[0])) from None  # it begins with file and line
    made = frozenset((name, index) for name, index in records if name in eval_ids and index < was.num_runs)
    return Carried(was.result_id, journal, made, goes_on=True, changed=changed)


def _keys(journal: Path) -> Iterator[tuple[str, int]]:
    return ((record.eval_id, record.run_index) for record in read_journal(journal))


def sources(agents: Iterable[str]) -> dict[str, str | None]:
    """A digest of the sources of each agent."""
    return {reference: sources_sha256(reference) for reference in agents}


def _changes(
    was: UnfinishedSet, cases: Sequence[EvalCase], config_sha256: str, agents: dict[str, str | None]
) -> Iterator[str]:
    """What is not as it was when the evaluation began."""
    now = {case.eval_id: case_sha256(case) for case in cases}
    changed = [case.eval_id for case in was.cases if now.get(case.eval_id) != case.sha256]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"case `{changed[0]}`{more} of {was.eval_set.path}"
    if was.config_sha256 != config_sha256:
        yield f"the config {was.config_path or 'that was the default'}"
    yield from (f"the agent {name}" for name in agents if was.agents.get(name) != agents[name])
