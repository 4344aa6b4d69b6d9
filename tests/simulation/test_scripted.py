"""The user of a script: which turn is said, and when the conversation is over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from agent_eval.schema.config import EvalConfig, ScriptedSimulatorConfig
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import Content, Invocation, Part
from agent_eval.simulation.scripted import ScriptedPlayer


def conversation(turns: list[Any], *answers: str | None, limit: int = 20) -> tuple[list[str], str | None]:
    """What the user says to these answers, and what ended it."""
    config = ScriptedSimulatorConfig.model_validate(
        {"type": "scripted", "turns": turns, "max_allowed_invocations": limit}
    )
    player = ScriptedPlayer(ConversationScenario(starting_prompt="Hi", conversation_plan="-"), config)
    history: list[Invocation] = []
    replies = iter(answers)

    async def talk() -> None:
        while message := await player.next_message(history):
            answer = next(replies)
            said = Content(role="model", parts=[Part(text=answer)]) if answer is not None else None
            history.append(Invocation(user_content=message, final_response=said))

    asyncio.run(talk())
    return [turn.user_content.text for turn in history], player.stopped_by and player.stopped_by.value


def when(pattern: str, say: str) -> dict[str, str]:
    return {"when": pattern, "say": say}


CONVERSATIONS = {
    "texts are said in their order": (["a", "b"], ["x", "y", "z"], ["Hi", "a", "b"], "end_of_script"),
    "the turn that fits is said": (
        [when("how many", "two"), when("where", "Oslo")],
        ["Where to?", "How many?", "Done."],
        ["Hi", "Oslo", "two"],
        "end_of_script",
    ),
    "each turn is said once": (
        [when("where", "Oslo"), when("where", "Lima")],
        ["Where?", "Where?", "Where?"],
        ["Hi", "Oslo", "Lima"],
        "end_of_script",
    ),
    "no turn fits": ([when("where", "Oslo")], ["Who are you?"], ["Hi"], "no_turn_fits"),
    "a text fits everything": (
        [when("where", "Oslo"), "go on"],
        ["Who?", "Where?", "-"],
        ["Hi", "go on", "Oslo"],
        "end_of_script",
    ),
    "the signal ends it": (["thanks </Finished>", "more"], ["x"], ["Hi"], "stop_signal"),
    "patterns are expressions": (
        [when(r"order [A-Z]\d+ (is|was)", "thanks")],
        ["Order B7 was sent."] * 2,
        ["Hi", "thanks"],
        "end_of_script",
    ),
    "no answer is an empty one": ([when("^$", "hello?")], [None, "yes"], ["Hi", "hello?"], "end_of_script"),
}


@pytest.mark.parametrize(
    ("turns", "answers", "said", "end"), CONVERSATIONS.values(), ids=CONVERSATIONS.keys()
)
def test_conversation(turns: list[Any], answers: list[str | None], said: list[str], end: str) -> None:
    assert conversation(turns, *answers) == (said, end)


def test_limit_holds_for_scripts_too() -> None:
    assert conversation(["a"] * 5, *["x"] * 5, limit=3) == (["Hi", "a", "a"], "turn_limit")
    assert conversation(["a"] * 30, *["x"] * 40, limit=-1)[1] == "end_of_script"


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        pytest.param([], "at least 1 item", id="none"),
        pytest.param(None, "valid list", id="null"),
        pytest.param([{"when": "("}], "say", id="nothing to say"),
        pytest.param([{"when": "(", "say": "x"}], "`(` is no regular expression", id="no expression"),
        pytest.param([{"say": "x", "then": "y"}], "then", id="unknown key"),
    ],
)
def test_script_that_cannot_be_played_is_refused(turns: Any, told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        EvalConfig.model_validate({"user_simulator_config": {"type": "scripted", "turns": turns}})
    assert told in str(refused.value)
