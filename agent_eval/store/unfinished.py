"""What an evaluation set out to do, kept beside its results until they are complete.

The file is there while the evaluation runs, and stays when it is broken off: with it and the
journals the evaluation can go on. Whoever works on it holds a lock, so that nobody else does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Annotated, Self

from pydantic import Field, ValidationError

from agent_eval import serde
from agent_eval.errors import InputError, Problem
from agent_eval.schema.base import Value
from agent_eval.schema.result import EvalSetRef, ShardRef
from agent_eval.store.journal import SUFFIX as JOURNAL
from agent_eval.store.results import parsed, read_content
from agent_eval.store.summary import write_whole

SUFFIX = ".plan"
VERSION = 1


class CaseDigest(Value):
    """A case as it was when the evaluation began."""

    eval_id: str
    sha256: str


class Settings(Value):
    """The options that decide what comes out; others may differ when an evaluation goes on."""

    agent: str | None = None
    url: str | None = None
    app_name: str | None = None
    env_file: str | None = None
    timeout: float | None = None
    metric_timeout: float | None = None
    seed: int = 0
    retry_crashed: int = 0
    stop_when_decided: bool = False
    fail_fast: bool = False
    circuit_breaker: int | None = None
    share_agent: bool = False
    record_inner_calls: bool = False
    artifacts: str | None = None
    custom_code: bool = True


Name = Annotated[str, Field(pattern=r"^[^./\\\x00][^/\\\x00]*$")]
"""Of a file or folder, and no path that leads elsewhere."""


class UnfinishedSet(Value):
    """An eval set of the evaluation."""

    result_id: Name
    folder: Name
    """Where its files are, below the folder of results."""
    eval_set: EvalSetRef
    cases: list[CaseDigest]
    """In the order of the plan."""
    config_path: str | None
    config_sha256: str
    num_runs: int
    agents: dict[str, str | None]
    """Digest of the sources of each agent; None where there are none to see."""
    shard: ShardRef | None = None

    def journal(self, home: Path) -> Path:
        """Its journal below a folder of results."""
        return home / self.folder / f"{self.result_id}{JOURNAL}"


class Unfinished(Value):
    """The whole evaluation."""

    version: int = VERSION
    command: str
    settings: Settings
    sets: list[UnfinishedSet]


class PlanFile:
    """The file, locked."""

    def __init__(self, path: Path) -> None:
        """Opens and locks a file that is there.

        Raises:
            BlockingIOError: somebody is at work on it.
            OSError: it cannot be opened.
        """
        self.path = path
        self._file = path.open("rb+")
        try:
            _lock(self._file)
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def written(cls, plan: Unfinished, path: Path) -> Self:
        """A new one.

        Raises:
            OSError: it cannot be written.
        """
        write_whole(serde.model_to_json(plan) + b"\n", path)
        return cls(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def remove(self) -> None:
        """Takes it away, as the results are complete."""
        self._file.close()
        self.path.unlink(missing_ok=True)


if sys.platform == "win32":

    def _lock(file: IO[bytes]) -> None:
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from None

else:

    def _lock(file: IO[bytes]) -> None:
        import fcntl

        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            return  # a file system without locks


def read_unfinished(path: Path) -> Unfinished:
    """Reads what an evaluation set out to do.

    Raises:
        InputError: the file is not there, or something else.
    """
    document = parsed(read_content(path), str(path))
    version = document.get("version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise InputError(Problem("was written by a newer agent-eval", str(path), hint="update agent-eval"))
    try:
        return Unfinished.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = serde.path_text(first["loc"]) or None
        raise InputError(Problem(f"is damaged: {first['msg']}", str(path), place)) from None


def unfinished(home: Path) -> list[Path]:
    """The evaluations below a folder of results that have not been finished, oldest first."""
    return sorted(home.glob(f"*{SUFFIX}"))
