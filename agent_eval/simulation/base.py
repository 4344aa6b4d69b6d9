"""What the engine needs of whoever plays the user."""

from __future__ import annotations

from typing import Protocol

from agent_eval.schema.trace import Content, Invocation


class Player(Protocol):
    """The user's side of one run."""

    async def next_message(self, history: list[Invocation]) -> Content | None:
        """What the user says after these turns; None when the conversation is over."""
        ...
