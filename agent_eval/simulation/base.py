"""What the engine needs of whoever plays the user."""

from __future__ import annotations

from typing import Protocol

from agent_eval.schema.result import SimulatorUsage, StoppedBy
from agent_eval.schema.trace import Content, Invocation


class SimulatedUserError(Exception):
    """A simulated user has no next message. The message says why; it is no failure of the agent."""


class Player(Protocol):
    """The user's side of one run."""

    @property
    def stopped_by(self) -> StoppedBy | None:
        """Why there are no more messages; None before that, and where a conversation is replayed."""
        ...

    @property
    def usage(self) -> SimulatorUsage | None:
        """What the messages cost so far; None where no model writes them."""
        ...

    async def next_message(self, history: list[Invocation]) -> Content | None:
        """What the user says after these turns; None when the conversation is over.

        Args:
            history: all turns of the session, those from before the run included.

        Raises:
            SimulatedUserError: there is no message, though the conversation is not over.
        """
        ...
