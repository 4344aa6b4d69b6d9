"""Notices a dead endpoint: the first runs all crash with the same error."""

from __future__ import annotations

import re

from agent_eval.schema.result import ErrorInfo, RunRecord

DEFAULT_RUNS = 5
"""Crashed runs it takes, or the parallelism if that is larger."""

_VARYING = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+", re.IGNORECASE)


class CircuitBreaker:
    """Opens when the first `limit` finished runs have crashed alike; stays closed after any other run."""

    def __init__(self, limit: int | None) -> None:
        """Takes the number of runs; None never opens."""
        self._limit = limit
        self._crashes = 0
        self._first: tuple[str, str] | None = None
        self.error: ErrorInfo | None = None
        """What the runs crashed with, once it is open."""

    def watch(self, record: RunRecord) -> None:
        """Takes note of a finished run."""
        if self._limit is None or self.error:
            return
        if record.error is None or self._first not in (None, _kind(record.error)):
            self._limit = None  # the agent answers, or fails in more ways than one
            return
        self._first = _kind(record.error)
        self._crashes += 1
        if self._crashes >= self._limit:
            self.error = record.error


def _kind(error: ErrorInfo) -> tuple[str, str]:
    """What two errors of one cause have in common: not their ids, ports and times."""
    return error.type, _VARYING.sub("#", error.message)
