"""Google ADK agents, in process: each run has its own Runner, services, state and tool connections.

This module imports google-adk, and is imported itself only when an agent made with it was found.
Of google-adk it uses what running an agent needs; never its evaluation package.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types

from agent_eval.agents.adk_events import event_of, sdk_content
from agent_eval.agents.adk_recorder import Recorder
from agent_eval.agents.base import SessionRequest, Turn
from agent_eval.agents.tools import MockedTools
from agent_eval.schema.config import ToolConfirmation

CONFIRMATION = "adk_request_confirmation"
"""The call by which ADK asks whether a tool may run."""


@dataclass(frozen=True, slots=True)
class AdkSource:
    """Where a run's agent comes from."""

    make: Callable[[], Awaitable[Any]]
    """Gives an `App`, an agent, or a workflow node."""
    is_fresh: bool
    """Whether each call gives a new one."""
    reset: Callable[[], object] | None = None
    """The module's `reset_data`, called before each run."""
    inner_calls: bool = False
    """Record what agents inside an AgentTool do."""
    artifacts: str | None = None
    """A folder or `gs://bucket` for artifacts; in memory if not given."""


def load_yaml(path: Path) -> BaseAgent:
    """The agent that a `root_agent.yaml` describes."""
    from google.adk.agents.config_agent_utils import from_config

    return from_config(str(path))


def artifact_service(where: str | None) -> BaseArtifactService:
    """Where artifacts are kept; each run's own are under its session id."""
    if where is None:
        return InMemoryArtifactService()
    if where.startswith("gs://"):
        from google.adk.artifacts.gcs_artifact_service import GcsArtifactService

        return GcsArtifactService(bucket_name=where.removeprefix("gs://"))
    from google.adk.artifacts.file_artifact_service import FileArtifactService

    return FileArtifactService(root_dir=where.removeprefix("file://"))


class AdkAgent:
    """An agent of Google ADK."""

    kind = "adk"

    def __init__(self, name: str, source: AdkSource) -> None:
        self.name = name
        self._source = source

    async def open(self, request: SessionRequest) -> AdkSession:
        """A runner and a session of its own.

        Raises:
            Exception: whatever the agent's factory, `reset_data` or a toolset raises.
        """
        if self._source.reset:
            result = self._source.reset()
            if inspect.isawaitable(result):
                await result
        made = await self._source.make()
        app, toolsets = _with_own_toolsets(_as_app(made, self.name), is_fresh=self._source.is_fresh)
        recorder = Recorder(
            MockedTools(request.tools.mocks),
            inner_calls_of=request.session_id if self._source.inner_calls else None,
        )
        app = app.model_copy(update={"plugins": [*app.plugins, recorder]})
        sessions = InMemorySessionService()
        runner = Runner(
            app=app,
            app_name=request.app_name,
            session_service=sessions,
            artifact_service=artifact_service(self._source.artifacts),
            memory_service=InMemoryMemoryService(),
        )
        await sessions.create_session(
            app_name=request.app_name,
            user_id=request.user_id,
            session_id=request.session_id,
            state=request.state,
        )
        for toolset in toolsets:
            await toolset.get_tools()  # ADK goes on without the tools of one that fails; a run must not
        return AdkSession(request, runner, recorder, toolsets)


