"""Turns as evidence for a judge: what was said, done and shown, without thoughts and without ids.

Ids differ from run to run; without them the same conduct makes the same request.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent_eval.judge.prompts import Exhibit, media_type
from agent_eval.schema.trace import (
    Content,
    FunctionCall,
    FunctionResponse,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    Part,
)

USER = "The user"
AGENT = "The agent"
RESPONSE = f"{AGENT}'s final response"


def message(heading: str, content: Content | None) -> Exhibit:
    """A message with what is attached to it."""
    return Exhibit(heading, content.text if content else "", media_of(content))


def media_of(content: Content | None) -> tuple[Part, ...]:
    """The images, recordings and files of a content."""
    return tuple(part for part in _parts(content) if part.inline_data or part.file_data)


def response(turn: Invocation, heading: str = RESPONSE, *, with_intermediate: bool = False) -> Exhibit:
    """What the agent answers; if wanted, what it said on the way comes before it."""
    contents = [*(said_on_the_way(turn) if with_intermediate else []), turn.final_response]
    return Exhibit(
        heading,
        "\n".join(content.text for content in contents if content and content.text),
        tuple(part for content in contents for part in media_of(content)),
    )


def said_on_the_way(turn: Invocation) -> list[Content]:
    """The texts and media before the final response, in order."""
    data = turn.intermediate_data
    if isinstance(data, IntermediateData):
        contents = [Content(parts=parts) for _, parts in data.intermediate_responses]
    else:
        contents = [event.content for event in _events(turn) if event.content]
    return [
        content
        for content in contents
        if (content.text or media_of(content)) and content != turn.final_response
    ]


def history(turns: Sequence[Invocation]) -> list[Exhibit]:
    """Earlier turns in short: messages, with the names of what was attached."""
    return [
        Exhibit(f"Earlier, turn {number}: {who.lower()} says", _in_short(content))
        for number, turn in enumerate(turns, 1)
        for who, content in ((USER, turn.user_content), (AGENT, turn.final_response))
    ]


def _in_short(content: Content | None) -> str:
    attached = [f"[attached: {media_type(part)}]" for part in media_of(content)]
    return "\n".join(filter(None, [content.text if content else "", *attached]))


def conversation(turns: Sequence[Invocation]) -> list[Exhibit]:
    """All turns whole: messages, media, steps."""
    exhibits = []
    for number, turn in enumerate(turns, 1):
        exhibits.append(message(f"Turn {number}: {USER.lower()} says", turn.user_content))
        exhibits += steps(turn, prefix=f"Turn {number}: ")
        exhibits.append(response(turn, f"Turn {number}: {AGENT.lower()}'s final response"))
    return exhibits


def steps(turn: Invocation, prefix: str = "") -> list[Exhibit]:
    """What the agent did on the way, each step by itself: texts, tool calls and results, code, sources."""
    data = turn.intermediate_data
    if isinstance(data, IntermediateData):
        found = list(_listed_steps(data))
    else:
        found = [step for event in _events(turn) for step in event_steps(event, turn)]
    return [
        Exhibit(f"{prefix}Step {number}, {heading}", text) for number, (heading, text) in enumerate(found, 1)
    ]


CALL = "the agent calls a tool"
RESULT = "the tool returns"

Step = tuple[str, str]
"""What it is, and the step itself."""


def _listed_steps(data: IntermediateData) -> Iterator[Step]:
    """The steps of the flat lists, each result behind its call."""
    results = list(data.tool_responses)
    for call in data.tool_uses:
        yield CALL, as_text(call_fields(call))
        result = next((one for one in results if _answers(one, call)), None)
        if result is not None:
            results.remove(result)
            yield RESULT, as_text(result_fields(result))
    for result in results:
        yield RESULT, as_text(result_fields(result))
    for _, parts in data.intermediate_responses:
        if text := Content(parts=parts).text:
            yield "the agent says", text


def _answers(result: FunctionResponse, call: FunctionCall) -> bool:
    if result.id is not None or call.id is not None:
        return result.id == call.id
    return result.name == call.name


def event_steps(event: InvocationEvent, turn: Invocation) -> Iterator[Step]:
    """The steps of one event."""
    repeated = event.content == turn.final_response
    for part in _parts(event.content):
        if part.function_call:
            yield CALL, as_text(call_fields(part.function_call))
        elif part.function_response:
            yield RESULT, as_text(result_fields(part.function_response))
        elif part.executable_code:
            yield "the agent runs code", part.executable_code.code or ""
        elif part.code_execution_result:
            yield "the code prints", part.code_execution_result.output or ""
        elif part.text and not repeated:
            yield "the agent says", part.text
    if event.grounding_metadata:
        found = event.grounding_metadata.model_dump(mode="json", by_alias=False, exclude_none=True)
        yield "sources that the model was given", as_text(found)


def call_fields(call: FunctionCall) -> dict[str, Any]:
    """A tool call without its id."""
    return {"name": call.name, "args": call.args or {}}


def result_fields(result: FunctionResponse) -> dict[str, Any]:
    """A tool's result without its id."""
    return {"name": result.name, "response": result.response}


def background(turns: Iterable[Invocation]) -> list[Exhibit]:
    """The agents' instructions and tool declarations, as far as they were recorded, each once."""
    instructions: dict[str, None] = {}
    tools: dict[str, None] = {}
    for turn in turns:
        for name, agent in (turn.app_details.agent_details if turn.app_details else {}).items():
            if agent.instructions:
                instructions[f"{name}:\n{agent.instructions}"] = None
            for declaration in agent.tool_declarations:
                tools[as_text({"agent": name, "tool": declaration})] = None
    return [
        *([Exhibit(f"{AGENT}'s instructions", "\n\n".join(instructions))] if instructions else []),
        *([Exhibit(f"The tools {AGENT.lower()} has", "\n".join(tools))] if tools else []),
    ]


def as_text(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def is_empty(exhibit: Exhibit) -> bool:
    """Whether there is nothing in it to judge."""
    return not exhibit.text.strip() and not exhibit.media


def _events(turn: Invocation) -> list[InvocationEvent]:
    data = turn.intermediate_data
    return data.invocation_events if isinstance(data, InvocationEvents) else []


def _parts(content: Content | None) -> list[Part]:
    return [part for part in (content.parts or []) if not part.thought] if content else []
