"""What the scheduler needs of a place where runs are made."""

from __future__ import annotations

from typing import Protocol, TypeVar

from agent_eval.plan import RunSpec
from agent_eval.schema.result import RunRecord

Playing = TypeVar("Playing")
"""A run between its conversation and its score."""


class Executor(Protocol[Playing]):
    """Makes runs."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong without harm to any run; complete once it is closed."""
        ...

    async def play(self, spec: RunSpec) -> Playing:
        """Has the conversation of one run. Its failures are in its record."""
        ...

    async def score(self, playing: Playing) -> RunRecord:
        """The record of a run that was played."""
        ...

    async def aclose(self) -> None:
        """Gives back what it holds; runs that are under way end without a record."""
        ...
