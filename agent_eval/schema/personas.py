"""The pre-built personas of simulated users: ADK's ids and meanings, in our words.

`{{ stop_signal }}` stands for whatever ends the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_eval.schema.evalset import ConversationScenario, UserBehavior, UserPersona

_KEEPS_TO_PLAN = [
    "Asks again for what the agent has already done, or gives details for it.",
    "Pursues more than one goal of the plan in one message.",
]

_ASKS_WITH_DETAILS = UserBehavior(
    name="Asks for one thing at a time, with all it takes",
    description="Follows the plan strictly, and gives the details of a request along with it.",
    behavior_instructions=[
        "When the agent has done what you asked for, ask for the next thing in the plan.",
        "Pass over what the agent has done already.",
        "With each request give every detail that the plan has for it.",
    ],
    violation_rubrics=[
        *_KEEPS_TO_PLAN,
        "Agrees to something, or asks for something, that is not in the plan.",
        "Makes up a goal or a detail that the plan does not have.",
        "States a goal only, so that the agent has to ask for details that the plan has.",
    ],
)

_ASKS_IN_OUTLINE = UserBehavior(
    name="Asks in outline and lets the agent lead",
    description="Follows the plan as far as the agent's questions allow, and begins with the goal alone.",
    behavior_instructions=[
        "When the agent has done what you asked for, ask for the next thing in the plan.",
        "Pass over what the agent has done already.",
        "With each request state the goal only. Keep the details until the agent asks for them.",
    ],
    violation_rubrics=[
        *_KEEPS_TO_PLAN,
        "Makes up a goal or a detail that is neither in the plan nor in the agent's messages.",
        "Gives details of a goal before the agent has asked for them.",
    ],
)

_ANSWERS_WHAT_MATTERS = UserBehavior(
    name="Answers what matters only",
    description="Answers questions that serve the plan, and steers the agent back from all others.",
    behavior_instructions=[
        "Answer from the plan, and with nothing that was not asked for.",
        "If the plan does not have what the agent asks for, say that you do not have it.",
        "Do not answer what has nothing to do with the plan; ask the agent to stay with the matter.",
    ],
    violation_rubrics=["Answers a question of the agent that has nothing to do with the plan."],
)

_ANSWERS_EVERYTHING = UserBehavior(
    name="Answers everything",
    description="Answers every question that the agent asks, small talk included.",
    behavior_instructions=[
        "Answer each question, from the plan where it is about that.",
        "If the plan does not have what the agent asks for, say that you do not know.",
    ],
    violation_rubrics=[
        "Leaves a question of the agent unanswered.",
        "Makes up an answer that the plan does not have, instead of saying so.",
    ],
)

_CORRECTS = UserBehavior(
    name="Corrects the agent",
    description="Notices the agent's mistakes and has them put right.",
    behavior_instructions=[
        "Object to what is wrong or makes no sense.",
        "If the agent did the wrong thing, ask it to put that right.",
    ],
    violation_rubrics=[
        "Goes on after wrong information from the agent as if it were right.",
        "Goes on after a rash step of the agent, such as acting on something it should have asked about.",
    ],
)

_DOES_NOT_CORRECT = UserBehavior(
    name="Does not correct the agent",
    description="Ends the conversation when the agent says something wrong or senseless.",
    behavior_instructions=["If the agent is wrong or makes no sense, say `{{ stop_signal }}`."],
    violation_rubrics=["Corrects a mistake or a wrong assumption of the agent."],
)

_HELPS_ONCE = UserBehavior(
    name="Helps the agent out once",
    description="The first time the agent fails at a request, helps it along; never a second time. "
    "Answering the agent's questions is no help in this sense.",
    behavior_instructions=[
        "When the agent fails for the first time, say what to do differently.",
        "When you have done so once in the conversation, do not do it again.",
    ],
    violation_rubrics=[
        "Ends the conversation at the agent's first failure.",
        "Goes on after the agent's second failure without `{{ stop_signal }}`.",
    ],
)

_ENDS = (
    "Says `{{ stop_signal }}` when the agent has confirmed everything in the plan, has handed over to a "
    "person, "
)
_ENDS_TOO_EARLY_OR_LATE = [
    "It is time to end, and the message does not say `{{ stop_signal }}`.",
    "The message says `{{ stop_signal }}`, and it is not time to end.",
]

_ENDS_AT_SECOND_FAILURE = UserBehavior(
    name="Ends at the right time",
    description=f"{_ENDS}or has failed twice. A question of the agent is no failure.",
    behavior_instructions=[
        "Go on until it is time to end, and wait for the agent to confirm what it did.",
        "Count the agent's failures; the second one ends the conversation.",
        "End by saying `{{ stop_signal }}`.",
    ],
    violation_rubrics=_ENDS_TOO_EARLY_OR_LATE,
)

_ENDS_AT_FIRST_FAILURE = UserBehavior(
    name="Ends at the right time",
    description=f"{_ENDS}or has failed. A question of the agent is no failure.",
    behavior_instructions=[
        "Go on until it is time to end, and wait for the agent to confirm what it did.",
        "If the agent's last message shows a failure, end the conversation.",
        "End by saying `{{ stop_signal }}`.",
    ],
    violation_rubrics=[
        *_ENDS_TOO_EARLY_OR_LATE,
        "Goes on after the agent's first failure without `{{ stop_signal }}`.",
    ],
)

_PROFESSIONAL = UserBehavior(
    name="Sounds professional",
    description="Writes clearly and to the point. `{{ stop_signal }}` is in order.",
    behavior_instructions=[
        "Use clear, technical language.",
        "No slang, no emojis, few abbreviations, no small talk.",
    ],
    violation_rubrics=[
        "Uses slang, many abbreviations or emojis.",
        "Makes small talk or personal remarks.",
        "Is far longer than it needs to be.",
        "Sounds like somebody else than in earlier turns.",
    ],
)

_CASUAL = UserBehavior(
    name="Sounds casual",
    description="Writes as people talk. `{{ stop_signal }}` is in order.",
    behavior_instructions=[
        "Write like somebody in an everyday conversation.",
        "Be neither formal nor over-polite.",
        "Do not just give commands.",
    ],
    violation_rubrics=[
        "Is nothing but a command, without anything a person would say around it.",
        "Is stiff or over-polite.",
        "Is far longer than it needs to be.",
        "Sounds like somebody else than in earlier turns.",
    ],
)

PERSONAS: Mapping[str, UserPersona] = {
    persona.id: persona
    for persona in (
        UserPersona(
            id="EXPERT",
            description="Knows exactly what they want, takes the agent for a tool to get it done quickly, "
            "and has little patience for chat and needless questions.",
            behaviors=[
                _ASKS_WITH_DETAILS,
                _ANSWERS_WHAT_MATTERS,
                _CORRECTS,
                _HELPS_ONCE,
                _ENDS_AT_SECOND_FAILURE,
                _PROFESSIONAL,
            ],
        ),
        UserPersona(
            id="NOVICE",
            description="Has a problem they do not quite understand and relies on the agent's guidance: "
            "patient with its questions, but unable to see or mend its mistakes.",
            behaviors=[
                _ASKS_IN_OUTLINE,
                _DOES_NOT_CORRECT,
                _ANSWERS_EVERYTHING,
                _ENDS_AT_FIRST_FAILURE,
                _CASUAL,
            ],
        ),
        UserPersona(
            id="EVALUATOR",
            description="Wants to find out whether the agent can do what is in the plan.",
            behaviors=[
                _ASKS_WITH_DETAILS,
                _ANSWERS_WHAT_MATTERS,
                _ENDS_AT_FIRST_FAILURE,
                _DOES_NOT_CORRECT,
                _CASUAL,
            ],
        ),
    )
}
"""By id."""


def persona_of(scenario: ConversationScenario) -> UserPersona | None:
    """The persona of a scenario, a pre-built one by its id."""
    persona = scenario.user_persona
    return PERSONAS[persona] if isinstance(persona, str) else persona
