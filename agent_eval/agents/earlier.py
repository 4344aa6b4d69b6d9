"""What a session had seen before the run: the events of a case's `session_input`."""

from __future__ import annotations

from collections.abc import Sequence

from agent_eval.agents.events import only_tool_responses, to_invocations
from agent_eval.schema.trace import USER_AUTHOR, Event, FunctionResponse, Invocation, Part


def earlier_events(given: Sequence[Event]) -> list[Event]:
    """The events as an agent's own would be: each with its author, its turn, and ids of its calls.

    Args:
        given: as written. A message of the user begins a turn, unless invocation ids say otherwise. A
            response without an id answers the first open call of its name. Pieces of streams, events
            without content, and what events did to the state are left out.

    Returns:
        The events; the author is None where the agent under test is meant.
    """
    turn = 0
    calls = _Calls()
    events = []
    for event in given:
        if not event.content or not event.parts or event.partial:
            continue
        by_user = _is_by_user(event)
        turn += by_user and not only_tool_responses(event)
        parts = [calls.identified(part) for part in event.parts]
        role = event.content.role or ("user" if by_user or only_tool_responses(event) else "model")
        events.append(
            Event(
                author=USER_AUTHOR if by_user else event.author or None,
                content=event.content.model_copy(update={"role": role, "parts": parts}),
                invocation_id=event.invocation_id or f"earlier-{turn}",
                timestamp=event.timestamp,
                branch=event.branch,
            )
        )
    return events


def earlier_turns(events: Sequence[Event], agent: str) -> list[Invocation]:
    """The turns that events make; `agent` is the author where none is named."""
    return to_invocations(
        [event if event.author else event.model_copy(update={"author": agent}) for event in events]
    )


def _is_by_user(event: Event) -> bool:
    """Where no author is named, the role tells: tools answer as `user` too."""
    if event.author:
        return event.author.lower() == USER_AUTHOR
    role = event.content.role if event.content else None
    return role == USER_AUTHOR and not only_tool_responses(event)


class _Calls:
    """Gives ids to calls that have none, and to the responses that answer them."""

    def __init__(self) -> None:
        self._open: dict[str | None, list[str]] = {}
        self._count = 0

    def identified(self, part: Part) -> Part:
        if call := part.function_call:
            if call.id is None:
                self._count += 1
                call = call.model_copy(update={"id": f"earlier-call-{self._count}"})
            self._open.setdefault(call.name, []).append(call.id or "")
            return part.model_copy(update={"function_call": call})
        if response := part.function_response:
            return part.model_copy(update={"function_response": self._answered(response)})
        return part

    def _answered(self, response: FunctionResponse) -> FunctionResponse:
        waiting = self._open.get(response.name, [])
        if response.id is None:
            return response.model_copy(update={"id": waiting.pop(0)}) if waiting else response
        if response.id in waiting:
            waiting.remove(response.id)
        return response
