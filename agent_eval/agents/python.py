"""Plain Python agents: any callable that takes `(message, session)`.

It may be sync or async, a function, an object with `__call__`, or a generator, and gives text,
a `Content` or `Event`s. Sync agents run in a thread of their own, so that one that blocks holds
up no other run.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

from agent_eval import clock, serde
from agent_eval.agents.base import SessionRequest, Turn
from agent_eval.agents.factory import Made, Make
from agent_eval.agents.tools import Answer, MockedToolError, MockedTools
from agent_eval.load.traffic import RunTraffic
from agent_eval.schema.trace import (
    AgentDetails,
    AppDetails,
    Content,
    Event,
    FunctionCall,
    FunctionResponse,
    Invocation,
    Part,
)
from agent_eval.threads import in_thread

T = TypeVar("T")

PythonCallable = Callable[[Content, "Session"], Any]


def _unheard(event: Event) -> None:
    """Where the events of tool calls go outside of turns."""


class Session:
    """What an agent sees of its session."""

    def __init__(self, request: SessionRequest) -> None:
        self.app_name = request.app_name
        self.user_id = request.user_id
        self.session_id = request.session_id
        self.state = request.state
        """Kept over the turns of the run, and no longer."""
        self.run_index = request.run_index
        self.seed = request.seed
        self.random = Random(request.seed)
        """Draws the same numbers again under the same `--seed`."""
        self._calls = request.calls
        self._mocks = MockedTools(request.tools.mocks)
        self._earlier = request.history
        self._turns: list[Turn] = []
        self._add: Callable[[Event], None] = _unheard
        self._turn: Turn | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def history(self) -> list[Invocation]:
        """Earlier turns of the session: those it began with, then those of this run."""
        return [*self._earlier, *(turn.invocation() for turn in self._turns)]

    @contextmanager
    def taking(self, turn: Turn, add: Callable[[Event], None]) -> Iterator[None]:
        """The session while the agent takes a turn: tool calls go to `add`, then it is history."""
        self._add, self._turn = add, turn
        self._loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            self._add, self._turn = _unheard, None
            self._turns.append(turn)

    def sub_agent(self, name: str) -> Session:
        """What a sub-agent talks through: the same state, and tool calls with `name` as their author."""
        session = copy.copy(self)
        session._add = lambda event: self._add(
            event if event.author else event.model_copy(update={"author": name})
        )
        return session

    async def call_tool(self, function: Callable[..., Any], /, **args: Any) -> Any:
        """Runs a tool (or its mock), records the call and its response, and returns the result.

        A sync tool runs in a thread. What it raises is recorded as its response and raised on.
        """
        with self._recorded(function, args) as call:
            if call.answer is None:
                if inspect.iscoroutinefunction(function):
                    call.result = await function(**args)
                else:
                    call.result = await in_thread(lambda: function(**args))
                    if inspect.isawaitable(call.result):
                        call.result = await call.result
        return call.result

    def call_tool_sync(self, function: Callable[..., Any], /, **args: Any) -> Any:
        """`call_tool` for sync agents and sync tools."""
        with self._recorded(function, args) as call:
            if call.answer is None:
                if inspect.iscoroutinefunction(function):
                    raise TypeError(f"`{_tool_name(function)}` is async: use `await session.call_tool(...)`")
                call.result = function(**args)
        return call.result

    def model_call(self) -> ModelCall:
        """Holds a model call to `--rpm` and `--tpm`, and back while an endpoint is left alone (429).

            async with session.model_call() as call:
                response = await client.responses.create(...)
                call.tokens = response.usage.total_tokens

        Sync agents write `with`. What it has to wait is not counted as the agent's time.
        """
        return ModelCall(self._calls, self._loop)

    @contextmanager
    def _recorded(self, function: Callable[..., Any], args: dict[str, Any]) -> Iterator[_Call]:
        """A call under way: recorded when it begins, its response or error when it ends."""
        call_id, name = clock.new_id(), _tool_name(function)
        call = FunctionCall(id=call_id, name=name, args=serde.plain(args))
        self._add(Event(content=Content(role="model", parts=[Part(function_call=call)])))
        started = clock.monotonic()
        made = _Call()
        mocked = None
        try:
            made.answer = self._mocks.answer(name, args)
            if made.answer is not None:
                made.result, mocked = made.answer.response, [call_id]
            yield made
        except BaseException as error:
            mocked = [call_id] if isinstance(error, MockedToolError) else mocked
            made.result = {"error": f"{type(error).__name__}: {serde.told(error)}"}
            raise
        finally:
            if self._turn:
                spent = clock.monotonic() - started
                self._turn.tool_seconds = (self._turn.tool_seconds or 0.0) + spent
            result = serde.plain(made.result)
            response = FunctionResponse(
                id=call_id,
                name=name,
                response=result if isinstance(result, dict) else {"result": result},
            )
            content = Content(role="user", parts=[Part(function_response=response)])
            self._add(Event(content=content, mocked=mocked))


@dataclass(slots=True)
class _Call:
    """A tool call under way."""

    answer: Answer | None = None
    """Of a mock; None if the tool is to run."""
    result: Any = None


class ModelCall:
    """A model call that waits for its turn."""

    def __init__(self, calls: RunTraffic, loop: asyncio.AbstractEventLoop | None) -> None:
        self._calls = calls
        self._loop = loop
        self._booked = 0.0
        self.tokens = 0
        """What it took, once that is known."""

    async def __aenter__(self) -> Self:
        self._booked = await self._calls.before_call(None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._calls.after_call(None, self._booked, self.tokens)

    def __enter__(self) -> Self:
        return self._in_loop(self.__aenter__())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._in_loop(self.__aexit__(kind, error, trace))

    def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for it in the thread of a sync agent.

        Raises:
            TypeError: it is called from where nothing may block, or outside of a turn.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            if self._loop:
                return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        work.close()
        raise TypeError("in async agents it is `async with session.model_call()`, within a turn")


def _tool_name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


class PythonAgent:
    """An agent made of a plain Python callable."""

    kind = "python"

    def __init__(self, name: str, make: Make) -> None:
        """Takes the agent's name, and what gives the callable of one session."""
        self.name = name
        self._make = make

    async def open(self, request: SessionRequest) -> PythonSession:
        """A session with its own state, and its own agent if the agent comes from a factory."""
        return PythonSession(self.name, await self._make(), Session(request))

    async def details(self) -> AppDetails | None:
        """What the callable's attributes say."""
        made = await self._make()
        try:
            return _app_details(self.name, made.agent)
        finally:
            await made.close()

    async def aclose(self) -> None:
        """Nothing is kept."""


