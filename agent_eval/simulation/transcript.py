"""A conversation as the simulated user sees it: what was said, without thoughts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_eval import serde
from agent_eval.schema.trace import Content, Invocation, InvocationEvent, InvocationEvents, Part

USER = "user"
AGENT = "agent"
"""Who gave a final response that no event tells the author of."""


def agent_parts(turn: Invocation, *, with_calls: bool) -> list[Part]:
    """What the agent said in a turn, on the way and at the end; media as they are.

    Args:
        turn: the turn.
        with_calls: put tool calls and what came back into words too.
    """
    return [part for _, part in _agent_words(turn, with_calls=with_calls)]


def user_text(turn: Invocation) -> str:
    """What the user said in a turn."""
    return turn.user_content.text


def as_text(turns: Sequence[Invocation], *, with_calls: bool) -> str:
    """The whole conversation, a paragraph for each thing that was said, with who said it."""
    said = []
    for turn in turns:
        said += [(USER, part.text) for part in turn.user_content.parts or () if part.text]
        said += [
            (author, part.text) for author, part in _agent_words(turn, with_calls=with_calls) if part.text
        ]
    return "\n\n".join(f"{author}: {text}" for author, text in said)


def _agent_words(turn: Invocation, *, with_calls: bool) -> Iterator[tuple[str, Part]]:
    for author, content in _steps(turn):
        for part in content.parts or ():
            words = _in_words(part, with_calls=with_calls)
            if words:
                yield author, words


def _steps(turn: Invocation) -> Iterator[tuple[str, Content]]:
    """Every content of the agent's in a turn, each once and in order, with its author."""
    data = turn.intermediate_data
    steps: list[InvocationEvent] = data.invocation_events if isinstance(data, InvocationEvents) else []
    for step in steps:
        if step.content and step.content != turn.final_response:
            yield step.author, step.content
    if turn.final_response:
        yield (steps[-1].author if steps else AGENT), turn.final_response


def _in_words(part: Part, *, with_calls: bool) -> Part | None:
    """A part as it is shown: texts and media; calls and responses as texts, if they are wanted."""
    if part.thought:
        return None
    if part.text or part.inline_data or part.file_data:
        return part
    if with_calls and (call := part.function_call):
        return Part(text=f"[calls {call.name} with {_json(call.args or {})}]")
    if with_calls and (response := part.function_response):
        return Part(text=f"[{response.name} returned {_json(response.response)}]")
    return None


def _json(value: object) -> str:
    return serde.to_json(value).decode()
