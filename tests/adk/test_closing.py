"""What apps and factories hold is closed once, where it was used, and at no result's cost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.apps.app import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool

from agent_eval import evaluate
from agent_eval.agents import factory
from agent_eval.agents.resolve import AgentOptions
from agent_eval.schema.evalset import EvalSet
from agent_eval.schema.result import EvalResult
from tests.adk import MARKS
from tests.adk.support import call, llm_agent, result, steps
from tests.cli_support import Project, case, eval_set

pytestmark = MARKS


def evaluated(agent: Any, folder: Path, *, runs: int = 3, **agents: Any) -> EvalResult:
    """Two cases, each run so often, side by side."""
    cases = EvalSet.model_validate(eval_set(case("a", "hi", answer="hello"), case("b", "hi", answer="hello")))
    return evaluate(
        agent,
        cases,
        config={"criteria": {"response_match_score": 0.5}},
        num_runs=runs,
        parallelism=4,
        output=str(folder),
        agents=AgentOptions(**agents),
    )


class Closing(BasePlugin):
    """A plugin that notes in which loops it was used and closed, and does in the end what it is told to."""

    def __init__(self, end: Callable[[], Any] | None = None) -> None:
        super().__init__(name="closing")
        self.end = end
        self.used: list[asyncio.AbstractEventLoop] = []
        self.closed: list[asyncio.AbstractEventLoop] = []

    async def before_run_callback(self, **_: Any) -> None:
        assert not self.closed, "used after it was closed"
        self.used.append(asyncio.get_running_loop())

    async def close(self) -> None:
        self.closed.append(asyncio.get_running_loop())
        if self.end:
            await self.end()


def test_plugin_of_a_shared_app_is_closed_once_at_the_end_in_the_loop_that_used_it(tmp_path: Path) -> None:
    plugin = Closing()
    inner = llm_agent(steps("hello"), "inner", description="Greets.")
    root = llm_agent(steps(call("inner", request="hi"), result), tools=[AgentTool(inner)])
    done = evaluated(App(name="bot", root_agent=root, plugins=[plugin]), tmp_path)

    assert done.totals.passed == 2
    assert len(plugin.used) >= 6
    assert len(plugin.closed) == 1
    assert {*plugin.used} == {*plugin.closed}


@pytest.mark.parametrize("share", [False, True], ids=["fresh", "shared"])
def test_plugins_of_apps_from_a_factory_are_closed_once_each(tmp_path: Path, share: bool) -> None:
    plugins: list[Closing] = []

    def get_app() -> App:
        plugins.append(Closing())
        return App(name="bot", root_agent=llm_agent(steps("hello")), plugins=[plugins[-1]])

    done = evaluated(get_app, tmp_path, share=share)

    assert done.totals.passed == 2
    assert [len(plugin.used) for plugin in plugins] == ([6] if share else [1] * 6)
    assert all(len(plugin.closed) == 1 for plugin in plugins)


async def raises() -> None:
    raise RuntimeError("not so fast")


async def cancels() -> None:
    raise asyncio.CancelledError


async def hangs() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("end", [raises, cancels, hangs])
@pytest.mark.parametrize("is_fresh", [False, True], ids=["shared", "fresh"])
def test_plugin_that_cannot_be_closed_costs_no_result(
    tmp_path: Path,
    end: Any,
    is_fresh: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(factory, "CLOSE_SECONDS", 0.2)

    def get_app() -> App:
        return App(name="bot", root_agent=llm_agent(steps("hello")), plugins=[Closing(end)])

    done = evaluated(get_app if is_fresh else get_app(), tmp_path)

    assert (done.totals.passed, done.totals.crashed_runs) == (2, 0)
    assert "plugin closing could not be closed" in caplog.text


class Entered:
    """A context that has to be left in the task that entered it, as cancel scopes have to be."""

    def __init__(self) -> None:
        self.inside: list[asyncio.Task[Any] | None] = []
        self.left: list[bool] = []

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncGenerator[None, None]:
        import anyio

        task = asyncio.current_task()
        self.inside.append(task)
        async with anyio.create_task_group():
            yield
        self.left.append(asyncio.current_task() is task)

    async def get_agent_async(self) -> Any:
        stack = contextlib.AsyncExitStack()
        await stack.enter_async_context(self.one())
        return llm_agent(steps("hello")), stack


@pytest.mark.parametrize("share", [False, True], ids=["fresh", "shared"])
def test_exit_stack_of_a_factory_is_left_in_the_task_that_entered_it(tmp_path: Path, share: bool) -> None:
    entered = Entered()
    done = evaluated(entered.get_agent_async, tmp_path, share=share)

    assert (done.totals.passed, done.totals.crashed_runs) == (2, 0)
    assert len({*entered.inside}) == (1 if share else 6)
    assert entered.left == [True] * len(entered.inside)


def test_exit_stack_is_left_when_the_run_crashes_or_cannot_begin(tmp_path: Path) -> None:
    left: list[str] = []

    def get_agent() -> Any:
        stack = contextlib.ExitStack()
        stack.callback(left.append, "left")
        return llm_agent(steps(ConnectionError("socket reset"))), stack

    crashed = evaluated(get_agent, tmp_path, runs=1)
    assert (crashed.totals.crashed_runs, left) == (2, ["left"] * 2)

    def reset() -> None:
        raise OSError("no database")

    agent = factory.MadeAgent("bot", factory.fresh(get_agent), _with_reset(reset))

    async def main() -> None:
        with pytest.raises(OSError, match="no database"):
            await agent.details()
        await agent.aclose()

    asyncio.run(main())
    assert left == ["left"] * 3


def _with_reset(reset: Callable[[], None]) -> Callable[[factory.Make, Any], Any]:
    from agent_eval.agents.adk import AdkAgent, AdkSource

    return lambda make, _: AdkAgent("bot", AdkSource(make, is_fresh=True, reset=reset))


def test_exit_stack_that_fails_to_close_costs_no_result(tmp_path: Path) -> None:
    def get_agent() -> Any:
        stack = contextlib.AsyncExitStack()
        stack.push_async_callback(raises)
        return llm_agent(steps("hello")), stack

    done = evaluated(get_agent, tmp_path)
    assert (done.totals.passed, done.totals.crashed_runs) == (2, 0)


def test_factory_that_fails_is_called_again_for_the_next_run_also_when_shared(tmp_path: Path) -> None:
    calls: list[None] = []

    async def get_agent_async() -> Any:
        calls.append(None)
        if len(calls) == 1:
            raise ConnectionError("not yet")
        return llm_agent(steps("hello"))

    done = evaluated(get_agent_async, tmp_path, runs=1, share=True)

    assert len(calls) == 2
    assert (done.totals.crashed_runs, done.totals.passed) == (1, 1)


@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["here", "in workers"])
def test_app_of_a_module_is_closed_once_in_each_process_that_runs_it(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.agent(
        """\
        import os
        from pathlib import Path

        from google.adk.agents.llm_agent import LlmAgent
        from google.adk.apps.app import App
        from google.adk.models.base_llm import BaseLlm
        from google.adk.models.llm_response import LlmResponse
        from google.adk.plugins.base_plugin import BasePlugin
        from google.genai import types


        class Hello(BaseLlm):
            async def generate_content_async(self, llm_request, stream=False):
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="hi")]))


        class Noting(BasePlugin):
            async def close(self):
                with Path("closed").open("a") as file:
                    file.write(f"{os.getpid()}\\n")


        root = LlmAgent(name="bot", model=Hello(model="m"))
        app = App(name="bot", root_agent=root, plugins=[Noting("noting")])
        """
    )
    project.write("set.json", eval_set(case("a"), case("b")))
    done = project.agent_eval("run", "bot", "set.json", "--num_runs", "3", *workers)

    assert done.code == 0, done.stdout + done.stderr
    closed_in = (project.root / "closed").read_text().split()
    assert len(closed_in) == len({*closed_in})
    assert len(closed_in) in ((1, 2) if workers else (1,))
