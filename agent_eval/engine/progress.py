"""What an evaluation tells while it runs."""

from __future__ import annotations

from typing import Protocol

from agent_eval.plan import RunSpec
from agent_eval.schema.result import RunRecord


class Progress(Protocol):
    """Somebody who watches an evaluation."""

    def started(self, spec: RunSpec) -> None:
        """A run began."""
        ...

    def finished(self, record: RunRecord) -> None:
        """A run ended and was scored."""
        ...


class Silent:
    """Watches without a word."""

    def started(self, spec: RunSpec) -> None:
        """Nothing to do."""

    def finished(self, record: RunRecord) -> None:
        """Nothing to do."""
