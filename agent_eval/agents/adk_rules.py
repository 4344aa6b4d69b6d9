"""What ADK's events ask of whoever drives the agent, in process and served alike."""

from __future__ import annotations

from collections.abc import Mapping

from agent_eval.agents.base import Turn
from agent_eval.schema.tools import ToolConfirmation
from agent_eval.schema.trace import Content, Event, FunctionCall, FunctionResponse, Part

CONFIRMATION = "adk_request_confirmation"
"""The call by which ADK asks whether a tool may run."""


class ToolConfirmationError(Exception):
    """A tool asks for confirmation."""

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"tool `{tool}` asks for confirmation; set `tool_confirmation` in the eval config to "
            "`approve` or `deny` to answer it"
        )


class AdkModelError(Exception):
    """A turn that ended with an error, of the model or of a remote agent, instead of an answer."""

    def __init__(self, code: str | None, message: str | None) -> None:
        told = message or "no answer"
        super().__init__(f"{code}: {told}" if code else told)
        self.code = code


def questions(event: Event) -> list[FunctionCall]:
    """The calls in an event by which tools ask whether they may run."""
    calls = [part.function_call for part in event.parts if part.function_call]
    return [call for call in calls if call.name == CONFIRMATION]


def reply(asked: list[FunctionCall], rule: ToolConfirmation) -> Content:
    """The message that answers tools that ask.

    Raises:
        ToolConfirmationError: nobody is there to say.
    """
    if rule is ToolConfirmation.FAIL:
        raise ToolConfirmationError(_asking_tool(asked[0]))
    confirmed = {"confirmed": rule is ToolConfirmation.APPROVE}
    responses = [FunctionResponse(id=call.id, name=call.name, response=confirmed) for call in asked]
    return Content(role="user", parts=[Part(function_response=response) for response in responses])


def check_answered(turn: Turn) -> None:
    """Whether the turn came to an answer.

    Raises:
        AdkModelError: it ended with an error event that says nothing else.
    """
    last = turn.events[-1] if turn.events else None
    if last and not last.parts and (last.error_code or last.error_message):
        raise AdkModelError(last.error_code, last.error_message)


def _asking_tool(call: FunctionCall) -> str:
    original = (call.args or {}).get("originalFunctionCall")
    return str(original.get("name") or "unknown") if isinstance(original, Mapping) else "unknown"
