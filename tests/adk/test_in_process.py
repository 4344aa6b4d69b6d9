"""ADK agents in this process: every kind of agent, and one run's own session, state and tools."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.workflow import START, Workflow

from tests.adk import MARKS
from tests.adk.support import (
    Slow,
    adapted,
    answers,
    call,
    llm_agent,
    result,
    said,
    steps,
    talk,
    trace,
)

pytestmark = MARKS


def look_up(order_id: str) -> dict[str, str]:
    """Looks an order up."""
    return {"result": f"{order_id} has shipped"}


def desk(**keys: Any) -> LlmAgent:
    """An agent that looks order A1 up and tells what it found."""
    return llm_agent(steps(call("look_up", order_id="A1"), result), tools=[look_up], **keys)


# Kinds of agents


def test_turns_of_an_agent_with_a_tool() -> None:
    record = talk(desk(), "where is A1?", "and now?")

    assert answers(record) == ["A1 has shipped"] * 2
    steps_of_a_turn = ["bot: look_up({'order_id': 'A1'})", "bot: look_up -> {'result': 'A1 has shipped'}"]
    assert [trace(record, turn) for turn in (0, 1)] == [steps_of_a_turn] * 2


def test_transfer_to_a_sub_agent_stays_in_the_trajectory_under_its_name() -> None:
    billing = llm_agent(steps("You owe nothing."), "billing", description="Invoices.")
    record = talk(
        llm_agent(steps(call("transfer_to_agent", agent_name="billing")), sub_agents=[billing]),
        "what do I owe?",
    )

    assert answers(record) == ["You owe nothing."]
    assert trace(record)[0] == "bot: transfer_to_agent({'agent_name': 'billing'})"
    (_, _, final) = record.invocations[0].intermediate_data.invocation_events
    assert final.author == "billing"


def test_sequential_parallel_and_loop_agents() -> None:
    def notes(name: str) -> LlmAgent:
        return llm_agent(steps(f"{name} noted"), name, output_key=name)

    def critic(request: LlmRequest) -> Any:
        rounds = sum("draft" in str(content) for content in request.contents)
        return call("exit_loop") if rounds > 1 else "again"

    writer = llm_agent(steps("draft"), "writer", instruction="Use {left} and {right}.")
    root = SequentialAgent(
        name="pipeline",
        sub_agents=[
            ParallelAgent(name="both", sub_agents=[notes("left"), notes("right")]),
            LoopAgent(
                name="rounds",
                max_iterations=5,
                sub_agents=[writer, llm_agent(steps(critic), "critic", tools=[exit_loop])],
            ),
            llm_agent(steps("published"), "publisher"),
        ],
    )
    record = talk(root, "go")

    assert answers(record) == ["published"]
    authors = [event.author for event in record.invocations[0].intermediate_data.invocation_events]
    assert sorted(authors[:2]) == ["left", "right"]
    assert authors[2:] == ["writer", "critic", "writer", "critic", "critic", "publisher"]
    details = record.invocations[0].app_details
    assert details
    assert "left noted and right noted" in details.get_developer_instructions("writer")


def test_graph_of_nodes() -> None:
    first = llm_agent(steps("first"), "first")
    second = llm_agent(steps("second"), "second")
    record = talk(Workflow(name="graph", edges=[(START, first), (first, second)]), "go")

    assert answers(record) == ["second"]


def test_app_brings_its_plugins_and_ours_comes_after_them() -> None:
    class Polite(BasePlugin):
        async def after_model_callback(
            self, *, callback_context: CallbackContext, llm_response: LlmResponse
        ) -> LlmResponse | None:
            return said("Dear guest, hello.")

    app = App(name="another_name", root_agent=llm_agent(steps("hello")), plugins=[Polite(name="polite")])
    record = talk(adapted(app, name="folder"), "hi")

    assert answers(record) == ["Dear guest, hello."]
    assert record.session
    assert record.session.app_name == "folder"
    assert [plugin.name for plugin in app.plugins] == ["polite"]


def test_plugins_of_an_app_made_for_one_run_are_closed_with_it_and_shared_ones_stay_open() -> None:
    closed: list[str] = []

    class Closing(BasePlugin):
        async def close(self) -> None:
            closed.append(self.name)

    def app() -> App:
        return App(name="bot", root_agent=llm_agent(steps("hello")), plugins=[Closing(name="closing")])

    talk(adapted(app), "hi")
    assert closed == ["closing"]
    talk(adapted(app()), "hi")
    assert closed == ["closing"]


def test_callbacks_of_the_agent_run() -> None:
    def greet_first(callback_context: CallbackContext) -> None:
        callback_context.state["greeted"] = True

    record = talk(llm_agent(steps("hello"), before_agent_callback=greet_first), "hi")

    assert record.session
    assert record.session.state == {"greeted": True}


def test_answer_of_a_callback_is_no_time_of_a_model() -> None:
    def at_once(callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse:
        Event().wait(0.05)
        return said("from the cache")

    record = talk(llm_agent(steps("never asked"), before_model_callback=at_once), "hi")

    assert answers(record) == ["from the cache"]
    assert record.invocations[0].model_duration == 0.0


# AgentTool


def expert() -> LlmAgent:
    return llm_agent(
        steps(call("look_up", order_id="A1"), result), "expert", description="Knows orders.", tools=[look_up]
    )


def with_expert(**keys: Any) -> LlmAgent:
    return llm_agent(steps(call("expert", request="A1?"), result), tools=[AgentTool(expert(), **keys)])


def test_calls_inside_an_agent_tool_are_not_recorded_by_default() -> None:
    record = talk(with_expert(), "where is A1?")

    assert answers(record) == ["A1 has shipped"]
    assert [step.split("(")[0] for step in trace(record)] == [
        "bot: expert",
        "bot: expert -> {'result': 'A1 has shipped'}",
    ]
    details = record.invocations[0].app_details
    assert details
    assert list(details.agent_details) == ["bot"]


def test_calls_inside_an_agent_tool_are_recorded_under_the_inner_name_if_asked_for() -> None:
    record = talk(adapted(with_expert(), inner_calls=True), "where is A1?")

    assert answers(record) == ["A1 has shipped"]
    assert trace(record) == [
        "bot: expert({'request': 'A1?'})",
        "expert: look_up({'order_id': 'A1'})",
        "expert: look_up -> {'result': 'A1 has shipped'}",
        "expert: A1 has shipped",
        "bot: expert -> {'result': 'A1 has shipped'}",
    ]


def test_time_of_a_model_inside_an_agent_tool_is_time_of_a_model() -> None:
    slow = llm_agent(Slow(script=lambda request: "done", seconds=0.05), "expert", description="Slow.")
    agent = llm_agent(steps(call("expert", request="?"), result), tools=[AgentTool(slow)])
    turn = talk(agent, "hi").invocations[0]

    assert turn.model_duration
    assert turn.tool_duration is not None
    assert turn.model_duration >= 0.05
    assert turn.tool_duration < 0.05