class AdkSession:
    """One conversation with an ADK agent."""

    def __init__(
        self, request: SessionRequest, runner: Runner, recorder: Recorder, toolsets: list[BaseToolset]
    ) -> None:
        self._request = request
        self._runner = runner
        self._recorder = recorder
        self._toolsets = toolsets
        self._state = request.state

    @property
    def state(self) -> dict[str, Any]:
        """The session's state after the last turn."""
        return self._state

    async def send(self, turn: Turn) -> None:
        """Runs one turn.

        Raises:
            ToolConfirmationError: a tool asks whether it may run, and nobody is there to say.
            AdkModelError: the model ended the turn with an error and no answer.
        """
        try:
            with self._recorder.recording(turn):
                message: types.Content | None = sdk_content(turn.message)
                while message:
                    message = await self._run(turn, message)
        finally:
            session = await self._runner.session_service.get_session(
                app_name=self._request.app_name,
                user_id=self._request.user_id,
                session_id=self._request.session_id,
            )
            if session:
                self._state = dict(session.state)

    async def _run(self, turn: Turn, message: types.Content) -> types.Content | None:
        """Sends a message and adds what follows; the next message, if the agent waits for one."""
        asked: list[types.FunctionCall] = []
        stream = self._runner.run_async(
            user_id=self._request.user_id,
            session_id=self._request.session_id,
            new_message=message,
            run_config=_run_config(),
        )
        async with contextlib.aclosing(stream) as events:
            async for event in events:
                confirmations = [call for call in event.get_function_calls() if call.name == CONFIRMATION]
                asked += confirmations
                if not confirmations:  # the framework's own question is no step of the agent
                    turn.add(event_of(event, self._recorder.mocked))
        last = turn.events[-1] if turn.events else None
        if last and last.error_code and not last.parts:
            raise AdkModelError(f"{last.error_code}: {last.error_message or 'no answer'}")
        return self._confirmation(asked) if asked else None

    def _confirmation(self, asked: list[types.FunctionCall]) -> types.Content:
        """The answer to tools that ask whether they may run.

        Raises:
            ToolConfirmationError: nobody is there to say.
        """
        rule = self._request.tools.confirmation
        if rule is ToolConfirmation.FAIL:
            raise ToolConfirmationError(_confirmed_tool(asked[0]))
        confirmed = {"confirmed": rule is ToolConfirmation.APPROVE}
        responses = [types.FunctionResponse(id=call.id, name=call.name, response=confirmed) for call in asked]
        return types.Content(
            role="user", parts=[types.Part(function_response=response) for response in responses]
        )

    async def close(self) -> None:
        """Closes what belongs to this run alone, in the task that opened it."""
        for toolset in self._toolsets:
            with contextlib.suppress(Exception):  # a server that is gone already has nothing to close
                await toolset.close()


class ToolConfirmationError(Exception):
    """A tool asks for confirmation."""

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"tool `{tool}` asks for confirmation; set `tool_confirmation` in the eval config to "
            "`approve` or `deny` to answer it"
        )


class AdkModelError(Exception):
    """A turn that ended with an error of the model instead of an answer."""


def _confirmed_tool(call: types.FunctionCall) -> str:
    original = (call.args or {}).get("originalFunctionCall") or {}
    return str(original.get("name") or "unknown") if isinstance(original, Mapping) else "unknown"


def _run_config() -> RunConfig:
    """Sync tools run in threads where this google-adk can do that, so that none stalls other runs."""
    try:
        from google.adk.agents.run_config import ToolThreadPoolConfig
    except ImportError:
        return RunConfig()
    return RunConfig(tool_thread_pool_config=ToolThreadPoolConfig(max_workers=32))


def _as_app(made: Any, name: str) -> App:
    return made if isinstance(made, App) else App.model_construct(name=name, root_agent=made, plugins=[])


def _with_own_toolsets(app: App, *, is_fresh: bool) -> tuple[App, list[BaseToolset]]:
    """The app with tool connections that belong to one run, and these toolsets.

    A shared agent is copied where it holds toolsets: closing them after one run must not close
    what another run is using.
    """
    root = app.root_agent
    toolsets = [toolset for agent in _agents_below(root) for toolset in _toolsets_of(agent)]
    if is_fresh or not toolsets:
        return app, toolsets
    own: list[BaseToolset] = []
    return app.model_copy(update={"root_agent": _copied(root, own)}), own


def _agents_below(agent: Any) -> Iterator[Any]:
    yield agent
    for sub_agent in getattr(agent, "sub_agents", None) or ():
        yield from _agents_below(sub_agent)


def _toolsets_of(agent: Any) -> list[BaseToolset]:
    return [tool for tool in getattr(agent, "tools", None) or () if isinstance(tool, BaseToolset)]


def _copied(agent: BaseAgent, own: list[BaseToolset]) -> BaseAgent:
    """A copy of an agent and those below it, with toolsets built anew; these go to `own`."""
    update: dict[str, Any] = {}
    if getattr(agent, "sub_agents", None):
        update["sub_agents"] = [_copied(sub_agent, own) for sub_agent in agent.sub_agents]
    if _toolsets_of(agent):
        update["tools"] = [
            _rebuilt(tool, own) if isinstance(tool, BaseToolset) else tool for tool in agent.tools
        ]
    return agent.clone(update=update)


def _rebuilt(toolset: BaseToolset, own: list[BaseToolset]) -> BaseToolset:
    """A toolset like the given one, built with what that one was built with.

    ADK toolsets keep each argument of their constructor under its name. One that does not is
    shared, and not closed.
    """
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(type(toolset).__init__).parameters.items():
        if name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        kept = [attribute for attribute in (f"_{name}", name) if hasattr(toolset, attribute)]
        if kept:
            arguments[name] = getattr(toolset, kept[0])
        elif parameter.default is parameter.empty:
            return toolset
    built = type(toolset)(**arguments)
    own.append(built)
    return built