_END = object()


class PythonSession:
    """One conversation with a callable."""

    def __init__(self, name: str, made: Made, session: Session) -> None:
        self._name = name
        self._made = made
        self._target: PythonCallable = made.agent
        self._session = session
        self._app_details = _app_details(name, made.agent)

    @property
    def state(self) -> dict[str, Any]:
        """The state as the agent left it."""
        return self._session.state

    async def send(self, turn: Turn) -> None:
        """Calls the agent with the turn's message."""
        turn.app_details = self._app_details

        def add(event: Event) -> None:
            turn.add(event if event.author else event.model_copy(update={"author": self._name}))

        with self._session.taking(turn, add):
            message = turn.message.model_copy(deep=True)  # what the agent does to it is not what was said
            async for output in _outputs(self._target, message, self._session):
                if output is not None:
                    add(as_event(output))

    async def close(self) -> None:
        """Closes what came with an agent that was made for this run."""
        await self._made.close()


async def _outputs(target: PythonCallable, message: Content, session: Session) -> AsyncIterator[Any]:
    """What a callable of any kind gives, one by one."""
    call = target if inspect.isroutine(target) else type(target).__call__.__get__(target)
    if inspect.isasyncgenfunction(call):
        async for output in call(message, session):
            yield output
        return
    if inspect.iscoroutinefunction(call):
        result = await call(message, session)
    else:
        result = await in_thread(lambda: call(message, session))
    if inspect.isawaitable(result):
        result = await result
    if inspect.isasyncgen(result):
        async for output in result:
            yield output
    elif isinstance(result, Iterator):
        while (output := await in_thread(lambda: next(result, _END))) is not _END:
            yield output
    else:
        yield result


def as_event(output: Any) -> Event:
    """Text, a `Content` or an `Event` as an event.

    Raises:
        TypeError: anything else.
    """
    if isinstance(output, str):
        output = Content(role="model", parts=[Part(text=output)])
    if isinstance(output, Content):
        output = Event(content=output)
    if isinstance(output, Event):
        return output
    raise TypeError(f"an agent gives text, Content or Event, not {type(output).__name__}")


def _app_details(name: str, target: Any) -> AppDetails | None:
    """Instructions and tools of an agent that shows them, for judges."""
    instruction, tools = getattr(target, "instruction", None), getattr(target, "tools", None)
    if not isinstance(instruction, str) and not tools:
        return None
    details = AgentDetails(
        name=name,
        instructions=instruction if isinstance(instruction, str) else "",
        tool_declarations=[
            {
                "name": _tool_name(tool),
                "description": inspect.getdoc(tool) or "",
                "parameters": {
                    parameter: _annotation(details.annotation)
                    for parameter, details in inspect.signature(tool).parameters.items()
                },
            }
            for tool in tools or ()
            if callable(tool)
        ],
    )
    return AppDetails(agent_details={name: details})


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "Any"
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
