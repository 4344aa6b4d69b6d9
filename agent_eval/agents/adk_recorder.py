"""An ADK plugin that notes what a turn's events do not tell: instructions, tools, and where time went."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from agent_eval import clock
from agent_eval.agents.adk_events import event_of
from agent_eval.agents.adk_toolsets import ToolsetError, Toolsets
from agent_eval.agents.base import Turn
from agent_eval.agents.tools import MockedToolError, MockedTools
from agent_eval.load.refusals import EVERYWHERE, Refusal, refusal_of
from agent_eval.load.traffic import RunTraffic
from agent_eval.schema.trace import USER_AUTHOR, AgentDetails, AppDetails

RETRIES = types.HttpRetryOptions(
    attempts=5, initial_delay=1.0, max_delay=60.0, http_status_codes=[408, 500, 502, 503, 504]
)
"""For model calls that bring no retry options of their own; what is refused (429) is seen to here."""


class Busy:
    """Intervals during which something was under way."""

    def __init__(self) -> None:
        self._open: dict[object, float] = {}
        self._closed: list[tuple[float, float]] = []

    def begin(self, key: object) -> None:
        """Something begins."""
        self._open.setdefault(key, clock.monotonic())

    def end(self, key: object) -> None:
        """It ends; ending twice is ending once."""
        if (began := self._open.pop(key, None)) is not None:
            self._closed.append((began, clock.monotonic()))

    def is_open(self, key: object) -> bool:
        """Whether it is under way."""
        return key in self._open

    def drop(self, key: object) -> None:
        """It did not take place after all, if it is still under way."""
        self._open.pop(key, None)

    def intervals(self) -> list[tuple[float, float]]:
        """All of them; what is still under way ends now."""
        for key in list(self._open):
            self.end(key)
        return self._closed


def covered(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same time without overlaps, in order."""
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def seconds(intervals: list[tuple[float, float]]) -> float:
    """How much time intervals cover; what overlaps counts once."""
    return sum(end - begin for begin, end in covered(intervals))


