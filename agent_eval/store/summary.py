"""Where results are kept, and the summary file."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from agent_eval import clock, serde
from agent_eval.schema.result import EvalResult

DEFAULT_FOLDER = Path(".agent_eval/results")
MAX_NAME = 100
"""Longer ids are cut, to stay within what file systems take (characters)."""


def safe_name(name: str) -> str:
    """A file name for an id: no path in it leads anywhere, and it is never empty or hidden."""
    name = re.sub(r"[^\w.\- ]", "_", name).strip(" .")[:MAX_NAME]
    return name or "_"


def new_stem(folder: Path, eval_set_id: str) -> Path:
    """The common start of a new result's file names; its folder exists.

    Raises:
        OSError: the folder cannot be made.
    """
    home = folder / safe_name(eval_set_id)
    home.mkdir(parents=True, exist_ok=True)
    moment = clock.timestamp().replace("-", "").replace(":", "").replace(".", "")
    return home / f"{moment}-{clock.new_id()}"


def write_summary(result: EvalResult, path: Path) -> None:
    """Writes a summary whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(serde.model_to_json(result) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
