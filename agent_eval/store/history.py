"""Earlier results of an eval set: which there are, and what became of its cases."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from agent_eval.errors import InputError
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.results import read_result
from agent_eval.store.summary import safe_name

LOOKED_BACK = 50
"""Results beyond these are not searched for a case that has not run lately."""


def summaries(home: Path) -> list[Path]:
    """The results in the folder of an eval set, oldest first: their names begin with the time."""
    return sorted(home.glob("[0-9]*T[0-9]*Z-*.json"), key=lambda path: path.name)


def homes(folder: Path) -> dict[str, Path]:
    """The folder of each eval set that has results, by its name."""
    return {path.name: path for path in sorted(folder.glob("*")) if path.is_dir() and summaries(path)}


def last_verdicts(folder: Path, eval_set_id: str, eval_ids: Collection[str]) -> dict[str, EvalStatus]:
    """The verdict of each of these cases when it last ran. Files that cannot be read say nothing."""
    verdicts: dict[str, EvalStatus] = {}
    for path in summaries(folder / safe_name(eval_set_id))[: -LOOKED_BACK - 1 : -1]:
        try:
            result = read_result(path)
        except InputError:
            continue
        for case in result.cases:
            verdicts.setdefault(case.eval_id, case.verdict)
        if all(eval_id in verdicts for eval_id in eval_ids):
            break
    return verdicts