class Recorder(BasePlugin):
    """One run's plugin: notes, mocks tools, and has model calls wait for their turn.

    A model that was asked too much is asked again. Other failures are left to the client, which is given
    retry options if it has none.
    """

    def __init__(
        self, mocks: MockedTools, toolsets: Toolsets, calls: RunTraffic, *, inner_calls_of: str | None = None
    ) -> None:
        """Takes what the run has, and its session id if inner events are to be recorded."""
        super().__init__(name="agent_eval_recorder")
        self._calls = calls
        self._booked: dict[object, tuple[str, float]] = {}
        """Where calls under way go, and the tokens that they are taken for."""
        self._failed_again: Exception | None = None
        """What another attempt at a refused call failed with."""
        self._mocks = mocks
        self._toolsets = toolsets
        self._inner_calls_of = inner_calls_of
        self._turn: Turn | None = None
        self.mocked: set[str] = set()
        """Ids of the calls that a mock answered."""
        self._models = Busy()
        self._tools = Busy()
        self._details: dict[str, AgentDetails] = {}

    @contextmanager
    def recording(self, turn: Turn) -> Iterator[None]:
        """Notes what happens meanwhile, for this turn."""
        self._models, self._tools, self._details = Busy(), Busy(), {}
        self._turn = turn
        try:
            yield
        finally:
            self._turn = None
            models, tools = self._models.intervals(), self._tools.intervals()
            turn.model_seconds = round(seconds(models), 6)
            turn.tool_seconds = round(seconds(models + tools) - seconds(models), 6)
            authors = {event.author for event in turn.events}
            details = {name: shown for name, shown in self._details.items() if name in authors}
            turn.app_details = AppDetails(agent_details=details) if details else None

    def behind(self, error: BaseException) -> Exception | None:
        """The error of ours that ADK wrapped in this one, if it is such."""
        cause: BaseException | None = error
        while cause:
            if isinstance(cause, (MockedToolError, ToolsetError)) or cause is self._failed_again:
                return cause
            cause = cause.__cause__
        return None

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """An event of any runner; those inside an AgentTool have a session of their own."""
        if not event.partial:  # the answer of a callback, which no `after_model_callback` follows
            self._models.drop((event.invocation_id, event.author))
        outer = self._inner_calls_of
        if outer and self._turn and invocation_context.session.id != outer and event.author != USER_AUTHOR:
            self._turn.add(event_of(event, self.mocked))

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """A model call begins when its turn has come, unless a toolset is missing that the model should have.

        Raises:
            ToolsetError: a toolset cannot list its tools.
        """
        if self._toolsets.failure:
            raise self._toolsets.failure
        await self._begin(_call_key(callback_context), llm_request)
        config = llm_request.config
        if config is not None:
            if config.http_options is None:
                config.http_options = types.HttpOptions(retry_options=RETRIES)
            elif config.http_options.retry_options is None:
                config.http_options.retry_options = RETRIES
        name = callback_context.agent_name
        if name not in self._details:
            self._details[name] = _agent_details(name, config)

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """A model answers; a streamed piece is not the end of it."""
        key = _call_key(callback_context)
        if not llm_response.partial and self._models.is_open(key):
            usage = llm_response.usage_metadata
            self._answered(key, (usage and usage.total_token_count) or 0)

    async def on_model_error_callback(
        self, *, callback_context: Any, llm_request: Any, error: Exception
    ) -> Any:
        """A model call fails; the answer, if it is made again.

        That is done if the endpoint says that it was asked too much, and only where nothing else sees to
        it: no answer was given yet, the agent has no callback for errors, and the request is still whole.
        """
        key = _call_key(callback_context)
        is_open = self._models.is_open(key)
        self._models.end(key)
        refusal = refusal_of(error)
        agent = callback_context._invocation_context.agent  # a plugin has no other way to it
        sees_to_it = getattr(agent, "on_model_error_callback", None) or llm_request.cache_config
        if refusal is None or not is_open or sees_to_it:
            return None
        resolve = getattr(agent, "canonical_model_async", None)  # of google-adk since 2.12
        model = await resolve(callback_context) if resolve else agent.canonical_model
        return await self._asked_again(key, model, llm_request, error, refusal)

    async def _asked_again(
        self, key: object, model: Any, request: Any, first: Exception, refusal: Refusal | None
    ) -> Any:
        """What the model answers after a pause, or a few; None if it goes on refusing.

        Raises:
            Exception: it failed otherwise.
        """
        tried = 0
        while refusal and await self._calls.again(
            Refusal(request.model or refusal.place, refusal.asked), tried := tried + 1
        ):
            await self._begin(key, request)
            try:
                responses = [one async for one in model.generate_content_async(request)]
            except Exception as error:
                self._models.end(key)
                refusal = refusal_of(error, handling=first)
                if refusal is None:
                    self._failed_again = error
                    raise
            else:
                return responses[-1] if responses else None  # without streaming, there is one
        return None

    async def _begin(self, key: object, request: Any) -> None:
        """A call begins when its turn has come."""
        place = request.model or EVERYWHERE
        self._booked[key] = place, await self._calls.before_call(place)
        self._models.begin(key)

    def _answered(self, key: object, tokens: int) -> None:
        self._models.end(key)
        self._calls.after_call(*self._booked[key], tokens)

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """A tool begins, or its mock answers.

        Raises:
            MockedToolError: the mock says so, and no callback for errors of tools has an answer.
        """
        call_id = tool_context.function_call_id
        try:
            answer = self._mocks.answer(tool.name, tool_args)
        except MockedToolError as error:
            self.mocked.add(call_id)
            return await _answer_to_error(error, tool, tool_args, tool_context)
        if answer is None:
            self._tools.begin(call_id)
            return None
        self.mocked.add(call_id)
        response = answer.response  # an empty one would let the tool run
        return response if isinstance(response, dict) and response else {"result": response}

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        """A tool answers."""
        self._tools.end(tool_context.function_call_id)
        return None

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: Exception
    ) -> dict[str, Any] | None:
        """A tool fails."""
        self._tools.end(tool_context.function_call_id)
        return None


async def _answer_to_error(
    error: MockedToolError, tool: Any, args: dict[str, Any], context: Any
) -> dict[str, Any]:
    """What the app's plugins, then the agent, make of a tool's error, as when the tool itself had raised.

    Raises:
        MockedToolError: nothing.
    """
    invocation = context._invocation_context  # a plugin has no other way to the agent
    answer = await invocation.plugin_manager.run_on_tool_error_callback(
        tool=tool, tool_args=args, tool_context=context, error=error
    )
    for callback in getattr(invocation.agent, "canonical_on_tool_error_callbacks", ()):
        if answer is None:
            answer = callback(tool=tool, args=args, tool_context=context, error=error)
            if inspect.isawaitable(answer):
                answer = await answer
    if answer is None:
        raise error
    return answer if isinstance(answer, dict) and answer else {"result": answer}


def _call_key(context: Any) -> tuple[str, str]:
    """One agent makes one model call at a time in an invocation."""
    return context.invocation_id, context.agent_name


def _agent_details(name: str, config: Any) -> AgentDetails:
    instruction = getattr(config, "system_instruction", None) or ""
    tools = getattr(config, "tools", None) or []
    return AgentDetails(
        name=name,
        instructions=instruction if isinstance(instruction, str) else str(instruction),
        tool_declarations=[
            tool.model_dump(mode="json", exclude_none=True)
            if hasattr(tool, "model_dump")
            else getattr(tool, "__name__", str(tool))
            for tool in tools
        ],
    )
