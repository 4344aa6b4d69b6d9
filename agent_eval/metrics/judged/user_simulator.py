"""`per_turn_user_simulator_quality_v1`: did the simulated user keep to its scenario?"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from agent_eval.judge.answers import ONLY, VALIDITY, read_verdict
from agent_eval.judge.prompts import Exhibit, request, verdict_form
from agent_eval.judge.vote import Ruling
from agent_eval.metrics.base import RunContext
from agent_eval.metrics.judged import evidence
from agent_eval.metrics.judged.base import JudgedEvaluator, Question, Row, Turn
from agent_eval.metrics.judged.verdicts import verdict_row
from agent_eval.schema.config import UserSimulatorCriterion
from agent_eval.schema.evalset import ConversationScenario, UserBehavior, UserPersona
from agent_eval.schema.personas import persona_of
from agent_eval.schema.trace import Content, Part

INSTRUCTIONS = """\
You check a simulated user: a program that talks to an AI agent in the place of a person, by a plan. You \
see the plan, the conversation so far, and what the simulated user says next, which alone is judged.

It is `valid` unless one of the faults listed below is in it. Judge the user, not the agent: an agent \
that errs is no fault of the user. The plan says what the user wants and knows, in its order; it is no \
script, and need not be followed to the word. The conversation is over once the user says \
`{stop_signal}`, which is a signal to the program and no part of the talk: in a message that ends the \
conversation at the right time it is never a fault."""

DEFAULT_FAULTS = """\
- It asks again for what the agent has done already, or gives details for it.
- It agrees to something, or asks for something, that is not in the plan.
- It makes up details that the plan does not have, instead of saying that it does not know.
- It pours out details before the agent asked for them, or pursues several goals of the plan at once.
- It leaves a question of the agent unanswered that the plan has an answer to.
- It takes wrong information or a rash step of the agent as if nothing were wrong.
- It gives up at the agent's first error, or goes on after the second.
- It goes on where everything in the plan is done, or where the agent has handed over to a person, \
without saying `{stop_signal}`.
- It says `{stop_signal}` while parts of the plan are open and the agent has not failed.
- It does not sound like a person: stilted, over-polite, bare commands, or far longer than needed."""


class UserSimulatorQuality(JudgedEvaluator):
    """Share of the user's messages that keep to the scenario.

    The first message must be the starting prompt, which takes no judge. Each later one is voted on
    against the plan and the persona (or what is expected of any simulated user, without a persona);
    a tie is a no. So is whether the conversation could end where it did: if not, the last message
    fails.
    """

    criterion_type = UserSimulatorCriterion
    nothing = "there is no turn to judge"

    def turns(self, run: RunContext) -> list[Turn]:
        """One question for each later message, and one about the end.

        Raises:
            ValueError: the case has no scenario.
        """
        scenario = run.case.conversation_scenario
        if scenario is None:
            raise ValueError("this metric looks at how a scenario was played, and the case has none.")
        said = [turn.user_content for turn in run.invocations]
        turns = [
            Turn((self._question(run, scenario, number, content),))
            for number, content in enumerate(said[1:], 1)
        ]
        if not said:
            return []
        opened = said[0].text.strip() == scenario.starting_prompt.strip()
        first = Row(float(opened), None if opened else "The first message is not the starting prompt.")
        turns = [Turn(settled=first), *turns]
        stop = Content(role="user", parts=[Part(text=self._stop_signal)])
        end = self._question(run, scenario, len(said), stop)
        turns[-1] = Turn((*turns[-1].questions, end), turns[-1].settled)
        return turns

    @property
    def _stop_signal(self) -> str:
        criterion = self._criterion
        return criterion.stop_signal if isinstance(criterion, UserSimulatorCriterion) else ""

    def _question(
        self, run: RunContext, scenario: ConversationScenario, number: int, message: Content
    ) -> Question:
        persona = persona_of(scenario)
        exhibits = [
            Exhibit("The plan", scenario.conversation_plan),
            *([Exhibit("Who the user is", persona.description)] if persona else []),
            *_talk(run, number),
            evidence.message("The simulated user says next", message),
        ]
        asked = request(
            INSTRUCTIONS.format(stop_signal=self._stop_signal),
            exhibits,
            verdict_form(VALIDITY),
            f"The faults:\n{_faults(persona, self._stop_signal)}",
        )
        return Question(asked, {ONLY: ""}, lambda text: read_verdict(text, VALIDITY))

    def row(self, turn: Turn, rulings: Sequence[Ruling]) -> Row:
        """The message's verdict; a wrong end takes its place."""
        rows = [*([turn.settled] if turn.settled else []), *map(verdict_row, rulings)]
        if len(rows) > 1 and rows[-1].score == 0.0:
            told = f"The conversation should not have ended here: {rows[-1].rationale or 'no reason given'}"
            return dataclasses.replace(rows[-1], rationale=told)
        return next((row for row in rows if row.unjudged and rows[0].score != 0.0), rows[0])


def _talk(run: RunContext, number: int) -> list[Exhibit]:
    """The messages before one, with what is attached to them."""
    talk = [
        exhibit
        for index, turn in enumerate(run.invocations[:number], 1)
        for exhibit in (
            evidence.message(f"Turn {index}: the user says", turn.user_content),
            evidence.message(f"Turn {index}: the agent says", turn.final_response),
        )
    ]
    return [*evidence.history(run.context), *talk]


def _faults(persona: UserPersona | None, stop_signal: str) -> str:
    if persona is None:
        return DEFAULT_FAULTS.format(stop_signal=stop_signal)
    return "\n".join(_of_behavior(behavior, stop_signal) for behavior in persona.behaviors)


_STOP = re.compile(r"\{\{\s*stop_signal\s*\}\}")
"""As in the texts of personas."""


def _of_behavior(behavior: UserBehavior, stop_signal: str) -> str:
    faults = "\n".join(f"- {fault}" for fault in behavior.violation_rubrics)
    return _STOP.sub(lambda _: stop_signal, f"{behavior.name}. {behavior.description}\n{faults}")
