"""Agents that reach others by A2A, with a2a-sdk and without."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("google.adk")

from agent_eval.agents import adk_setup
from tests.adk import MARKS
from tests.adk.support import answers, error, llm_agent, steps, talk
from tests.adk.test_served import free_port
from tests.cli_support import RESPONSES, Project, case, eval_set

pytestmark = MARKS

MODULE = "google.adk.agents.remote_a2a_agent"


@contextlib.contextmanager
def serving(agent: Any, port: int) -> Iterator[None]:
    """The agent behind A2A on this port, as long as it lasts."""
    import uvicorn
    from google.adk.a2a.utils.agent_to_a2a import to_a2a

    app = to_a2a(agent, port=port)
    server = uvicorn.Server(uvicorn.Config(app, host="localhost", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server ended"
            threading.Event().wait(0.02)
        yield
    finally:
        server.should_exit = True
        thread.join(20)


DESK = """\
    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types


    class HandsOver(BaseLlm):
        async def generate_content_async(self, llm_request, stream=False):
            call = types.FunctionCall(name="transfer_to_agent", args={"agent_name": "expert"})
            part = types.Part(function_call=call)
            yield LlmResponse(content=types.Content(role="model", parts=[part]))


    card = "http://localhost:PORT/.well-known/agent-card.json"
    expert = RemoteA2aAgent(name="expert", description="Knows.", agent_card=card)
    root_agent = LlmAgent(name="bot", model=HandsOver(model="m"), sub_agents=[expert])
    """


@pytest.fixture
def desk(project: Project) -> tuple[Project, int]:
    """A project with an agent that hands over to the expert, and the expert's port."""
    pytest.importorskip("a2a")
    port = free_port()
    project.agent(DESK.replace("PORT", str(port)))
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("a", answer="42"), case("b", answer="42")))
    return project, port


def test_agent_that_hands_over_by_a2a_answers_also_in_parallel_runs(desk: tuple[Project, int]) -> None:
    project, port = desk
    with serving(llm_agent(steps("42"), "expert", description="Knows."), port):
        done = project.agent_eval("run", "bot", "set.json", "--num_runs", "2")

    assert done.code == 0, done.stdout + done.stderr
    assert [answers(record) for record in project.records()] == [["42"]] * 4


def test_agent_that_cannot_be_reached_by_a2a_crashes_the_run(desk: tuple[Project, int]) -> None:
    project, _ = desk
    project.agent_eval("run", "bot", "set.json")

    kind, message = error(project.records()[0])
    assert kind == "AdkModelError"
    assert "expert" in message


def test_module_is_missing_as_long_as_what_it_needs_is(monkeypatch: pytest.MonkeyPatch) -> None:
    talk(llm_agent(steps("hello")), "hi")
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.setattr(adk_setup._WithoutA2a, "NEEDED", "no_such_package")

    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_package'$") as raised:
        importlib.import_module(MODULE)
    assert raised.value.name == "no_such_package"
    assert answers(talk(llm_agent(steps("hello")), "hi")) == ["hello"]

    monkeypatch.setattr(adk_setup._WithoutA2a, "NEEDED", "json")
    with contextlib.suppress(ModuleNotFoundError):  # of a2a itself, where it is not installed
        assert importlib.import_module(MODULE).RemoteA2aAgent
