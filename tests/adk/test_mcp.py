"""Toolsets with real servers: each run has its own, and none is left behind. Needs google-adk[mcp]."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("google.adk")

from tests.adk import MARKS
from tests.adk.support import answers
from tests.cli_support import Outcome, Project, case, eval_set

pytestmark = MARKS

SERVER = '''\
"""A stock keeper. Notes that it has been started."""

import os
import sys
from pathlib import Path

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # before version 2
    from mcp.server.fastmcp import FastMCP as MCPServer

Path(sys.argv[1], str(os.getpid())).touch()
server = MCPServer("stock")


@server.tool()
def in_stock(item: str) -> str:
    """How many there are."""
    return f"3 {item} left"


server.run("stdio")
'''

AGENT = """\
import sys
from pathlib import Path

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.genai import types
from mcp import StdioServerParameters

HERE = Path(__file__).parent


class Asking(BaseLlm):
    tool: str

    async def generate_content_async(self, llm_request, stream=False):
        response = llm_request.contents[-1].parts[-1].function_response
        if response:
            found = response.response
            part = types.Part(text=found["content"][0]["text"] if "content" in found else found["result"])
        else:
            args = {"item": "lamps"} if self.tool == "in_stock" else {"request": "lamps"}
            part = types.Part(function_call=types.FunctionCall(name=self.tool, args=args))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def toolset(command=sys.executable):
    server = StdioServerParameters(command=command, args=[str(HERE / "server.py"), str(HERE / "started")])
    return McpToolset(connection_params=StdioConnectionParams(server_params=server, timeout=30))


def keeper(**keys):
    return LlmAgent(name="keeper", description="Knows.", model=Asking(model="any", tool="in_stock"), **keys)


"""

KINDS = {
    "shared agent": "root_agent = keeper(tools=[toolset()])",
    "agent made for each run": "async def get_agent_async():\n    return keeper(tools=[toolset()])",
    "inside an agent tool": "inner = AgentTool(keeper(tools=[toolset()]))\n"
    "root_agent = LlmAgent(name='desk', model=Asking(model='any', tool='keeper'), tools=[inner])",
}


TROUBLE = ("Event loop is closed", "cancel scope", "Traceback", "was never awaited", "was destroyed")
"""What is said on standard error where connections are not closed in their time."""


@pytest.fixture
def shop(project: Project) -> Project:
    project.write("bot/__init__.py", "from . import agent\n")
    project.write("bot/server.py", SERVER)
    (project.root / "bot" / "started").mkdir()
    project.write("eval_config.json", {"criteria": {"response_match_score": 1.0}})
    project.write("set.json", eval_set(case("a", "lamps?", "lamps?", answer="3 lamps left")))
    return project


def run(project: Project, source: str, *arguments: str) -> Outcome:
    """Runs it with everything that libraries log on standard error."""
    project.write("bot/agent.py", AGENT + source + "\n")
    return project.agent_eval("run", "bot", "set.json", "--debug", *arguments)


def servers(project: Project) -> list[int]:
    return [int(path.name) for path in (project.root / "bot" / "started").iterdir()]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2] if Path("/proc").is_dir() else True


@pytest.mark.parametrize("source", KINDS.values(), ids=KINDS.keys())
def test_parallel_runs_have_servers_of_their_own_and_leave_none(shop: Project, source: str) -> None:
    done = run(shop, source, "--num_runs", "6", "--parallelism", "3")

    assert done.code == 0, done.stdout + done.stderr
    assert [answers(record) for record in shop.records()] == [["3 lamps left"] * 2] * 6
    assert len(servers(shop)) >= 6
    assert [pid for pid in servers(shop) if is_running(pid)] == []
    for trouble in (
        "Event loop is closed",
        "cancel scope",
        "Traceback",
        "was never awaited",
        "was destroyed",
    ):
        assert trouble not in done.stderr


def test_server_that_does_not_exist_crashes_the_run(shop: Project) -> None:
    done = run(shop, "root_agent = keeper(tools=[toolset('no-such-command')])")

    assert done.code == 1
    (record,) = shop.records()
    assert record.error
    assert record.error.type == "ToolsetError"
    assert re.search(r"McpToolset cannot list its tools: .*no-such-command", record.error.message)
    assert "cannot list its tools" in done.stdout


def test_server_that_ends_at_once_crashes_the_run(shop: Project) -> None:
    shop.write("bot/server.py", "raise SystemExit(3)\n")

    done = run(shop, KINDS["shared agent"])

    assert done.code == 1
    (record,) = shop.records()
    assert record.error
    assert record.error.type == "ToolsetError"


def test_server_of_a_run_that_took_too_long_is_not_left_behind(shop: Project) -> None:
    shop.write(
        "bot/server.py", SERVER.replace("    return f", "    __import__('time').sleep(60)\n    return f")
    )

    done = run(shop, KINDS["shared agent"], "--timeout", "4")

    assert done.code == 1
    (record,) = shop.records()
    assert record.error
    assert record.error.type == "RunTimeoutError"
    assert len(servers(shop)) == 1
    assert [pid for pid in servers(shop) if is_running(pid)] == []


def test_mocked_tool_of_a_server_is_not_called(shop: Project) -> None:
    called = shop.root / "bot" / "called"
    shop.write(
        "bot/server.py", SERVER.replace("    return f", f"    Path({str(called)!r}).touch()\n    return f")
    )
    shop.write(
        "eval_config.json",
        {
            "criteria": {"response_match_score": 1.0},
            "tool_mocks": {"mocks": [{"tool": "in_stock", "response": "3 lamps left"}]},
        },
    )

    done = run(shop, KINDS["shared agent"])

    assert done.code == 0, done.stdout + done.stderr
    assert not called.exists()
