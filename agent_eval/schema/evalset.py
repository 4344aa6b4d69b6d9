"""Eval sets: cases, their conversations or scenarios, and the sessions they start from."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AliasChoices, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from agent_eval.schema.base import Many, Value, one_spelling
from agent_eval.schema.trace import Event, Invocation, Rubric

PREBUILT_PERSONAS = ("EXPERT", "NOVICE", "EVALUATOR")
"""Persona ids that an eval set may name instead of spelling a persona out."""


class UserBehavior(Value):
    """One trait of a persona: how to act it, and what would betray it."""

    model_config = ConfigDict(extra="ignore", alias_generator=None)

    name: str
    description: str
    behavior_instructions: Many[str]
    violation_rubrics: Many[str]

    def get_behavior_instructions_str(self) -> str:
        """The instructions as a list; templates written for ADK call it."""
        return "\n".join(f"  * {one}" for one in self.behavior_instructions)


class UserPersona(Value):
    """Who a simulated user is."""

    model_config = ConfigDict(extra="ignore", alias_generator=None)

    id: str
    description: str
    behaviors: Many[UserBehavior]


def _known_persona(value: str) -> str:
    if value not in PREBUILT_PERSONAS:
        raise PydanticCustomError(
            "unknown_persona",
            "unknown persona id `{value}`; the pre-built ones are {known}",
            {"value": value, "known": ", ".join(PREBUILT_PERSONAS), "names": list(PREBUILT_PERSONAS)},
        )
    return value


def _persona_form(value: object) -> str:
    return "id" if isinstance(value, str) else "persona"


class ConversationScenario(Value):
    """What a simulated user wants: how it opens and the plan it follows."""

    starting_prompt: str
    conversation_plan: str
    user_persona: (
        Annotated[
            Annotated[UserPersona, Tag("persona")]
            | Annotated[str, AfterValidator(_known_persona), Tag("id")],
            Discriminator(_persona_form),
        ]
        | None
    ) = None
    """A persona, or the id of a pre-built one."""


class ConversationScenarios(Value):
    """A file of scenarios that are to become cases."""

    scenarios: Many[ConversationScenario] = []


class SessionInput(Value):
    """The session that every run of a case starts from."""

    model_config = ConfigDict(extra="allow")

    app_name: str
    user_id: str
    session_id: str | None = None
    """A pinned id; each run still starts from an empty conversation."""
    state: dict[str, Any] = {}
    events: Annotated[Many[Event], Field(exclude_if=operator.not_)] = []
    """What was said and done in the session before; their changes of the state are not made again."""

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, data: object) -> object:
        return one_spelling(cls, data)


class EvalCase(Value):
    """One case: a fixed conversation to replay, or a scenario to play."""

    model_config = ConfigDict(extra="allow")

    eval_id: str
    conversation: list[Invocation] | None = None
    conversation_scenario: ConversationScenario | None = None
    session_input: SessionInput | None = None
    creation_timestamp: float = 0.0
    rubrics: Many[Rubric] | None = None
    final_session_state: dict[str, Any] | None = {}
    """The state expected at the end; an empty one expects nothing."""
    context_turns: Annotated[int, Field(ge=0, exclude_if=operator.not_)] = 0
    """So many turns at the start of the conversation are played, but not scored."""

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, data: object) -> object:
        return one_spelling(cls, data)

    @model_validator(mode="after")
    def _conversation_or_scenario(self) -> Self:
        if (self.conversation is None) == (self.conversation_scenario is None):
            found = "neither" if self.conversation is None else "both"
            raise PydanticCustomError(
                "conversation_xor_scenario",
                "expected exactly one of `conversation` and `conversation_scenario`, found {found}",
                {"found": found},
            )
        return self

    @model_validator(mode="after")
    def _turns_are_left_to_score(self) -> Self:
        turns = len(self.conversation or ())
        if self.context_turns and self.context_turns >= turns:
            raise PydanticCustomError(
                "context_turns",
                "`context_turns` is {given} and the conversation has {turns} turns: none would be scored",
                {"given": self.context_turns, "turns": turns},
            )
        return self

    @property
    def scored(self) -> EvalCase:
        """The case without the turns that are context only."""
        if not self.context_turns or self.conversation is None:
            return self
        return self.model_copy(
            update={"conversation": self.conversation[self.context_turns :], "context_turns": 0}
        )


CASES = AliasChoices("eval_cases", "evalCases")
"""Both spellings of the key of an eval set's cases."""


class EvalSet(Value):
    """A named list of cases. Unknown keys of the set itself (such as `$schema`) are ignored."""

    model_config = ConfigDict(extra="ignore", alias_generator=None)

    eval_set_id: str = Field(validation_alias=AliasChoices("eval_set_id", "evalSetId"))
    name: str | None = None
    description: str | None = None
    eval_cases: list[EvalCase] = Field(validation_alias=CASES)
    creation_timestamp: float = 0.0
