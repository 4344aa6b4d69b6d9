"""Google ADK agents, in process: each run has its own Runner, services, state and tool connections.

This module imports google-adk, and is imported itself only when an agent made with it was found.
Of google-adk it uses what running an agent needs; never its evaluation package.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.apps.app import App
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.base_toolset import BaseToolset

from agent_eval.agents.adk_details import details_of
from agent_eval.agents.adk_events import adk_event, event_of, sdk_content
from agent_eval.agents.adk_recorder import Recorder
from agent_eval.agents.adk_rules import check_answered, questions, reply
from agent_eval.agents.adk_setup import run_config, warm_up
from agent_eval.agents.adk_toolsets import Toolsets, out_of_reach
from agent_eval.agents.base import SessionRequest, Turn
from agent_eval.agents.factory import Made, Make, close_quietly
from agent_eval.agents.tools import MockedToolError, MockedTools
from agent_eval.schema.trace import USER_AUTHOR, AppDetails, Content, Event, FunctionCall


@dataclass(frozen=True, slots=True)
class AdkSource:
    """Where a run's agent comes from."""

    make: Make
    """Gives an `App`, an agent, or a workflow node."""
    is_fresh: bool
    """Whether each call gives a new one."""
    reset: Callable[[], object] | None = None
    """The module's `reset_data`, called before each run."""
    inner_calls: bool = False
    """Record what agents inside an AgentTool do."""
    artifacts: str | BaseArtifactService | None = None
    """A folder or `gs://bucket` for artifacts, or what keeps them; in memory if not given."""
    sub_agent: str | None = None
    """Run the agent of this name below the root."""


def load_yaml(path: Path) -> BaseAgent:
    """The agent that a `root_agent.yaml` describes; what code it names is found beside its folder."""
    from google.adk.agents.config_agent_utils import from_config

    beside = str(path.resolve().parent.parent)
    if beside not in sys.path:
        sys.path.insert(0, beside)
    return from_config(str(path))


def has_agent(made: Any, name: str) -> bool:
    """Whether an agent of this name is among an app's or agent's."""
    root = made.root_agent if isinstance(made, App) else made
    return isinstance(root, BaseAgent) and root.find_agent(name) is not None


def artifact_service(where: str | BaseArtifactService | None) -> BaseArtifactService:
    """Where artifacts are kept; each run's own are under its session id."""
    if where is None:
        return InMemoryArtifactService()
    if isinstance(where, BaseArtifactService):
        return where
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
        self._known: weakref.WeakSet[BaseToolset] = weakref.WeakSet()
        self._plugins: dict[int, BasePlugin] = {}
        """Those that runs have shared, by their identity; nobody says that they can be hashed."""

    async def open(self, request: SessionRequest) -> AdkSession:
        """A runner and a session of its own.

        Raises:
            MockedToolError: a mocked tool would really run.
            Exception: whatever the agent's factory or `reset_data` raises.
        """
        made = await self._made()
        try:
            return await self._opened(made, request)
        except BaseException:
            await made.close()
            raise

    async def _opened(self, made: Made, request: SessionRequest) -> AdkSession:
        """A session with an app that was made.

        Raises:
            MockedToolError: a mocked tool would really run.
        """
        app: App = made.agent
        mocks = request.tools.mocks
        if mocks and (tool := out_of_reach(app.root_agent, mocks.names())):
            raise MockedToolError(
                f"the mock of `{tool}` cannot reach it inside an AgentTool with include_plugins=False; "
                "it would really run"
            )
        toolsets = Toolsets()
        recorder = Recorder(
            MockedTools(mocks),
            toolsets,
            request.calls,
            inner_calls_of=request.session_id if self._source.inner_calls else None,
        )
        root = toolsets.of(app.root_agent, self._known, is_fresh=self._source.is_fresh)
        sessions = InMemorySessionService()
        runner = Runner(
            app=app.model_copy(update={"root_agent": root, "plugins": [*app.plugins, recorder]}),
            app_name=request.app_name,
            session_service=sessions,
            artifact_service=artifact_service(self._source.artifacts),
            memory_service=InMemoryMemoryService(),
        )
        session = await sessions.create_session(
            app_name=request.app_name,
            user_id=request.user_id,
            session_id=request.session_id,
            state=request.state,
        )
        for event in request.events:
            await sessions.append_event(session, adk_event(event, _author(event, root)))
        if not self._source.is_fresh:
            self._plugins |= {id(plugin): plugin for plugin in app.plugins}
        held = Held(toolsets, app.plugins if self._source.is_fresh else [], made)
        return AdkSession(request, runner, recorder, held)

    async def details(self) -> AppDetails | None:
        """What the agents of the app show.

        Raises:
            Exception: whatever a toolset raises that cannot list its tools.
        """
        made = await self._made()
        toolsets = Toolsets()
        try:
            root = toolsets.of(made.agent.root_agent, self._known, is_fresh=self._source.is_fresh)
            return await details_of(root)
        finally:
            await toolsets.close()
            await made.close()

    async def aclose(self) -> None:
        """Closes the plugins of an app that runs have shared."""
        plugins, self._plugins = [*self._plugins.values()], {}
        await _close_plugins(plugins)

    async def _made(self) -> Made:
        """The app, after `reset_data`."""
        warm_up()
        if self._source.reset:
            result = self._source.reset()
            if inspect.isawaitable(result):
                await result
        made = await self._source.make()
        app = made.agent
        if not isinstance(app, App):
            app = App.model_construct(name=self.name, root_agent=app, plugins=[])
        if self._source.sub_agent:
            app = app.model_copy(update={"root_agent": app.root_agent.find_agent(self._source.sub_agent)})
        return replace(made, agent=app)


