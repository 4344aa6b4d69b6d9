"""`tool_mocks` and `tool_confirmation` for ADK agents: what does not really run, and who says so."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from agent_eval.schema.result import RunRecord
from agent_eval.schema.trace import InvocationEvents, get_all_tool_calls
from tests.adk import MARKS
from tests.adk.support import (
    Reply,
    adapted,
    answers,
    call,
    error,
    llm_agent,
    play,
    result,
    steps,
    talk,
    trace,
)
from tests.cli_support import case

pytestmark = MARKS

charged: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_charged_yet() -> None:
    charged.clear()


def charge(amount: int, currency: str = "EUR") -> str:
    """Charges the card."""
    charged.append(amount)
    return "really charged"


def shop(*replies: Reply, **keys: Any) -> LlmAgent:
    return llm_agent(steps(*replies, result), tools=[charge], **keys)


def paying(*amounts: int) -> LlmAgent:
    """An agent that charges these amounts, then tells the last result."""
    return shop(*(call("charge", amount=amount) for amount in amounts))


def mocks(*given: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"mocks": [{"tool": "charge", **mock} for mock in given], **keys}


def mocked(record: RunRecord) -> list[str]:
    """Names of the calls that are marked as mocked."""
    data = record.invocations[0].intermediate_data
    assert isinstance(data, InvocationEvents)
    marked = {call_id for event in data.invocation_events for call_id in event.mocked or ()}
    return [str(call.name) for call in get_all_tool_calls(data) if call.id in marked]


def test_mocked_call_does_not_run_is_marked_and_stays_in_the_trajectory() -> None:
    record = talk(paying(5), "pay", tool_mocks=mocks({"response": {"result": "paid"}}))

    assert answers(record) == ["paid"]
    assert charged == []
    assert mocked(record) == ["charge"]
    assert trace(record) == ["bot: charge({'amount': 5})", "bot: charge -> {'result': 'paid'}"]


def test_calls_of_other_tools_run_and_are_not_marked() -> None:
    record = talk(paying(5), "pay", tool_mocks={"mocks": [{"tool": "refund", "response": "refunded"}]})

    assert answers(record) == ["really charged"]
    assert mocked(record) == []


@pytest.mark.parametrize("response", ["paid", 5, None, [], {}, ["a", "b"], False])
def test_response_that_is_no_object_is_given_as_a_result(response: Any) -> None:
    record = talk(paying(5), "pay", tool_mocks=mocks({"response": response}))

    assert trace(record)[1] == f"bot: charge -> {{'result': {response!r}}}"
    assert charged == []


def test_responses_come_one_after_the_other_in_each_run_anew_and_the_last_is_repeated() -> None:
    agent = adapted(paying(1, 2, 3))
    config = {"tool_mocks": mocks({"responses": ["first", "second"]})}

    records = play(agent, case("a"), case("b"), multi_run_config={"num_runs": 2}, **config)

    for record in records:
        assert [step.split(" -> ")[1] for step in trace(record)[1::2]] == [
            "{'result': 'first'}",
            "{'result': 'second'}",
            "{'result': 'second'}",
        ]


def test_first_mock_whose_argument_patterns_match_answers() -> None:
    config = mocks(
        {"args": {"amount": 1}, "response": "one"},
        {"args": {"amount": {"$type": "integer"}}, "response": "more"},
    )
    record = talk(paying(1, 9), "pay", tool_mocks=config)

    assert [step.split(" -> ")[1] for step in trace(record)[1::2]] == [
        "{'result': 'one'}",
        "{'result': 'more'}",
    ]


def test_call_that_no_mock_matches_crashes_the_run() -> None:
    record = talk(paying(2), "pay", tool_mocks=mocks({"args": {"amount": 1}, "response": "one"}))

    assert error(record) == ("MockedToolError", "no mock of `charge` matches the arguments {'amount': 2}")
    assert charged == []
    assert trace(record) == ["bot: charge({'amount': 2})"]


def test_call_that_no_mock_matches_runs_where_the_config_says_so() -> None:
    config = mocks({"args": {"amount": 1}, "response": "one"}, default="pass_through")
    record = talk(paying(1, 2), "pay", tool_mocks=config)

    assert answers(record) == ["really charged"]
    assert charged == [2]
    assert mocked(record) == ["charge"]
    assert len(trace(record)) == 4


def test_error_is_raised_as_if_by_the_tool() -> None:
    record = talk(paying(5), "pay", tool_mocks=mocks({"error": "card declined"}))

    assert error(record) == ("MockedToolError", "card declined")
    assert charged == []


def test_agent_can_handle_the_error_of_a_mock_like_that_of_the_tool() -> None:
    def handle(
        tool: Any, args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, str]:
        return {"result": f"sorry: {error}"}

    agent = shop(call("charge", amount=5), on_tool_error_callback=handle)
    record = talk(agent, "pay", tool_mocks=mocks({"error": "card declined"}))

    assert answers(record) == ["sorry: card declined"]
    assert mocked(record) == ["charge"]


def test_plugin_can_handle_the_error_of_a_mock_like_that_of_the_tool() -> None:
    class Forgiving(BasePlugin):
        async def on_tool_error_callback(self, **given: Any) -> dict[str, str]:
            return {"result": f"sorry: {given['error']}"}

    app = App(name="bot", root_agent=paying(5), plugins=[Forgiving(name="forgiving")])
    record = talk(app, "pay", tool_mocks=mocks({"error": "card declined"}))

    assert answers(record) == ["sorry: card declined"]


def test_tools_of_sub_agents_and_inside_an_agent_tool_are_mocked() -> None:
    inner = llm_agent(steps(call("charge", amount=1), result), "inner", description="Pays.", tools=[charge])
    below = llm_agent(
        steps(call("inner", request="pay"), call("charge", amount=2), result),
        "below",
        description="Pays.",
        tools=[AgentTool(inner), charge],
    )
    root = llm_agent(steps(call("transfer_to_agent", agent_name="below")), sub_agents=[below])
    record = talk(root, "pay", tool_mocks=mocks({"responses": ["first", "second"]}))

    assert answers(record) == ["second"]
    assert charged == []
    assert "below: inner -> {'result': 'first'}" in trace(record)


def test_tool_inside_an_agent_tool_without_plugins_is_out_of_reach_which_is_told() -> None:
    inner = llm_agent(steps(call("charge", amount=1), result), "inner", description="Pays.", tools=[charge])
    alone = AgentTool(inner, include_plugins=False)
    agent = llm_agent(steps(call("inner", request="pay"), result), tools=[alone])

    kind, message = error(talk(agent, "pay", tool_mocks=mocks({"response": "paid"})))
    assert kind == "MockedToolError"
    assert "include_plugins=False" in message
    assert charged == []
    other = {"mocks": [{"tool": "inner", "response": "paid"}]}
    assert answers(talk(agent, "pay", tool_mocks=other)) == ["paid"]


def test_agent_tool_itself_is_mocked() -> None:
    inner = llm_agent(steps(ValueError("never asked")), "expert", description="Knows.")
    agent = llm_agent(steps(call("expert", request="?"), result), tools=[AgentTool(inner)])
    record = talk(agent, "hi", tool_mocks={"mocks": [{"tool": "expert", "response": "42"}]})

    assert answers(record) == ["42"]


# Confirmation


def careful(*replies: Any, **keys: Any) -> LlmAgent:
    """An agent whose tool asks before it charges."""
    return llm_agent(
        steps(*(replies or (call("charge", amount=5), asked_or_result))),
        tools=[FunctionTool(charge, require_confirmation=True)],
        **keys,
    )


def asked_or_result(request: LlmRequest) -> Reply:
    return result(request)


def test_tool_that_asks_crashes_the_run_by_default() -> None:
    record = talk(careful(), "pay")

    kind, message = error(record)
    assert kind == "ToolConfirmationError"
    assert "`charge`" in message
    assert "tool_confirmation" in message
    assert charged == []


def test_approved_tool_runs() -> None:
    record = talk(careful(), "pay", tool_confirmation="approve")

    assert answers(record) == ["really charged"]
    assert charged == [5]
    assert [str(call.name) for call in get_all_tool_calls(record.invocations[0].intermediate_data)] == [
        "charge"
    ]


def test_denied_tool_does_not_run_and_the_agent_goes_on() -> None:
    def script(request: LlmRequest) -> Reply:
        return "It was not allowed." if "rejected" in str(request.contents[-1]) else result(request)

    record = talk(careful(call("charge", amount=5), script), "pay", tool_confirmation="deny")

    assert answers(record) == ["It was not allowed."]
    assert charged == []
    assert [str(call.name) for call in get_all_tool_calls(record.invocations[0].intermediate_data)] == [
        "charge"
    ]


def test_several_tools_that_ask_are_all_answered() -> None:
    agent = careful([call("charge", amount=1), call("charge", amount=2)], "both")
    record = talk(agent, "pay", tool_confirmation="approve")

    assert answers(record) == ["both"]
    assert sorted(charged) == [1, 2]


def test_mocked_tool_does_not_ask() -> None:
    record = talk(careful(), "pay", tool_mocks=mocks({"response": "paid"}))

    assert answers(record) == ["paid"]
    assert charged == []


def test_tool_of_a_sub_agent_that_asks_in_a_later_turn() -> None:
    billing = llm_agent(
        steps(call("charge", amount=3), result),
        "billing",
        description="Pays.",
        tools=[FunctionTool(charge, require_confirmation=True)],
    )
    root = llm_agent(steps(call("transfer_to_agent", agent_name="billing")), sub_agents=[billing])
    record = talk(root, "pay", "pay again", tool_confirmation="approve")

    assert answers(record) == ["really charged"] * 2
    assert charged == [3, 3]
