"""Agents that the user's code makes: for each run anew or once for all, and what is closed with them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agent_eval.agents.base import Agent, AgentSession, SessionRequest
from agent_eval.schema.trace import AppDetails

CLOSE_SECONDS = 5.0
"""What an agent holds may take so long to be closed, each part of it."""

logger = logging.getLogger(__name__)


async def close_quietly(what: str, close: Callable[[], Awaitable[object]]) -> None:
    """Closes something of an agent's, in this task. That it fails or takes long changes no run."""
    task = asyncio.current_task()
    cancelled = task.cancelling() if task else 0
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await close()
    except asyncio.CancelledError as error:
        if task and task.cancelling() > cancelled:
            raise
        logger.warning("%s could not be closed: %r", what, error)
    except Exception as error:
        logger.warning("%s could not be closed: %r", what, error)


@dataclass(frozen=True, slots=True)
class Made:
    """An agent for a run, and what is to be closed when the run ends."""

    agent: Any
    exit_stack: Any = None
    """What a factory gave with it, in the form `(agent, exit_stack)`."""

    async def close(self) -> None:
        """Closes the exit stack, in the task that made the agent: it may hold cancel scopes of that task."""
        if self.exit_stack is not None:
            await close_quietly("the agent's exit stack", self._leave)

    async def _leave(self) -> None:
        close = getattr(self.exit_stack, "aclose", None) or self.exit_stack.close
        closing = close()
        if inspect.isawaitable(closing):
            await closing


Make = Callable[[], Awaitable[Made]]
"""Gives the agent of one run."""


def given(agent: Any) -> Make:
    """Makes nothing: the same agent for all runs, which is not ours to close."""

    async def make() -> Made:
        return Made(agent)

    return make


def fresh(factory: Callable[[], Any]) -> Make:
    """Calls a factory for each run; it may be async, and may give `(agent, exit_stack)`."""

    async def make() -> Made:
        built = factory()
        if inspect.isawaitable(built):
            built = await built
        return Made(*built[:2]) if isinstance(built, tuple) else Made(built)

    return make


class Once:
    """Calls a factory for the first run, and gives all runs what it made.

    A task of its own makes and closes that, so that cancel scopes are left in the task they were entered in.
    """

    def __init__(self, make: Make) -> None:
        self._make = make
        self._keeper: asyncio.Task[None] | None = None
        self._made: asyncio.Future[Made]
        self._over: asyncio.Event

    async def __call__(self) -> Made:
        """The agent.

        Raises:
            Exception: whatever the factory raises; it is called again for the next run.
        """
        if self._keeper is None or self._keeper.done():
            self._made, self._over = asyncio.get_running_loop().create_future(), asyncio.Event()
            self._keeper = asyncio.create_task(self._keep(self._made, self._over))
        made = await asyncio.shield(self._made)
        return Made(made.agent)

    async def _keep(self, made: asyncio.Future[Made], over: asyncio.Event) -> None:
        try:
            kept = await self._make()
        except asyncio.CancelledError:
            made.cancel()
            raise
        except BaseException as error:  # the runs' affair
            made.set_exception(error)
            return
        made.set_result(kept)
        try:
            await over.wait()
        finally:
            await kept.close()

    async def aclose(self) -> None:
        """Closes what was made."""
        if self._keeper and not self._keeper.done():
            self._over.set()
            await asyncio.wait([self._keeper])


class MadeAgent:
    """The agent of a factory. Of which kind it is shows in the first that the factory makes."""

    def __init__(self, name: str, make: Make | Once, adapter: Callable[[Make, Any], Agent]) -> None:
        """Takes what makes agents, and what gives the adapter for those by an example."""
        self.name = name
        self._make = make
        self._adapter = adapter
        self._agent: Agent | None = None
        self._deciding = asyncio.Lock()
        self._example: tuple[asyncio.Task[Any] | None, Made] | None = None
        """The first that was made, for the run in whose task that was."""

    @property
    def kind(self) -> str:
        """That of the agents made; unknown before the first."""
        return self._agent.kind if self._agent else "unknown"

    async def open(self, request: SessionRequest) -> AgentSession:
        """A session with an agent from the factory.

        Raises:
            Exception: whatever the factory raises.
        """
        try:
            return await (await self._decided()).open(request)
        finally:
            await self._drop()

    async def details(self) -> AppDetails | None:
        """What an agent from the factory shows.

        Raises:
            Exception: whatever the factory raises.
        """
        try:
            return await (await self._decided()).details()
        finally:
            await self._drop()

    async def aclose(self) -> None:
        """Closes what runs have shared."""
        if self._agent:
            await self._agent.aclose()
        if isinstance(self._make, Once):
            await self._make.aclose()

    async def _decided(self) -> Agent:
        async with self._deciding:
            if self._agent is None:
                made = await self._make()
                self._example = (asyncio.current_task(), made)
                self._agent = self._adapter(self._next, made.agent)
        return self._agent

    async def _next(self) -> Made:
        return self._taken() or await self._make()

    def _taken(self) -> Made | None:
        """The example, if this task has made it and nobody has taken it."""
        if self._example is None or self._example[0] is not asyncio.current_task():
            return None
        made, self._example = self._example[1], None
        return made

    async def _drop(self) -> None:
        """Closes an example that came to nothing, as the run failed before it took it."""
        if made := self._taken():
            await made.close()
