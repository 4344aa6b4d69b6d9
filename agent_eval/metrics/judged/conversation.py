"""The multi-turn metrics: the whole conversation, judged once by properties that are always the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agent_eval.judge.prompts import Exhibit
from agent_eval.metrics.base import RunContext
from agent_eval.metrics.judged.rubrics import ConversationEvaluator
from agent_eval.schema.config import BackendCriterion

SEEN = """\
You see its instructions and tools as far as they are known, and every turn: what the user said, the \
steps the agent took with their results, and its final response."""


class ConversationQuality(ConversationEvaluator):
    """Share of fixed properties that hold of the whole conversation."""

    criterion_type = BackendCriterion
    fixed: ClassVar[Mapping[str, str]]

    def conversation_properties(self, run: RunContext) -> dict[str, str]:
        """The fixed ones."""
        return dict(self.fixed)


class TaskSuccess(ConversationQuality):
    """`multi_turn_task_success_v1`: 1 if the conversation reached what the user wanted, else 0."""

    instructions = f"""\
You judge whether an AI agent reached what its user wanted by the end of a conversation. {SEEN} How it \
got there is not asked."""
    fixed = {
        "goals_reached": "By the end, everything that the user wanted is done or answered rightly, as the "
        "tool results show and not merely as the agent says. What the agent could not or must not do by its "
        "instructions counts as reached if it said so and did what it could instead."
    }

    def wishes(self, run: RunContext) -> list[Exhibit]:
        """The plan of a simulated user says what it wanted."""
        scenario = run.case.conversation_scenario
        return [Exhibit("What the user set out to do", scenario.conversation_plan)] if scenario else []


class TrajectoryQuality(ConversationQuality):
    """`multi_turn_trajectory_quality_v1`: was the way there a good one? Five properties, their mean."""

    instructions = f"""\
You judge the way an AI agent took through a conversation. {SEEN} Whether the user's goal was reached in \
the end is not asked; how the agent went about it is."""
    fixed = {
        "follows_instructions": "The agent kept to its instructions in every turn.",
        "grounded_steps": "Each step follows from the user's words, the instructions or earlier results; "
        "none rests on a guess where the agent could have known or asked.",
        "sensible_order": "Steps came in an order that makes sense: what is needed was found out before it "
        "was used, and what cannot be undone came after what had to be confirmed.",
        "no_detours": "Nothing was done, looked up or asked again without need.",
        "recovers": "Errors, empty results and misunderstandings were noticed and dealt with, neither passed "
        "over nor met with the same attempt again and again.",
    }


class ToolUse(ConversationQuality):
    """`multi_turn_tool_use_quality_v1`: were tools used well? Five properties, their mean."""

    instructions = f"""\
You judge how an AI agent used its tools over a conversation. {SEEN} If there is no call among the \
steps, none was made."""
    fixed = {
        "right_tools": "Wherever a tool was needed, the fitting one was called, and no call is missing.",
        "right_arguments": "The arguments of each call are right: complete, of the kind the tool takes, and "
        "taken from the user's words or earlier results rather than made up.",
        "no_needless_calls": "No call was superfluous, or repeated without a reason.",
        "results_understood": "What the agent said and did after a call agrees with what the call returned.",
        "errors_handled": "Calls that failed were noticed and dealt with: corrected, replaced or reported.",
    }
