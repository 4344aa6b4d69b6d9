"""Scenarios and sessions that begin in the middle, on ADK agents in process and behind a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.models.llm_request import LlmRequest

from agent_eval.options import Options
from agent_eval.pipeline import evaluate
from agent_eval.preparation import plan_evaluation
from agent_eval.schema.result import RunRecord, RunStatus
from tests.adk import MARKS
from tests.adk.support import Scripted, adapted, answers, call, llm_agent, play, result, steps, talk, trace
from tests.adk.test_parity import environment
from tests.adk.test_served import free_port, wait_for
from tests.cli_support import Project, case, eval_set
from tests.model_server import ModelServer

pytestmark = [*MARKS, pytest.mark.usefixtures("own_imports")]

REMEMBERS = '''\
"""An agent that repeats the conversation as its model sees it."""

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Repeating(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        said = [
            part.text or (part.function_call or part.function_response).name
            for content in llm_request.contents
            for part in content.parts
        ]
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=" | ".join(said))]))


root_agent = LlmAgent(name="clerk", model=Repeating(model="any"))
'''

EVENTS = [
    {"author": "user", "content": {"parts": [{"text": "is D7 free?"}]}},
    {"author": "clerk", "content": {"parts": [{"function_call": {"name": "free", "args": {"desk": "D7"}}}]}},
    {
        "author": "clerk",
        "content": {"parts": [{"function_response": {"name": "free", "response": {"is": True}}}]},
    },
    {"content": {"role": "model", "parts": [{"text": "It is."}]}},
]
SEEN = "is D7 free? | free | free | It is."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real API server with the agent."""
    agents = tmp_path_factory.mktemp("served")
    (agents / "desk").mkdir()
    (agents / "desk" / "__init__.py").write_text("from . import agent\n")
    (agents / "desk" / "agent.py").write_text(REMEMBERS)
    port = free_port()
    with (agents / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "google.adk.cli", "api_server", "--port", str(port), str(agents)],
            cwd=agents,
            env=environment(),
            stdout=log,
            stderr=log,
        )
        try:
            wait_for(server, f"http://127.0.0.1:{port}/list-apps")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.root)
    project.agent(REMEMBERS, "desk")
    return project


