"""Runs that start in the middle: turns that are played without being scored, and events of a session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_eval.agents.earlier import earlier_events, earlier_turns
from agent_eval.errors import InputError
from agent_eval.options import Options
from agent_eval.pipeline import evaluate
from agent_eval.preparation import plan_evaluation
from agent_eval.schema.result import RunRecord, RunStatus
from agent_eval.schema.trace import Event, Invocation, get_all_tool_calls_with_responses
from tests.cli_support import RESPONSES, Project, case, eval_set

pytestmark = pytest.mark.usefixtures("own_imports")

REMEMBERS = """\
def root_agent(message, session):
    said = [turn.user_content.text for turn in session.history]
    answered = [turn.final_response.text if turn.final_response else "-" for turn in session.history]
    return f"{message.text} after {said} {answered}"
"""


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.root)
    project.write("eval_config.json", RESPONSES)
    project.agent(REMEMBERS)
    return project


def run(project: Project, *cases: dict[str, Any], **options: Any) -> RunRecord:
    project.write("set.json", eval_set(*cases))
    asyncio.run(evaluate(plan_evaluation(Options(agent="bot", eval_sets=("set.json",), **options))))
    return project.records()[-1]


def answers(turns: list[Invocation]) -> list[str]:
    return [turn.final_response.text for turn in turns if turn.final_response]


def session(*events: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"app_name": "bot", "user_id": "u", "events": list(events), **keys}


def says(author: str, text: str, **keys: Any) -> dict[str, Any]:
    return {"author": author, "content": {"parts": [{"text": text}]}, **keys}


# context_turns


def test_turns_of_context_are_played_and_not_scored(here: Project) -> None:
    turns = case("a", "one", "two", "three", answer="nothing like it", context_turns=2)
    third = "three after ['one', 'two'] [\"one after [] []\", \"two after ['one'] ['one after [] []']\"]"
    turns["conversation"][2]["final_response"]["parts"][0]["text"] = third

    record = run(here, turns)

    assert [turn.user_content.text for turn in record.context] == ["one", "two"]
    assert answers(record.context) == ["one after [] []", "two after ['one'] ['one after [] []']"]
    assert [turn.user_content.text for turn in record.invocations] == ["three"]
    assert record.expected
    assert len(record.expected) == 1
    metric = record.metric("response_match_score")
    assert metric
    assert metric.score == 1.0
    assert len(metric.per_invocation) == 1
    informational = record.metric("tool_call_count_v1")
    assert informational
    assert len(informational.per_invocation) == 1


def test_crash_in_a_turn_of_context_is_a_crash_of_the_run(here: Project) -> None:
    here.agent("def root_agent(message, session):\n    raise LookupError(message.text)\n")

    record = run(here, case("a", "one", "two", context_turns=1))

    assert record.status is RunStatus.CRASHED
    assert [turn.user_content.text for turn in record.context] == ["one"]
    assert record.invocations == []


@pytest.mark.parametrize(("given", "turns"), [(2, 2), (3, 2), (1, 1)])
def test_context_that_leaves_nothing_to_score_is_refused(here: Project, given: int, turns: int) -> None:
    with pytest.raises(InputError) as refused:
        run(here, case("a", *["hi"] * turns, context_turns=given))

    (problem,) = refused.value.problems
    assert f"`context_turns` is {given} and the conversation has {turns} turns" in problem.message


def test_scenario_has_no_turns_for_context(here: Project) -> None:
    told = {"starting_prompt": "Hi", "conversation_plan": "Ask."}
    with pytest.raises(InputError, match="`context_turns` is 1"):
        run(here, {"eval_id": "a", "conversation_scenario": told, "context_turns": 1})


@pytest.mark.parametrize("given", [-1, "two", None, 0.5])
def test_context_is_a_number_of_turns(here: Project, given: Any) -> None:
    with pytest.raises(InputError, match=r"context_?[tT]urns"):
        run(here, case("a", "one", "two", contextTurns=given))


# session_input.events


def test_events_of_the_session_are_the_agents_history(here: Project) -> None:
    events = [says("user", "hello"), says("bot", "good day"), says("user", "a desk?"), says("bot", "which?")]

    record = run(here, case("a", "the red one", session_input=session(*events, state={"floor": 2})))

    assert answers(record.invocations) == ["the red one after ['hello', 'a desk?'] ['good day', 'which?']"]
    assert [turn.user_content.text for turn in record.context] == ["hello", "a desk?"]
    assert answers(record.context) == ["good day", "which?"]
    assert record.session
    assert record.session.state == {"floor": 2}
    assert record.expected
    assert len(record.expected) == len(record.invocations) == 1


def test_events_and_turns_of_context_come_one_after_the_other(here: Project) -> None:
    record = run(here, case("a", "one", "two", context_turns=1, session_input=session(says("user", "hello"))))

    assert [turn.user_content.text for turn in record.context] == ["hello", "one"]
    assert answers(record.invocations) == ["two after ['hello', 'one'] ['-', \"one after ['hello'] ['-']\"]"]


def test_every_run_begins_with_the_events_alone(here: Project) -> None:
    given = session(says("user", "hello"), says("bot", "good day"))

    run(here, case("a", "one", session_input=given), num_runs=3, parallelism=3)

    assert {answers(record.invocations)[0] for record in here.records()} == {
        "one after ['hello'] ['good day']"
    }


def test_events_reach_the_user_of_a_scenario(here: Project) -> None:
    here.write(
        "eval_config.json",
        {"criteria": {"max_turns_v1": 5}, "user_simulator_config": {"model": "python/player:say"}},
    )
    here.write(
        "player.py",
        """\
        def say(request):
            said = [content.text for content in request.contents[1:]]
            return "</finished>" if len(said) > 4 else f"I heard {said}"
        """,
    )
    told = {"starting_prompt": "Still there?", "conversation_plan": "Get a desk."}
    given = session(says("user", "hello"), says("bot", "good day"))

    record = run(here, {"eval_id": "a", "conversation_scenario": told, "session_input": given})

    first = "Still there? after ['hello'] ['good day']"
    assert answers(record.invocations)[0] == first
    assert record.invocations[1].user_content.text == (
        f"I heard {['hello', 'good day', 'Still there?', first]}"
    )
    assert [turn.user_content.text for turn in record.context] == ["hello"]


# What events become


def turns_of(*events: dict[str, Any]) -> list[Invocation]:
    return earlier_turns(earlier_events([Event.model_validate(event) for event in events]), "bot")


def part(**part: Any) -> dict[str, Any]:
    return {"content": {"parts": [part]}}


def test_tool_events_without_ids_become_calls_with_their_responses() -> None:
    (turn,) = turns_of(
        says("user", "compare"),
        {
            "author": "bot",
            "content": {"parts": [{"function_call": {"name": "price", "args": {"of": x}}} for x in "ab"]},
        },
        {"author": "bot", **part(function_response={"name": "price", "response": {"is": 1}})},
        {"author": "bot", **part(function_response={"name": "price", "response": {"is": 2}})},
        says("bot", "a is cheaper"),
    )

    pairs = get_all_tool_calls_with_responses(turn.intermediate_data)
    assert [(call.args, answer and answer.response) for call, answer in pairs] == [
        ({"of": "a"}, {"is": 1}),
        ({"of": "b"}, {"is": 2}),
    ]
    assert turn.final_response
    assert turn.final_response.text == "a is cheaper"


def test_ids_that_are_given_are_kept() -> None:
    (turn,) = turns_of(
        says("user", "compare", invocationId="i7"),
        {"author": "bot", "invocationId": "i7", **part(functionCall={"id": "c1", "name": "price"})},
        {"author": "bot", "invocationId": "i7", **part(functionResponse={"id": "c1", "name": "price"})},
    )

    assert turn.invocation_id == "i7"
    ((call, answer),) = get_all_tool_calls_with_responses(turn.intermediate_data)
    assert call.id == "c1"
    assert answer
    assert answer.id == "c1"


def test_author_is_told_by_the_role_where_none_is_named() -> None:
    first, second = turns_of(
        {"content": {"role": "user", "parts": [{"text": "hello"}]}},
        {"content": {"role": "model", "parts": [{"text": "good day"}]}},
        {"content": {"role": "user", "parts": [{"text": "bye"}]}},
        {"content": {"role": "user", "parts": [{"function_response": {"name": "log", "response": {}}}]}},
    )

    assert first.final_response
    assert first.final_response.text == "good day"
    assert second.user_content.text == "bye"
    assert [event.author for event in second.intermediate_data.invocation_events] == ["bot"]  # type: ignore[union-attr]


def test_events_that_say_nothing_are_passed_over() -> None:
    (turn,) = turns_of(
        says("user", "hello"),
        {"author": "bot", "actions": {"state_delta": {"a": 1}}},
        says("bot", "good", partial=True),
        says("bot", "good day"),
    )

    assert answers([turn]) == ["good day"]