def _author(event: Event, root: Any) -> str:
    """The author of an earlier event: the root agent, where no agent of that name is known.

    What others said, ADK would tell the agent of as of a stranger's words.
    """
    if event.author == USER_AUTHOR:
        return USER_AUTHOR
    known = isinstance(root, BaseAgent) and event.author and root.find_agent(event.author)
    return event.author if known and event.author else str(root.name)


async def _close_plugins(plugins: Sequence[BasePlugin]) -> None:
    """One after the other, in this task: some have cancel scopes of it."""
    for plugin in plugins:
        await close_quietly(f"plugin {plugin.name}", plugin.close)


@dataclass(frozen=True, slots=True)
class Held:
    """What belongs to one run alone."""

    toolsets: Toolsets
    plugins: Sequence[BasePlugin]
    """Those of an app made for the run."""
    made: Made

    async def close(self) -> None:
        """Closes all of it."""
        await self.toolsets.close()
        await _close_plugins(self.plugins)
        await self.made.close()


class AdkSession:
    """One conversation with an ADK agent."""

    def __init__(self, request: SessionRequest, runner: Runner, recorder: Recorder, held: Held) -> None:
        self._request = request
        self._runner = runner
        self._recorder = recorder
        self._held = held
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
            ToolsetError: a toolset cannot list its tools.
            Exception: whatever the agent raises.
        """
        try:
            with self._recorder.recording(turn):
                message: Content | None = turn.message
                while message:
                    message = await self._run(turn, message)
        except Exception as error:
            if ours := self._recorder.behind(error):
                raise ours from ours.__cause__
            raise
        finally:
            await self._read_state()

    async def _run(self, turn: Turn, message: Content) -> Content | None:
        """Sends a message and adds what follows; the next message, if the agent waits for one."""
        asked: list[FunctionCall] = []
        stream = self._runner.run_async(
            user_id=self._request.user_id,
            session_id=self._request.session_id,
            new_message=sdk_content(message),
            run_config=run_config(),
        )
        async with contextlib.aclosing(stream) as events:
            async for adk_event in events:
                event = event_of(adk_event, self._recorder.mocked)
                if found := questions(event):
                    asked += found  # the framework's own question is no step of the agent
                else:
                    turn.add(event)
        check_answered(turn)
        return reply(asked, self._request.tools.confirmation) if asked else None

    async def _read_state(self) -> None:
        session = await self._runner.session_service.get_session(
            app_name=self._request.app_name,
            user_id=self._request.user_id,
            session_id=self._request.session_id,
            config=GetSessionConfig(num_recent_events=0),  # copying events takes long
        )
        if session:
            self._state = dict(session.state)

    async def close(self) -> None:
        """Closes what belongs to this run alone: toolsets, and the plugins of an app made for it."""
        await self._held.close()
