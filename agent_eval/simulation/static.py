"""The user of a fixed conversation: says what the eval case has, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence

from agent_eval.schema.trace import Content, Invocation


class StaticPlayer:
    """Replays the user turns of a conversation."""

    stopped_by = None
    usage = None

    def __init__(self, conversation: Sequence[Invocation]) -> None:
        self._turns = iter(conversation)

    async def next_message(self, history: list[Invocation]) -> Content | None:
        """The next turn of the case, None after the last."""
        turn = next(self._turns, None)
        return turn.user_content if turn else None
