"""`--adk_results`: results as files of ADK's too, in the folders of the agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_eval.errors import InputError, Problem

if TYPE_CHECKING:
    from agent_eval.cli.output import Output
    from agent_eval.preparation import Evaluation, PlannedSet
    from agent_eval.stored import Stored


def agent_folders(evaluation: Evaluation) -> dict[str, Path]:
    """The folder of each agent by its reference: its own, or the one that its file is in.

    Raises:
        InputError: an agent is neither a folder nor a file.
    """
    folders = {}
    for reference in evaluation.agents:
        place = Path(reference)
        if not place.exists():
            raise InputError(
                Problem(
                    f"--adk_results needs an agent that is a folder or a file, and `{reference}` is neither",
                    hint="name the agent's folder, or leave --adk_results out",
                )
            )
        folders[reference] = place if place.is_dir() else place.parent
    return folders


def make_history_folders(folders: dict[str, Path]) -> None:
    """Makes the folders that results will be in, so that what cannot be written is told before a run.

    Raises:
        OSError: one cannot be made.
    """
    from agent_eval.store.adk_results import history_folder

    for folder in folders.values():
        history_folder(folder)


def with_adk_results(
    results: Sequence[Stored], evaluation: Evaluation, folders: dict[str, Path], out: Output
) -> list[Stored]:
    """Writes each finished eval set in ADK's form too; what cannot be written is said."""
    written = []
    for stored, planned in zip(results, evaluation.sets, strict=True):
        try:
            stored = replace(stored, adk_results=_write(stored, planned, evaluation, folders))
        except OSError as error:
            out.note(f"error: the result of ADK cannot be written: {error}")
        written.append(stored)
    return written


def _write(
    stored: Stored, planned: PlannedSet, evaluation: Evaluation, folders: dict[str, Path]
) -> tuple[Path, ...]:
    """The files of an eval set: one an agent, in its folder, with the cases that it played."""
    from agent_eval.stored import write_adk_results

    eval_ids: dict[str, list[str]] = {}
    for case in planned.cases:
        eval_ids.setdefault(case.agent, []).append(case.case.eval_id)
    return tuple(
        write_adk_results(stored, folders[reference], evaluation.agents[reference].name, ids)
        for reference, ids in eval_ids.items()
    )
