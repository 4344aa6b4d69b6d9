"""Agent events -> invocations, by ADK's rules and with true counts.

Events that share an invocation id are one turn. Its final response is the last event that ends
the agent's answer and says more than thoughts; the text of that event is kept there alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent_eval.schema.trace import (
    INTERRUPTED,
    USER_AUTHOR,
    AppDetails,
    Content,
    Event,
    Incident,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    Part,
)

DEFAULT_AUTHOR = "agent"

FINISHED = (None, "STOP", "FINISH_REASON_UNSPECIFIED", "OTHER")
"""Why a model stops that has said all it had to say, or does not tell; what ADK does not know is OTHER."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one turn; None for what was not measured."""

    total: float | None = None
    model: float | None = None
    tool: float | None = None


def to_invocations(
    events: Iterable[Event],
    *,
    live: bool = False,
    app_details: Mapping[str, AppDetails] | None = None,
    timings: Mapping[str, Timing] | None = None,
    incidents: bool = False,
) -> list[Invocation]:
    """The turns in the order in which they began.

    Args:
        events: a session's events.
        live: the session was a live one, where speech reaches us as transcriptions.
        app_details: the agents behind a turn, by invocation id.
        timings: measured durations, by invocation id.
        incidents: tell also what went wrong on the way, for which ADK has no place.
    """
    turns: dict[str, list[Event]] = {}
    for event in events:
        turns.setdefault(event.invocation_id, []).append(_transcribed(event) if live else event)
    return [
        _invocation(
            invocation_id,
            turn,
            (app_details or {}).get(invocation_id),
            (timings or {}).get(invocation_id, Timing()),
            with_incidents=incidents,
        )
        for invocation_id, turn in turns.items()
    ]


def _invocation(
    invocation_id: str,
    events: list[Event],
    app_details: AppDetails | None,
    timing: Timing,
    *,
    with_incidents: bool,
) -> Invocation:
    question = Content(parts=[])
    asked_at = 0.0
    steps: list[Event] = []
    final: Event | None = None
    incidents: list[Incident] = []
    for index, event in enumerate(events):
        if _by_user(event):
            if event.content is not None and not only_tool_responses(event):
                question, asked_at = event.content, event.timestamp
        elif not (event.partial and _whole_follows(event, events[index + 1 :])):
            if _ends_answer(event) and (final is None or not _has_text(final) or _has_text(event)):
                final = event
            incidents += _incidents(event, len(steps))
            if _is_kept(event):
                steps.append(event)
    return Invocation(
        invocation_id=invocation_id,
        user_content=question,
        final_response=final.content if final else None,
        intermediate_data=InvocationEvents(
            invocation_events=[_step(event, is_final=event is final) for event in steps]
        ),
        creation_timestamp=asked_at,
        duration=timing.total,
        model_duration=timing.model,
        tool_duration=timing.tool,
        app_details=app_details,
        incidents=incidents if incidents and with_incidents else None,
    )


def _incidents(event: Event, step: int) -> Iterator[Incident]:
    """What went wrong, as an event tells it: why a model stopped is its error code as well, or instead."""
    author = event.author or DEFAULT_AUTHOR
    cut = event.finish_reason if event.finish_reason not in FINISHED else None
    if event.error_code or event.error_message or cut:
        code = event.error_code or cut or "ERROR"
        yield Incident(author=author, code=code, message=event.error_message, step=step)
    if event.interrupted:
        yield Incident(author=author, code=INTERRUPTED, step=step)


def _step(event: Event, *, is_final: bool) -> InvocationEvent:
    """The step of an event. The final response is not repeated, unless it calls tools."""
    repeated = not is_final or any(part.function_call for part in event.parts)
    return InvocationEvent(
        author=event.author or "",
        content=event.content if repeated else None,
        grounding_metadata=event.grounding_metadata,
        usage_metadata=event.usage_metadata,
        model_version=event.model_version,
        mocked=event.mocked,
    )


def _by_user(event: Event) -> bool:
    return (event.author or DEFAULT_AUTHOR).lower() == USER_AUTHOR


def only_tool_responses(event: Event) -> bool:
    """Whether an event says nothing but what tools returned."""
    return bool(event.parts) and all(part.function_response for part in event.parts)


def _whole_follows(event: Event, later: list[Event]) -> bool:
    """A streamed piece is not kept when its author gives the whole event later."""
    return any(other.author == event.author and not other.partial and other.parts for other in later)


def _is_kept(event: Event) -> bool:
    """Events that say, call, answer, show, ground or cost something."""
    return (
        event.grounding_metadata is not None
        or event.usage_metadata is not None
        or any(
            part.function_call or part.function_response or part.text or part.inline_data
            for part in event.parts
        )
    )


def _ends_answer(event: Event) -> bool:
    """Whether the event is an answer that the turn can end with."""
    parts = event.parts
    if not parts or all(_is_thought(part) for part in parts):
        return False
    if (event.actions and event.actions.skip_summarization) or event.long_running_tool_ids:
        return True
    calls = any(part.function_call for part in parts)
    if event.partial or calls:
        return False
    answers = any(part.function_response for part in parts)
    return bool(event.error_code) or (not answers and parts[-1].code_execution_result is None)


def _is_thought(part: Part) -> bool:
    return bool(part.thought)


def _has_text(event: Event) -> bool:
    return any(part.text and not part.thought for part in event.parts)


def _transcribed(event: Event) -> Event:
    """A finished transcription as text content."""
    if event.content is not None or event.partial:
        return event
    for transcription, role in ((event.input_transcription, "user"), (event.output_transcription, "model")):
        if transcription and transcription.text:
            return event.model_copy(
                update={"content": Content(role=role, parts=[Part(text=transcription.text)])}
            )
    return event
