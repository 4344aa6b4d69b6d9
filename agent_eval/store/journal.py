"""The journal: one run record a line, appended the moment the run is done.

Each record is handed to the operating system at once and synced to disk within a second, so a
killed process loses nothing that had finished, and a power cut a second at most.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from agent_eval import serde
from agent_eval.files import check_file
from agent_eval.schema.result import RunRecord

SUFFIX = ".runs.jsonl"
SYNC_SECONDS = 1.0
MAX_VALUES = 1_000_000
"""In a record; those of conversations have hundreds."""
_BLOCK = 1 << 16


class Journal:
    """A journal file, open for appending."""

    def __init__(self, path: Path, *, goes_on: bool = False) -> None:
        """Creates the file, or goes on with one that is there.

        Args:
            path: the file.
            goes_on: it may be there; a torn last line is cut off.

        Raises:
            FileExistsError: another evaluation has it.
        """
        self.path = path
        self._file = path.open("ab+" if goes_on else "xb", buffering=0)
        self._size = _whole_lines(path) if goes_on else 0
        self._file.truncate(self._size)
        self._dirty = threading.Event()
        self._closed = threading.Event()
        self._syncer = threading.Thread(target=self._sync_while_open, daemon=True)
        self._syncer.start()

    def append(self, record: RunRecord) -> None:
        """Writes one record.

        Raises:
            OSError: the disk takes no more; what was written before is safe.
        """
        line = left = serde.model_to_json(record, compact=True) + b"\n"
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._size)  # no half a line in front of the next one
            raise
        self._size += len(line)
        self._dirty.set()

    def _sync_while_open(self) -> None:
        while not self._closed.wait(SYNC_SECONDS):
            self._sync()

    def _sync(self) -> None:
        if self._dirty.is_set():
            self._dirty.clear()
            os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._syncer.join()
        self._sync()
        self._file.close()


def _whole_lines(path: Path) -> int:
    """Where the last whole line of a file ends, in bytes."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            if (newline := file.read(end - start).rfind(b"\n")) >= 0:
                return start + newline + 1
            end = start
    return 0


def read_journal(path: Path) -> Iterator[RunRecord]:
    """The records of a journal, in the order in which runs finished. A torn last line is skipped.

    Raises:
        OSError: it cannot be read, or is no file.
        ValueError: a line that is no run record.
    """
    check_file(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return  # the process was killed while it wrote this one
            try:
                serde.check_size(line, MAX_VALUES)
                yield RunRecord.model_validate_json(line)
            except (ValidationError, serde.DocumentError) as error:
                raise ValueError(f"{path}:{number}: not a run record: {error}") from None
