"""ADK's events and the SDK's contents <-> ours, field by field: faster than through JSON."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from google.adk.events.event import Event as AdkEvent
from google.genai import types

from agent_eval import clock, serde
from agent_eval.schema.trace import (
    Content,
    Event,
    EventActions,
    FunctionCall,
    FunctionResponse,
    Part,
)


def event_of(event: Any, mocked: Set[str] = frozenset()) -> Event:
    """An ADK event as ours.

    Args:
        event: the event.
        mocked: ids of calls that a mock answered.
    """
    answers = [response.id for response in event.get_function_responses() if response.id in mocked]
    actions = event.actions
    delta = actions.state_delta if actions else None
    metadata: dict[str, Any] = {
        name: value.model_dump(mode="json", exclude_none=True)
        for name in _METADATA
        if (value := getattr(event, name, None)) is not None
    }
    return Event(
        author=event.author,
        content=content_of(event.content) if event.content else None,
        timestamp=event.timestamp or 0.0,
        partial=event.partial,
        turn_complete=event.turn_complete,
        interrupted=event.interrupted,
        error_code=_name_of(event.error_code),
        error_message=event.error_message,
        finish_reason=_name_of(getattr(event, "finish_reason", None)),
        actions=EventActions(skip_summarization=True)
        if actions and actions.skip_summarization
        else (EventActions(state_delta=dict(delta)) if delta else None),
        long_running_tool_ids=frozenset(event.long_running_tool_ids) if event.long_running_tool_ids else None,
        branch=event.branch,
        model_version=event.model_version,
        mocked=answers or None,
        **metadata,
    )


def _name_of(value: Any) -> str | None:
    """A member of an SDK enum, or a text in its place, as text."""
    return str(getattr(value, "value", value)) if value else None


_METADATA = ("grounding_metadata", "usage_metadata", "input_transcription", "output_transcription")
_TEXT_FIELDS = frozenset({"text", "thought", "thought_signature"})


def content_of(content: types.Content) -> Content:
    """An SDK content as ours."""
    if content.parts is None:
        return Content(role=content.role)
    return Content(role=content.role, parts=[_part_of(part) for part in content.parts])


def _part_of(part: types.Part) -> Part:
    given = part.model_fields_set
    if given <= _TEXT_FIELDS:
        return Part(text=part.text, thought=part.thought, thought_signature=part.thought_signature)
    if part.function_call and given - _TEXT_FIELDS == {"function_call"}:
        call = part.function_call
        return Part(
            thought=part.thought,
            thought_signature=part.thought_signature,
            function_call=FunctionCall(id=call.id, name=call.name, args=serde.plain(call.args)),
        )
    if part.function_response and given - _TEXT_FIELDS == {"function_response"}:
        response = part.function_response
        if not response.parts:
            return Part(
                function_response=FunctionResponse(
                    id=response.id, name=response.name, response=serde.plain(response.response)
                )
            )
    return Part.model_validate_json(part.model_dump_json(exclude_none=True, fallback=serde.told))


def adk_event(event: Event, author: str) -> AdkEvent:
    """An event that a session is to begin with, as ADK's."""
    return AdkEvent(
        author=author,
        content=sdk_content(event.content) if event.content else None,
        invocation_id=event.invocation_id,
        timestamp=event.timestamp or clock.now(),
        branch=event.branch,
    )


def sdk_content(content: Content) -> types.Content:
    """Our content as the SDK's."""
    parts = content.parts
    if parts and all(part.model_fields_set == {"text"} for part in parts):
        return types.Content(role=content.role, parts=[types.Part(text=part.text) for part in parts])
    return types.Content.model_validate_json(content.model_dump_json(exclude_none=True, by_alias=False))
