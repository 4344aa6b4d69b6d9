"""Where results are kept, and the summary file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from agent_eval import clock, serde
from agent_eval.schema.result import EvalResult

DEFAULT_FOLDER = Path(".agent_eval/results")
MAX_NAME = 150
"""Longer ids are cut, to stay within what file systems take (bytes)."""


def safe_name(name: str) -> str:
    """A file name for an id: no path in it leads anywhere, and it is never empty or hidden."""
    name = re.sub(r"[^\w.\- ]", "_", name).strip(" .")
    return name.encode("utf-8", "replace")[:MAX_NAME].decode("utf-8", "ignore") or "_"


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
    write_whole(serde.model_to_json(result) + b"\n", path)


def write_whole(data: bytes, path: Path) -> None:
    """Writes a file whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    temporary = path.with_name(f".{clock.new_id(16)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
