"""What every simulated user does: opens with the starting prompt, stops at the signal and at the limit."""

from __future__ import annotations

from abc import ABC, abstractmethod

from agent_eval.schema.config import STOP_SIGNAL
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.result import SimulatorUsage, StoppedBy
from agent_eval.schema.trace import Content, Invocation, Part


def says_stop(text: str) -> bool:
    """Whether the stop signal is in a text, in any case."""
    return STOP_SIGNAL in text.lower()


class ScenarioPlayer(ABC):
    """The user of a scenario. How messages after the opening come about, a subclass says."""

    def __init__(self, scenario: ConversationScenario, limit: int) -> None:
        """Takes the scenario, and how many messages there may be, the opening included; -1 for no limit."""
        self.scenario = scenario
        self.stopped_by: StoppedBy | None = None
        self.usage: SimulatorUsage | None = None
        self._limit = limit
        self._said = 0

    @abstractmethod
    async def write(self, history: list[Invocation]) -> str | StoppedBy:
        """The text of the next message, or why there is none.

        Raises:
            SimulatedUserError: there should be one, and none came.
        """

    async def next_message(self, history: list[Invocation]) -> Content | None:
        """The next message. A text with the stop signal ends the conversation, and nobody sees it.

        Raises:
            SimulatedUserError: there should be one, and none came.
        """
        if 0 <= self._limit <= self._said:
            self.stopped_by = StoppedBy.TURN_LIMIT
            return None
        text = await self.write(history) if self._said else self.scenario.starting_prompt
        self._said += 1
        if isinstance(text, StoppedBy):
            self.stopped_by = text
        elif says_stop(text):
            self.stopped_by = StoppedBy.STOP_SIGNAL
        else:
            return Content(role="user", parts=[Part(text=text)])
        return None
