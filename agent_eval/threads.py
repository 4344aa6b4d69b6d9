"""Blocking code off the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any


async def in_thread(function: Callable[[], Any]) -> Any:
    """The function's result, from a daemon thread: one that hangs keeps nobody waiting, not even exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(set_outcome: Callable[[Any], None], outcome: Any) -> None:
        if not done.done():
            set_outcome(outcome)

    def work() -> None:
        try:
            outcome, set_outcome = function(), done.set_result
        except BaseException as error:  # carried over to the task that waits
            outcome, set_outcome = _carried(error), done.set_exception
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, set_outcome, outcome)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return await done


def _carried(error: BaseException) -> BaseException:
    """A future cannot hold StopIteration; everything else crosses as it is."""
    return RuntimeError(f"StopIteration: {error}") if isinstance(error, StopIteration) else error
