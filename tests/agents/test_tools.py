"""`tool_mocks` for plain-Python agents: what does not really run, and how the record tells."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_eval import Content, Part, Session
from agent_eval.agents.base import SessionRequest, ToolRules, Turn
from agent_eval.agents.factory import given
from agent_eval.agents.python import PythonAgent
from agent_eval.agents.tools import MockedToolError
from agent_eval.schema.tools import ToolMocks
from agent_eval.schema.trace import InvocationEvents, get_all_tool_calls_with_responses

charged: list[int] = []
turns: list[Turn] = []


@pytest.fixture(autouse=True)
def _nothing_charged_yet() -> None:
    charged.clear()


def charge(amount: int) -> str:
    charged.append(amount)
    return "really charged"


async def charge_later(amount: int) -> str:
    return charge(amount)


async def paying(message: Content, session: Session) -> str:
    """Charges what it is told, one amount after the other, and tells the results."""
    results = [await session.call_tool(charge, amount=int(word)) for word in message.text.split()]
    return str(results)


async def paying_later(message: Content, session: Session) -> str:
    return str([await session.call_tool(charge_later, amount=int(word)) for word in message.text.split()])


def paying_sync(message: Content, session: Session) -> str:
    return str([session.call_tool_sync(charge, amount=int(word)) for word in message.text.split()])


async def sub_agent_paying(message: Content, session: Session) -> str:
    return await paying(message, session.sub_agent("billing"))


PAYING = [paying, paying_later, paying_sync, sub_agent_paying]


def mocks(*given: dict[str, Any], tool: str = "charge", **keys: Any) -> ToolRules:
    return ToolRules(ToolMocks.model_validate({"mocks": [{"tool": tool, **mock} for mock in given], **keys}))


def one_turn(rules: ToolRules, amounts: str = "5", target: Any = paying) -> Turn:
    """One turn. If it raises, it is the last of `turns`."""

    async def main() -> Turn:
        session = await PythonAgent("shop", given(target)).open(
            SessionRequest("shop", "u1", "s1", {}, tools=rules)
        )
        turn = Turn(Content(role="user", parts=[Part(text=amounts)]))
        try:
            await session.send(turn)
        finally:
            turns.append(turn)
        return turn

    return asyncio.run(main())


def said(turn: Turn) -> str | None:
    response = turn.invocation().final_response
    return response.text if response else None


def calls(turn: Turn) -> list[tuple[str | None, Any, bool]]:
    """Name, response, and whether a mock gave it, of each call in the record."""
    data = turn.invocation().intermediate_data
    assert isinstance(data, InvocationEvents)
    mocked = {call_id for event in data.invocation_events for call_id in event.mocked or ()}
    return [
        (call.name, response and response.response, call.id in mocked)
        for call, response in get_all_tool_calls_with_responses(data)
    ]


@pytest.mark.parametrize("target", PAYING, ids=lambda target: target.__name__)
def test_mocked_tool_does_not_run_is_marked_and_stays_in_the_trajectory(target: Any) -> None:
    name = "charge_later" if target is paying_later else "charge"
    turn = one_turn(mocks({"response": "paid"}, tool=name), target=target)

    assert said(turn) == "['paid']"
    assert calls(turn) == [(name, {"result": "paid"}, True)]
    assert charged == []


def test_tool_without_a_mock_runs_and_is_not_marked() -> None:
    turn = one_turn(mocks({"response": "refunded"}, tool="refund"))

    assert calls(turn) == [("charge", {"result": "really charged"}, False)]


@pytest.mark.parametrize("response", ["paid", 5, None, [], {}, {"status": "paid"}, ["a"], False])
def test_agent_gets_the_response_as_the_config_has_it(response: Any) -> None:
    assert said(one_turn(mocks({"response": response}))) == str([response])


def test_responses_come_one_after_the_other_and_the_last_is_repeated() -> None:
    rules = mocks({"responses": ["first", "second"]})

    assert said(one_turn(rules, "1 2 3")) == "['first', 'second', 'second']"
    assert said(one_turn(rules, "1")) == "['first']"


def test_what_an_agent_does_to_a_response_is_not_in_the_next() -> None:
    async def hoarding(message: Content, session: Session) -> str:
        for _ in range(2):
            found = await session.call_tool(charge, amount=1)
            found["items"].append("mine")
        return str(found)

    turn = one_turn(mocks({"response": {"items": []}}), target=hoarding)

    assert said(turn) == "{'items': ['mine']}"
    assert [response for _, response, _ in calls(turn)] == [{"items": []}] * 2


def test_first_mock_whose_argument_patterns_match_answers() -> None:
    rules = mocks(
        {"args": {"amount": 1}, "response": "one"},
        {"args": {"amount": {"$oneof": [2, 3]}}, "response": "few"},
        {"response": "other"},
    )

    assert said(one_turn(rules, "1 3 9")) == "['one', 'few', 'other']"


def test_error_is_raised_in_the_agent_and_recorded() -> None:
    with pytest.raises(MockedToolError, match="card declined"):
        one_turn(mocks({"error": "card declined"}))

    assert calls(turns[-1]) == [("charge", {"error": "MockedToolError: card declined"}, True)]


def test_agent_can_handle_the_error() -> None:
    async def careful(message: Content, session: Session) -> str:
        try:
            return str(await session.call_tool(charge, amount=5))
        except Exception as error:
            return f"sorry: {error}"

    assert said(one_turn(mocks({"error": "card declined"}), target=careful)) == "sorry: card declined"


def test_call_that_no_mock_matches_raises() -> None:
    with pytest.raises(MockedToolError, match=r"no mock of `charge` matches the arguments \{'amount': 2\}"):
        one_turn(mocks({"args": {"amount": 1}, "response": "one"}), "2")

    assert charged == []


def test_call_that_no_mock_matches_runs_where_the_config_says_so() -> None:
    rules = mocks({"args": {"amount": 1}, "response": "one"}, default="pass_through")

    assert said(one_turn(rules, "1 2")) == "['one', 'really charged']"
    assert charged == [2]
