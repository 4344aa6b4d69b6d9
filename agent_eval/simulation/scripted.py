"""The user of a script: no model, no key, always the same."""

from __future__ import annotations

import re

from agent_eval.schema.config import ScriptedSimulatorConfig
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.result import StoppedBy
from agent_eval.schema.trace import Invocation
from agent_eval.simulation.scenario import ScenarioPlayer


class ScriptedPlayer(ScenarioPlayer):
    """Says the first of its turns that was not said yet and fits the agent's last answer."""

    def __init__(self, scenario: ConversationScenario, config: ScriptedSimulatorConfig) -> None:
        super().__init__(scenario, config.max_allowed_invocations)
        self._turns = list(config.turns)

    async def write(self, history: list[Invocation]) -> str | StoppedBy:
        """What the turn says, if there is one."""
        last = history[-1].final_response if history else None
        answer = last.text if last else ""
        for turn in self._turns:
            if turn.when is None or re.search(turn.when, answer, re.IGNORECASE):
                self._turns.remove(turn)
                return turn.say
        return StoppedBy.NO_TURN_FITS if self._turns else StoppedBy.END_OF_SCRIPT
