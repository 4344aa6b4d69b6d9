"""Baselines: results that a project keeps beside its eval sets, to compare with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from agent_eval import serde
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.evalsets import eval_set_id_of
from agent_eval.inputs.project import Project
from agent_eval.schema.result import EvalResult
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.summary import write_whole

SUFFIX = ".baseline.json"


def baseline_path(eval_set: str, result: str) -> Path:
    """Where the baseline of an eval set is kept: beside it, under its name.

    Args:
        eval_set: the eval set's file.
        result: the result that is to be or to have a baseline, for errors.

    Raises:
        InputError: there is no such eval set.
    """
    path = Path(eval_set)
    if not eval_set or not path.is_file():
        told = f"its eval set is not there: {eval_set}" if eval_set else "it does not name its eval set"
        raise InputError(Problem(f"{told}, and a baseline is kept beside it", result, hint="use --evalset"))
    return path.with_name(eval_set_id_of(path) + SUFFIX)


def set_baseline(result: EvalResult, path: Path) -> None:
    """Keeps a result as a baseline, without what decides nothing: informational metrics, and causes.

    Raises:
        OSError: it cannot be written.
    """
    cases = [
        case.model_copy(
            update={
                "metrics": [
                    one.model_copy(update={"causes": []})
                    for one in case.metrics
                    if one.status is not EvalStatus.INFORMATIONAL
                ]
            }
        )
        for case in result.cases
    ]
    kept = result.model_copy(update={"cases": cases}).model_dump(mode="json", by_alias=False)
    write_whole(serde.to_json(kept, indent=True) + b"\n", path)


def all_baselines(project: Project) -> Iterable[Path]:
    """Every baseline in the project's folders of eval sets."""
    folders = [project.root / folder for folder in project.settings.evalsets]
    return sorted({file for folder in folders for file in folder.glob(f"**/*{SUFFIX}")})
