"""Results of shards -> one result an eval set, as if one machine had made all the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_eval import clock
from agent_eval.aggregate.verdict import sum_totals
from agent_eval.diagnose.diagnosis import Diagnosis
from agent_eval.errors import InputError, Problem
from agent_eval.schema.result import AgentRef, EvalResult, ShardRef
from agent_eval.store.journal import SUFFIX, Journal
from agent_eval.store.summary import DEFAULT_FOLDER, new_stem, write_summary
from agent_eval.stored import Stored, read_stored

TOOL = "adk-agent-eval"


@dataclass(frozen=True, slots=True)
class Part:
    """What one shard has of an eval set."""

    stored: Stored
    shard: ShardRef

    @property
    def result(self) -> EvalResult:
        """Its result."""
        return self.stored.result

    @property
    def path(self) -> str:
        """The file that stands for it."""
        return str(self.stored.path)


@dataclass(frozen=True, slots=True)
class Whole:
    """All that is there of one eval set, in the order of the shards."""

    parts: tuple[Part, ...]
    missing: str | None = None
    """What is not there."""


@dataclass(frozen=True, slots=True)
class Merge:
    """What is to be merged; everything that can be checked has been."""

    wholes: tuple[Whole, ...]
    missing: tuple[str, ...]
    """What is not there, of all eval sets."""
    warnings: tuple[str, ...]


def plan_merge(names: Sequence[str], *, allow_missing: bool) -> Merge:
    """Reads results and checks that they are parts of one evaluation.

    Args:
        names: summaries, journals, or folders with results at any depth. Where a folder has several
            results of one shard, the newest counts.
        allow_missing: merge what is there even if a shard is not.

    Raises:
        InputError: they do not belong together, or some are missing; all that is wrong at once.
    """
    warnings: list[str] = []
    parts = [part for name in names for part in _parts_of(Path(name), warnings)]
    unique = {Path(part.path).resolve(): part for part in parts}  # a file may be named twice
    wholes = [_whole(group) for group in _by_eval_set(unique.values())]
    problems = [problem for whole in wholes for problem in _problems(whole)]
    if problems:
        raise InputError(*problems)
    missing = [whole.missing for whole in wholes if whole.missing] or list(_missing_shards(wholes))
    if missing and not allow_missing:
        hint = "--allow_missing merges what is there"
        raise InputError(*(Problem(told, hint=hint) for told in missing))
    return Merge(tuple(wholes), tuple(missing), (*warnings, *missing, *_version_warnings(wholes)))


def _parts_of(path: Path, warnings: list[str]) -> list[Part]:
    """The shards that a name means."""
    if not path.is_dir():
        return [_part(read_stored(path))]
    newest: dict[tuple[Any, ...], Part] = {}
    for journal in sorted(path.rglob(f"*{SUFFIX}"), key=lambda file: file.name):
        stored = read_stored(journal)
        if stored.path == stored.journal:
            warnings.append(f"{journal}: left out, as it has no summary: its evaluation was broken off")
        elif shard := stored.result.provenance.shard:
            named = stored.result.eval_set
            newest[named.eval_set_id, named.path, shard.index, shard.count] = Part(stored, shard)
    if not newest:
        raise InputError(Problem("holds no result that was made with --shard", str(path)))
    return list(newest.values())


def _part(stored: Stored) -> Part:
    shard, path = stored.result.provenance.shard, str(stored.path)
    if stored.path == stored.journal:
        raise InputError(Problem("has no summary beside it, as its evaluation was broken off", path))
    if shard is None:
        raise InputError(Problem("was not made with --shard, so there is nothing to merge it with", path))
    return Part(stored, shard)


def _by_eval_set(parts: Iterable[Part]) -> list[list[Part]]:
    """The parts of each eval set. Two sets may share an id, and one may have two paths on two machines."""
    groups: list[list[Part]] = []
    for part in parts:
        named = part.result.eval_set
        for group in groups:
            other = group[0].result.eval_set
            if named.eval_set_id == other.eval_set_id and (
                named.path == other.path or named.sha256 == other.sha256
            ):
                group.append(part)
                break
        else:
            groups.append([part])
    return groups


def _whole(group: Sequence[Part]) -> Whole:
    parts = tuple(sorted(group, key=lambda part: part.shard.index))
    first = parts[0].shard
    there = {position for part in parts for position in part.shard.positions}
    lost = [position for position in range(first.cases) if position not in there]
    if not lost or not first.positions:
        return Whole(parts)
    offset = first.index - 1 - first.positions[0]
    shards = sorted({(offset + position) % first.count + 1 for position in lost})
    names = ", ".join(f"{index}/{first.count}" for index in shards)
    name = parts[0].result.eval_set.eval_set_id
    return Whole(parts, f"`{name}`: {len(lost)} of {first.cases} cases are missing: those of shard {names}")


_ALIKE: tuple[tuple[str, Callable[[Part], Any]], ...] = (
    ("another version of the eval set", lambda part: part.result.eval_set.sha256),
    ("another config", lambda part: part.result.config.sha256),
    ("another number of runs", lambda part: part.result.config.multi_run_config.get("num_runs")),
    ("another seed", lambda part: part.result.provenance.seed),
    ("another agent", lambda part: part.shard.agents),
    ("another commit", lambda part: part.result.provenance.git_commit),
    ("another number of shards", lambda part: part.shard.count),
    ("another choice of cases", lambda part: (part.shard.cases, part.shard.used)),
)
"""What shards of one evaluation have in common."""


def _problems(whole: Whole) -> Iterator[Problem]:
    """Why these parts are not one evaluation."""
    first, *others = whole.parts
    for part in others:
        if unlike := [what for what, of in _ALIKE if of(part) != of(first)]:
            yield Problem(f"was made with {', '.join(unlike)} than {first.path}", part.path)
    holder: dict[int, Part] = {}
    for part in whole.parts:
        positions = part.shard.positions
        if part.stored.journal is None:
            yield Problem("its journal is not beside it", part.path)
        if len(positions) != len(part.result.cases) or not set(positions) <= set(range(part.shard.cases)):
            yield Problem("is damaged: the positions of its cases are not those of its cases", part.path)
            continue
        twice = [position for position in positions if position in holder]
        if twice:
            eval_id = part.result.cases[positions.index(twice[0])].eval_id
            yield Problem(f"has case `{eval_id}`, as has {holder[twice[0]].path}", part.path)
        holder |= dict.fromkeys(positions, part)


def _missing_shards(wholes: Sequence[Whole]) -> Iterator[str]:
    """Shards of which nothing is there, where no eval set tells of them: those with a set of their own."""
    seen = {part.shard.index for whole in wholes for part in whole.parts}
    used, count = max((part.shard.used, part.shard.count) for whole in wholes for part in whole.parts)
    for index in range(1, used + 1):
        if index not in seen:
            yield f"shard {index}/{count} is missing, with all its cases"


def _version_warnings(wholes: Sequence[Whole]) -> list[str]:
    made = [part.result.provenance.packages for whole in wholes for part in whole.parts]
    found = {
        name: sorted({packages.get(name, "none") for packages in made})
        for name in dict.fromkeys(name for packages in made for name in packages)
    }
    return [
        f"made with different versions of {'agent-eval' if name == TOOL else name}: {', '.join(versions)}"
        for name, versions in found.items()
        if len(versions) > 1
    ]


def merge(plan: Merge, *, output: str | None, command: str) -> list[Stored]:
    """Writes one result for each eval set: its cases in their order, its causes found over all of them.

    Raises:
        InputError: a journal is damaged.
        OSError: results cannot be written.
    """
    folder = Path(output) if output else DEFAULT_FOLDER
    return [_merged(whole, folder, command) for whole in plan.wholes]


def _merged(whole: Whole, folder: Path, command: str) -> Stored:
    first = whole.parts[0].result
    stem = new_stem(folder, first.eval_set.eval_set_id)
    journal = stem.with_name(stem.name + SUFFIX)
    agent = _agent(whole)
    diagnosis = Diagnosis(first.config.criteria, first.config.custom_metrics, agent.name)
    _join(whole, journal, diagnosis)
    cases = {
        position: case
        for part in whole.parts
        for position, case in zip(part.shard.positions, part.result.cases, strict=True)
    }
    result = EvalResult(
        result_id=stem.name,
        created=clock.timestamp(),
        eval_set=first.eval_set,
        agent=agent,
        config=first.config,
        provenance=first.provenance.model_copy(
            update={
                "command": command,
                "git_dirty": any(part.result.provenance.git_dirty for part in whole.parts)
                if first.provenance.git_commit
                else None,
                "shard": None,
                "merged_from": [part.result.result_id for part in whole.parts],
            }
        ),
        totals=sum_totals([part.result.totals for part in whole.parts]),
        stopped="; ".join(_stops(whole)) or None,
        cases=[cases[position] for position in sorted(cases)],
    )
    summary = stem.with_name(f"{stem.name}.json")
    result = diagnosis.explained(result)
    write_summary(result, summary)
    return Stored(result, summary, journal)


def _join(whole: Whole, journal: Path, diagnosis: Diagnosis) -> None:
    """Writes all run records to a journal that is whole or not there, and looks for causes on the way."""
    try:
        with Journal(journal) as file:
            for part in whole.parts:
                for record in part.stored.records():
                    file.append(record)
                    diagnosis.add(record)
    except BaseException:
        journal.unlink(missing_ok=True)
        raise


def _stops(whole: Whole) -> Iterator[str]:
    """Why runs are missing."""
    for part in whole.parts:
        if part.result.stopped:
            yield f"shard {part.shard.index}/{part.shard.count}: {part.result.stopped}"
    if whole.missing:
        yield whole.missing


def _agent(whole: Whole) -> AgentRef:
    """The agent; where cases of an eval set have several, all of them."""
    agents = [part.result.agent for part in whole.parts]
    return AgentRef(**{key: ", ".join(dict.fromkeys(_split(agents, key))) for key in AgentRef.model_fields})


def _split(agents: Sequence[AgentRef], key: str) -> Iterator[str]:
    for agent in agents:
        yield from getattr(agent, key).split(", ")
