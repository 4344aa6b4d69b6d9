"""Calls of the user's code that can stall nothing: what blocks, blocks another thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any

from agent_eval.threads import in_thread

RESPONSE = 0.2
"""Seconds after which a loop that does not answer is taken to be blocked."""


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives.

    A sync one runs in a thread, with an event loop for what it returns. Async ones share a loop of
    their own, so that one that blocks stalls no run, and clients that they keep stay usable.
    """
    if is_async(function):
        return await _LOOP.run(lambda: function(*arguments))

    async def in_its_own_loop() -> Any:
        result = function(*arguments)
        return await result if inspect.isawaitable(result) else result

    return await in_thread(lambda: asyncio.run(in_its_own_loop()))


class _Loop:
    """An event loop in a daemon thread, started at the first call and left when it is blocked."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._suspect = False

    async def run(self, function: Callable[[], Awaitable[Any]]) -> Any:
        """What a coroutine gives; its exception is raised here, whatever it is."""
        if self._loop is None or (self._suspect and not await self._answers(self._loop)):
            self._loop = _started()
        self._suspect = False
        value, error = await self._outcome(self._loop, function)
        if error is not None:
            raise error
        return value

    async def _outcome(
        self, loop: asyncio.AbstractEventLoop, function: Callable[[], Awaitable[Any]]
    ) -> tuple[Any, BaseException | None]:
        waiting = asyncio.get_running_loop()
        done: asyncio.Future[tuple[Any, BaseException | None]] = waiting.create_future()

        def settle(outcome: tuple[Any, BaseException | None]) -> None:
            if not done.done():
                done.set_result(outcome)

        async def work() -> None:
            outcome: tuple[Any, BaseException | None]
            try:
                outcome = await function(), None
            except BaseException as error:  # SystemExit would end the loop; carried over instead
                outcome = None, error
            if not waiting.is_closed():
                waiting.call_soon_threadsafe(settle, outcome)

        task = asyncio.run_coroutine_threadsafe(work(), loop)
        try:
            return await done
        except asyncio.CancelledError:  # it took too long, or the evaluation ends
            task.cancel()
            self._suspect = True
            raise

    async def _answers(self, loop: asyncio.AbstractEventLoop) -> bool:
        waiting = asyncio.get_running_loop()
        answered = asyncio.Event()

        def answer() -> None:
            if not waiting.is_closed():
                waiting.call_soon_threadsafe(answered.set)

        loop.call_soon_threadsafe(answer)
        try:
            await asyncio.wait_for(answered.wait(), RESPONSE)
        except TimeoutError:
            return False
        return True


def _started() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=copy_context().run, args=(loop.run_forever,), daemon=True).start()
    return loop


_LOOP = _Loop()