@pytest.fixture(params=["in process", "served"])
def target(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How the agent is reached."""
    if request.param == "served":
        return {"url": request.getfixturevalue("served"), "app_name": "desk"}
    return {"agent": "desk"}


def run(project: Project, config: dict[str, Any], *cases: dict[str, Any], **options: Any) -> list[RunRecord]:
    project.write("set.json", eval_set(*cases))
    project.write("eval_config.json", config)
    asyncio.run(evaluate(plan_evaluation(Options(eval_sets=("set.json",), **options))))
    return project.records()


def session(*events: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"app_name": "desk", "user_id": "u", "events": list(events), **keys}


def test_scenario_is_played(here: Project, target: dict[str, Any], model_server: ModelServer) -> None:
    model_server.answers("And a chair?", "Thanks </finished>")
    config = {"criteria": {"max_turns_v1": 5}, "user_simulator_config": {}}
    told = {
        "starting_prompt": "A desk?",
        "conversation_plan": "Get a desk and a chair.",
        "user_persona": "NOVICE",
    }

    (record,) = run(here, config, {"eval_id": "a", "conversation_scenario": told}, **target)

    assert answers(record) == ["A desk?", "A desk? | A desk? | And a chair?"]
    assert record.stopped_by == "stop_signal"
    assert record.simulator
    assert record.simulator.requests == 2
    assert model_server.requests[1].turns[1:] == [
        ("model", "A desk?"),
        ("user", "A desk?"),
        ("model", "And a chair?"),
        ("user", "A desk? | A desk? | And a chair?"),
    ]


def test_session_begins_with_its_events(here: Project, target: dict[str, Any]) -> None:
    given = session(*EVENTS, state={"floor": 2})

    (record,) = run(
        here, {"criteria": {"response_match_score": 0.0}}, case("a", "book it", session_input=given), **target
    )

    assert answers(record) == [f"{SEEN} | book it"]
    (earlier,) = record.context
    assert earlier.user_content.text == "is D7 free?"
    assert record.session
    assert record.session.state == {"floor": 2}


def test_turns_of_context_are_played(here: Project, target: dict[str, Any]) -> None:
    (record,) = run(
        here,
        {"criteria": {"response_match_score": 0.0}},
        case("a", "one", "two", context_turns=1, session_input=session(*EVENTS)),
        **target,
    )

    assert len(record.context) == 2
    assert answers(record) == [f"{SEEN} | one | {SEEN} | one | two"]


def test_events_of_a_sub_agent_stay_its_own() -> None:
    seen: list[str] = []

    def billing_model(request: LlmRequest) -> str:
        seen.extend(part.text for content in request.contents for part in content.parts or () if part.text)
        return "paid"

    billing = llm_agent(Scripted(script=billing_model), "billing", description="Invoices.")
    root = llm_agent(steps("I am the root"), sub_agents=[billing])
    events = [
        {"author": "user", "content": {"parts": [{"text": "what do I owe?"}]}},
        {"author": "billing", "content": {"parts": [{"text": "You owe 5 euros."}]}},
    ]
    record = talk(root, "I paid", session={"app_name": "bot", "user_id": "u", "events": events})

    assert answers(record) == ["paid"]  # the agent that spoke last goes on
    assert seen[:2] == ["what do I owe?", "You owe 5 euros."]


def test_calls_in_earlier_events_are_history_and_no_calls_of_the_run() -> None:
    agent = adapted(llm_agent(steps(call("look_up", order_id="A1"), result), tools=[look_up]))
    events = [
        {"author": "user", "content": {"parts": [{"text": "where is B2?"}]}},
        {
            "author": "bot",
            "content": {"parts": [{"function_call": {"name": "look_up", "args": {"order_id": "B2"}}}]},
        },
        {
            "author": "bot",
            "content": {
                "parts": [{"function_response": {"name": "look_up", "response": {"result": "lost"}}}]
            },
        },
        {"author": "bot", "content": {"parts": [{"text": "It is lost."}]}},
    ]
    given = {"app_name": "bot", "user_id": "u", "events": events}

    (record,) = play(agent, case("a", "and A1?", session_input=given))

    assert trace(record) == [
        "bot: look_up({'order_id': 'A1'})",
        "bot: look_up -> {'result': 'A1 has shipped'}",
    ]
    assert [call.name for call in record.context[0].intermediate_data.tool_uses] == ["look_up"]  # type: ignore[union-attr]


def look_up(order_id: str) -> dict[str, str]:
    """Looks an order up."""
    return {"result": f"{order_id} has shipped"}


def test_mocked_user_who_fails_is_told_apart_from_the_agent(
    here: Project, target: dict[str, Any], model_server: ModelServer
) -> None:
    from tests.model_server import failing

    model_server.always = failing(404, "gone")
    config = {"criteria": {"max_turns_v1": 5}, "user_simulator_config": {}}
    told = {"starting_prompt": "A desk?", "conversation_plan": "Get a desk."}

    (record,) = run(here, config, {"eval_id": "a", "conversation_scenario": told}, **target)

    assert record.status is RunStatus.CRASHED
    assert record.error
    assert record.error.type == "SimulatedUserError"
    assert answers_so_far(record) == ["A desk?"]


def answers_so_far(record: RunRecord) -> list[str]:
    return [turn.final_response.text for turn in record.invocations if turn.final_response]


TEAM = '''\
"""An agent with a tool of its own, a toolset, an AgentTool and a sub-agent."""

from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool


def find_desk(floor: int) -> str:
    """Finds a free desk."""


def order_chair(kind: str) -> str:
    """Orders a chair."""


class Chairs(BaseToolset):
    async def get_tools(self, readonly_context=None):
        return [FunctionTool(order_chair)]

    async def close(self):
        pass


lawyer = LlmAgent(name="lawyer", model="gemini-2.5-flash", instruction=lambda context: "secret")
billing = LlmAgent(name="billing", model="gemini-2.5-flash", instruction="Write invoices.")
root_agent = LlmAgent(
    name="clerk",
    model="gemini-2.5-flash",
    instruction="Rent desks on floor {floor}.",
    tools=[find_desk, Chairs(), AgentTool(lawyer)],
    sub_agents=[billing],
)
'''


def test_scenarios_are_written_from_the_whole_tree_of_agents(
    here: Project, model_server: ModelServer
) -> None:
    here.agent(TEAM, "team")
    told = {"starting_prompt": "A desk?", "conversation_plan": "Get a desk.", "user_persona": "NONE"}
    model_server.always = {"scenarios": [told]}

    done = here.agent_eval("scenario", "generate", "team", "set.evalset.json", "--count", "1")

    assert done.code == 0, done.stderr
    (asked,) = model_server.requests
    described = json.loads(asked.prompt.partition("The agent:\n")[2].rpartition("\n\n")[0])
    assert {name: agent["instructions"] for name, agent in described.items()} == {
        "clerk": "Rent desks on floor {floor}.",
        "billing": "Write invoices.",
        "lawyer": "(made when the agent runs)",
    }
    assert [tool["name"] for tool in described["clerk"]["tools"]] == ["find_desk", "order_chair", "lawyer"]
    assert described["clerk"]["tools"][0]["description"] == "Finds a free desk."
