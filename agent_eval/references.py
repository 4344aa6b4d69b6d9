"""What names a result -> the result: a file, a folder, `latest`, `previous`, `baseline`, `git:REF`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_eval.errors import InputError, Problem
from agent_eval.files import read_bytes
from agent_eval.store.history import homes, summaries
from agent_eval.store.summary import DEFAULT_FOLDER
from agent_eval.stored import Stored, read_stored

LATEST = "latest"
PREVIOUS = "previous"
BASELINE = "baseline"
GIT = "git:"
FORMS = "a result is a file, a folder of results, `latest`, `previous`, `baseline` or `git:REF`"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results of one eval set."""

    baseline: Stored
    candidate: Stored


@dataclass(frozen=True, slots=True)
class Paired:
    """All that are to be compared."""

    pairs: list[Pair]
    notes: list[str]
    """What else to know of them, such as eval sets that only one side has."""


def paired(baseline: str, candidate: str, *, folder: str | None, eval_sets: Sequence[str]) -> Paired:
    """The results that two references name, eval set by eval set.

    Args:
        baseline: a reference.
        candidate: another.
        folder: where results are kept.
        eval_sets: the ids of those that are wanted; all of them if there are none.

    Raises:
        InputError: one of them names nothing, or they have no eval set in common.
    """
    if baseline == candidate == BASELINE:
        raise InputError(Problem("a baseline cannot be compared with itself", hint=FORMS))
    if candidate == BASELINE:
        before = _wanted(resolved(baseline, folder=folder), eval_sets)
        after = _baselines_of(before)
    else:
        after = _wanted(resolved(candidate, folder=folder), eval_sets)
        found = _baselines_of(after) if baseline == BASELINE else resolved(baseline, folder=folder)
        before = _wanted(found, eval_sets)
    if len(before) == len(after) == 1:  # two files may be of two eval sets, which is then told
        return Paired([Pair(before[0], after[0])], list(_git_notes((baseline, candidate), before + after)))
    ours, theirs = ({_id(one): one for one in side} for side in (before, after))
    pairs = [Pair(ours[name], theirs[name]) for name in theirs if name in ours]
    if not pairs:
        have = " and ".join(f"`{', '.join(side) or 'nothing'}`" for side in (ours, theirs))
        raise InputError(Problem(f"`{baseline}` and `{candidate}` have no eval set in common: {have}"))
    alone = [
        f"eval set `{name}` is not compared: `{other}` has no result of it"
        for one, others, other in ((ours, theirs, candidate), (theirs, ours, baseline))
        for name in one
        if name not in others and not Path(other).is_file()
    ]
    compared = [stored for pair in pairs for stored in (pair.baseline, pair.candidate)]
    return Paired(pairs, [*alone, *_git_notes((baseline, candidate), compared)])


def _wanted(results: Iterable[Stored], eval_sets: Sequence[str]) -> list[Stored]:
    return [one for one in results if not eval_sets or _id(one) in eval_sets]


def _id(stored: Stored) -> str:
    return stored.result.eval_set.eval_set_id


def resolved(reference: str, *, folder: str | None) -> list[Stored]:
    """The results that a reference names: one, or one of each eval set.

    Raises:
        InputError: it names nothing that can be read.
    """
    home = Path(folder) if folder else DEFAULT_FOLDER
    if reference == BASELINE:
        return _baselines()
    if reference == LATEST:
        return [read_stored(files[0]) for files in _histories(home)] or _nothing(reference, home)
    if reference == PREVIOUS:
        found = [read_stored(files[1]) for files in _histories(home) if len(files) > 1]
        return found or _nothing(reference, home)
    if reference.startswith(GIT):
        return _of_commit(reference, home)
    path = Path(reference)
    if path.is_dir():
        return [read_stored(files[0]) for files in _histories(path)] or _nothing(reference, path)
    if not path.exists():
        raise InputError(Problem("no such file", reference, hint=FORMS))
    return [read_stored(path)]


def _nothing(reference: str, folder: Path) -> list[Stored]:
    hint = "`previous` takes two results of an eval set" if reference == PREVIOUS else None
    raise InputError(
        Problem(
            f"`{reference}` names no result: none is in {folder}", hint=hint or "make one: agent-eval run"
        )
    )


def _histories(folder: Path) -> list[list[Path]]:
    """The summaries of each eval set, newest first. A folder of one eval set has one list."""
    found = (summaries(home)[::-1] for home in (folder, *homes(folder).values()))
    return [files for files in found if files]


def _of_commit(reference: str, home: Path) -> list[Stored]:
    """The newest result of each eval set that was made from a commit."""
    commit = _commit(reference)
    found = []
    for files in _histories(home):
        made = (read_stored(file) for file in files if commit.encode() in read_bytes(file))
        newest = next((one for one in made if one.result.provenance.git_commit == commit), None)
        found += [newest] if newest else []
    if not found:
        raise InputError(
            Problem(
                f"`{reference}` names no result: none in {home} was made from commit {commit[:12]}",
                hint="check it out and run `agent-eval run`",
            )
        )
    return found


def _commit(reference: str) -> str:
    name = reference.removeprefix(GIT)
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        raise InputError(Problem(f"`{name}` is no commit of a git repository here")) from None
    return done.stdout.strip()


def _git_notes(references: Sequence[str], compared: Iterable[Stored]) -> Iterator[str]:
    """Results named by a commit that are not of that commit alone."""
    if any(reference.startswith(GIT) for reference in references):
        for one in compared:
            if one.result.provenance.git_dirty:
                yield f"{one.path} was made from a working folder with uncommitted changes"


def _baselines_of(results: Sequence[Stored]) -> list[Stored]:
    """The baselines that are kept for the eval sets of results: of those that have one."""
    from agent_eval.baselines import baseline_path

    paths = [baseline_path(one.result.eval_set.path, str(one.path)) for one in results]
    kept = [path for path in paths if path.exists()]
    if paths and not kept:
        hint = "set one: agent-eval baseline set RESULT"
        raise InputError(*(Problem("no such baseline", str(path), hint=hint) for path in paths))
    return [read_stored(path) for path in kept]


def _baselines() -> list[Stored]:
    from agent_eval.baselines import all_baselines
    from agent_eval.inputs.project import find_project

    project = find_project()
    found = [read_stored(path) for path in all_baselines(project)]
    if not found:
        folders = ", ".join(project.settings.evalsets)
        hint = "set one: agent-eval baseline set RESULT; `compare` finds those beside other eval sets too"
        raise InputError(Problem(f"no baseline in {folders}", hint=hint))
    return found
