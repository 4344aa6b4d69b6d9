"""A conversation as the simulated user sees it."""

from __future__ import annotations

from typing import Any

from agent_eval.schema.trace import Invocation
from agent_eval.simulation.transcript import agent_parts, as_text


def turn(user: str, *events: dict[str, Any], final: Any = None) -> Invocation:
    return Invocation.model_validate(
        {
            "user_content": {"parts": [{"text": user}]},
            "intermediate_data": {"invocation_events": list(events)},
            "final_response": final,
        }
    )


def says(author: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"author": author, "content": {"parts": list(parts)}}


CALL = {"function_call": {"name": "free", "args": {"floor": 2}}}
ANSWER = {"function_response": {"name": "free", "response": {"desks": ["D7"]}}}
THOUGHT = {"text": "hm", "thought": True}
FINAL = {"parts": [{"text": "D7 is free."}]}
TURNS = [
    turn(
        "a desk?",
        says("scout", {"text": "Let me look."}, CALL),
        says("scout", ANSWER),
        {"author": "clerk"},
        final=FINAL,
    ),
    turn("thanks", says("clerk", THOUGHT)),
]


def test_text_has_who_said_what_in_order() -> None:
    assert as_text(TURNS, with_calls=False) == (
        "user: a desk?\n\nscout: Let me look.\n\nclerk: D7 is free.\n\nuser: thanks"
    )


def test_calls_and_responses_are_put_into_words_on_request() -> None:
    assert as_text(TURNS, with_calls=True) == (
        "user: a desk?\n\nscout: Let me look.\n\n"
        'scout: [calls free with {"floor":2}]\n\nscout: [free returned {"desks":["D7"]}]\n\n'
        "clerk: D7 is free.\n\nuser: thanks"
    )


def test_media_are_shown_as_they_are() -> None:
    image = {"inline_data": {"mime_type": "image/png", "data": "aGk="}}
    (text, shown) = agent_parts(turn("look", final={"parts": [{"text": "Here."}, image]}), with_calls=False)

    assert text.text == "Here."
    assert shown.inline_data
    assert shown.inline_data.data == b"hi"


def test_final_response_that_calls_a_tool_is_told_once() -> None:
    final = {"parts": [{"text": "Wait for the approval."}, CALL]}
    told = agent_parts(turn("go", says("clerk", *final["parts"]), final=final), with_calls=False)

    assert [part.text for part in told] == ["Wait for the approval."]
