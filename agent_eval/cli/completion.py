"""What the shell may complete: eval sets, their cases, metrics, results. Nothing here may fail or print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import typer


def complete_targets(incomplete: str) -> list[str]:
    """Agents and eval sets; behind a colon, the cases of an eval set."""
    with suppress(Exception):
        file, colon, cases = incomplete.rpartition(":")
        if colon:
            done, comma, _ = cases.rpartition(",")
            taken = done.split(",")
            return [f"{file}:{done}{comma}{one}" for one in _case_ids(file) if one not in taken]
        return [*_eval_sets(), *_agents()]
    return []


def complete_eval_sets(incomplete: str) -> list[str]:
    """Eval sets of the project."""
    with suppress(Exception):
        return list(_eval_sets())
    return []


def complete_cases(ctx: typer.Context) -> list[str]:
    """The cases of the eval sets that are named already, else of those of the project."""
    with suppress(Exception):
        named = [*(ctx.params.get("targets") or ()), *(ctx.params.get("evalset") or ())]
        files = [one for one in named if one.endswith(".json")] or list(_eval_sets())
        return list(dict.fromkeys(eval_id for file in files for eval_id in _case_ids(file)))
    return []


def complete_judged_metrics() -> list[str]:
    """The metrics that a judge scores."""
    from agent_eval.metrics.builtin import BUILT_IN

    return [metric.info.metric_name for metric in BUILT_IN if metric.needs_judge]


def complete_kept() -> list[str]:
    """Eval sets that have results."""
    from agent_eval.store.history import homes
    from agent_eval.store.summary import DEFAULT_FOLDER

    return list(homes(DEFAULT_FOLDER))


def complete_results() -> list[str]:
    """Results, newest first."""
    from agent_eval.store.history import homes, summaries
    from agent_eval.store.summary import DEFAULT_FOLDER

    found = [path for home in homes(DEFAULT_FOLDER).values() for path in summaries(home)]
    return [str(path) for path in sorted(found, key=lambda path: path.name, reverse=True)]


def _eval_sets() -> Iterator[str]:
    """Those here and in the project's folders for them."""
    from agent_eval.inputs.evalsets import SUFFIXES
    from agent_eval.inputs.project import find_project

    project = find_project()
    folders = [Path(), *(project.root / folder for folder in project.settings.evalsets)]
    files = {file for folder in folders for suffix in SUFFIXES for file in folder.glob(f"*{suffix}")}
    yield from sorted(map(str, files))


def _agents() -> Iterator[str]:
    from agent_eval.inputs.discovery import agents_of
    from agent_eval.inputs.project import find_project

    yield from map(str, agents_of(find_project()))


def _case_ids(file: str) -> list[str]:
    from agent_eval.inputs.evalsets import load_eval_set

    return [case.eval_id for case in load_eval_set(Path(file)).eval_set.eval_cases]
