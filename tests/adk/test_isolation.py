"""Every run has its own agent, session, state, artifacts and tool connections, also at the same time."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from google.genai import types

from tests.adk import MARKS
from tests.adk.support import adapted, answers, call, error, llm_agent, play, result, steps, talk, trace
from tests.cli_support import case

pytestmark = MARKS

SCOPES = ("seen", "user:seen", "app:seen", "temp:seen")


def note(tool_context: ToolContext) -> str:
    """Tells what each scope of the state holds, then adds to it."""
    found = [tool_context.state.get(key) for key in SCOPES]
    for key in SCOPES:
        tool_context.state[key] = (tool_context.state.get(key) or 0) + 1
    return str(found)


def noting() -> LlmAgent:
    return llm_agent(steps(call("note"), result), tools=[note])


def session(**state: Any) -> dict[str, Any]:
    return {"session_input": {"app_name": "bot", "user_id": "u1", "state": state}}


def test_state_of_every_scope_comes_from_the_case_and_lasts_one_run() -> None:
    given = {"seen": 5, "user:seen": 6, "app:seen": 7}
    agent = adapted(noting())
    records = play(
        agent,
        case("given", "one", "two", **session(**given)),
        case("empty", "one", "two", **session()),
        multi_run_config={"num_runs": 3},
    )

    for record in records:
        first, second = answers(record)
        assert first == ("[5, 6, 7, None]" if record.eval_id == "given" else "[None, None, None, None]")
        assert second == ("[6, 7, 8, None]" if record.eval_id == "given" else "[1, 1, 1, None]")
        assert record.session
        assert record.session.state == (
            {"seen": 7, "user:seen": 8, "app:seen": 9}
            if record.eval_id == "given"
            else {"seen": 2, "user:seen": 2, "app:seen": 2}
        )
    assert given == {"seen": 5, "user:seen": 6, "app:seen": 7}


def test_pinned_session_starts_empty_each_run() -> None:
    def remembered(request: LlmRequest) -> str:
        return str(sum(content.role == "user" for content in request.contents))

    pinned = {"session_input": {"app_name": "bot", "user_id": "u1", "session_id": "pinned", "state": {}}}
    records = play(
        adapted(llm_agent(steps(remembered))),
        case("a", "one", "two", **pinned),
        case("b", "one", "two", **pinned),
        multi_run_config={"num_runs": 2},
    )

    assert [answers(record) for record in records] == [["1", "2"]] * 4
    assert {record.session.session_id for record in records if record.session} == {"pinned"}


def test_artifacts_are_those_of_the_run(tmp_path: Path) -> None:
    async def save(tool_context: ToolContext) -> str:
        """Saves a file; tells its version and what there was."""
        before = await tool_context.list_artifacts()
        part = types.Part(inline_data=types.Blob(data=b"report", mime_type="text/plain"))
        version = await tool_context.save_artifact("report.txt", part)
        return f"{before} {version}"

    bot = llm_agent(steps(call("save"), result), tools=[save])
    for agent in (adapted(bot), adapted(bot, artifacts=str(tmp_path / "kept"))):
        records = play(agent, case("a"), case("b"), multi_run_config={"num_runs": 2})
        assert [answers(record) for record in records] == [["[] 0"]] * 4
    assert len(list((tmp_path / "kept").rglob("report.txt"))) >= 4


def test_fresh_agent_is_built_for_each_run_and_a_shared_one_once() -> None:
    built: list[LlmAgent] = []

    def factory() -> LlmAgent:
        built.append(llm_agent(steps("hello")))
        return built[-1]

    play(adapted(factory), case("a"), case("b"))
    assert len(built) == 2


def test_sync_tools_that_block_do_not_hold_up_other_runs() -> None:
    everybody = threading.Barrier(40, timeout=10)

    def wait_for_all() -> str:
        """Returns when all runs are in it."""
        everybody.wait()
        return "met"

    bot = llm_agent(steps(call("wait_for_all"), result), tools=[wait_for_all])
    records = play(adapted(bot), *(case(f"case{number}") for number in range(40)))

    assert [answers(record) for record in records] == [["met"]] * 40


def test_reset_data_is_called_before_each_run() -> None:
    events: list[str] = []

    async def reset() -> None:
        events.append("reset")

    def script(request: LlmRequest) -> str:
        events.append("run")
        return "hello"

    agent = adapted(llm_agent(steps(script)), reset=reset)
    play(agent, case("a", "one", "two"))
    play(agent, case("b"))

    assert events == ["reset", "run", "run", "reset", "run"]


def test_exception_of_reset_data_crashes_the_run() -> None:
    def reset() -> None:
        raise OSError("no database")

    assert error(talk(adapted(llm_agent(steps("hello")), reset=reset), "hi")) == ("OSError", "no database")


# Toolsets


class Connection(BaseToolset):
    """A toolset with a connection, of which it is known how often it was opened and closed."""

    all: list[Connection] = []

    def __init__(self, *, server: str, broken: bool = False) -> None:
        super().__init__()
        self._server = server
        self._broken = broken
        self.opened = self.closed = 0
        self.is_open = False
        Connection.all.append(self)

    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        if self._broken:
            raise ConnectionError(f"{self._server} does not answer")
        self.opened += 1
        self.is_open = True

        def ask() -> str:
            """Asks the server."""
            assert self.is_open, "the connection was closed while in use"
            return self._server

        return [FunctionTool(ask)]

    async def close(self) -> None:
        self.closed += 1
        self.is_open = False


@pytest.fixture(autouse=True)
def _no_connections_yet() -> None:
    Connection.all.clear()


def connected(name: str = "bot", **keys: Any) -> LlmAgent:
    return llm_agent(
        steps(call("ask"), result), name, description="Asks.", tools=[Connection(server="s1", **keys)]
    )


class Custom(BaseAgent):
    """An agent that holds others in fields of its own, as many do."""

    helper: LlmAgent
    by_name: dict[str, LlmAgent] = {}

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        async for event in self.helper.run_async(ctx):
            yield event


def custom() -> Custom:
    helper = connected("helper")
    return Custom(name="bot", helper=helper, sub_agents=[helper])


HOLDERS: dict[str, Any] = {
    "agent": connected,
    "sub-agent": lambda: llm_agent(
        steps(call("transfer_to_agent", agent_name="below")), sub_agents=[connected("below")]
    ),
    "agent tool": lambda: llm_agent(
        steps(call("inner", request="ask"), result), tools=[AgentTool(connected("inner"))]
    ),
    "graph": lambda: Workflow(name="bot", edges=[(START, connected("inner"))]),
    "field of a custom agent": custom,
}


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS.keys())
@pytest.mark.parametrize("is_fresh", [True, False], ids=["fresh", "shared"])
def test_each_run_has_toolsets_of_its_own_and_closes_them(make: Any, is_fresh: bool) -> None:
    agent = adapted(make if is_fresh else make(), is_fresh=is_fresh)
    records = play(agent, *(case(f"case{number}", "one", "two") for number in range(4)))

    assert [answers(record)[0] for record in records] == ["s1"] * 4
    in_use = [connection for connection in Connection.all if connection.opened]
    assert len(in_use) == 4
    assert not any(connection.is_open for connection in in_use)


def test_parallel_runs_see_a_sub_agents_parent_in_their_own_copy() -> None:
    root = HOLDERS["sub-agent"]()
    records = play(adapted(root), case("a"), case("b"))

    assert [answers(record) for record in records] == [["s1"]] * 2
    assert root.sub_agents[0].parent_agent is root
    assert root.sub_agents[0].tools[0].opened == 0


def test_factory_that_gives_all_its_agents_one_toolset() -> None:
    shared = Connection(server="s1")
    agent = adapted(lambda: llm_agent(steps(call("ask"), result), tools=[shared]))

    for _ in range(2):
        records = play(agent, case("a"), case("b"))
        assert [answers(record) for record in records] == [["s1"]] * 2


def test_toolset_that_cannot_be_built_again_is_shared_and_stays_open() -> None:
    class Odd(Connection):
        def __init__(self, address: str) -> None:
            super().__init__(server=address.upper())

    odd = Odd("s1")
    records = play(adapted(llm_agent(steps(call("ask"), result), tools=[odd])), case("a"), case("b"))

    assert [answers(record) for record in records] == [["S1"]] * 2
    assert odd.closed == 0


def test_toolset_with_arguments_passed_on_to_its_base() -> None:
    class Passing(Connection):
        def __init__(self, **keys: Any) -> None:
            super().__init__(**keys)

    passing = Passing(server="s2")
    record = talk(llm_agent(steps(call("ask"), result), tools=[passing]), "hi")

    assert answers(record) == ["s2"]
    assert (passing.opened, len(Connection.all)) == (0, 2)


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS.keys())
def test_toolset_that_cannot_list_its_tools_crashes_the_run_before_the_model_is_asked(make: Any) -> None:
    for connection in (agent := make()) and Connection.all:
        connection._broken = True

    record = talk(agent, "hi")

    assert error(record) == ("ToolsetError", "Connection cannot list its tools: s1 does not answer")
    assert not any("ask" in step.split("(")[0] for step in trace(record))
