"""Ctrl-C during an evaluation: once ends it in order, twice at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from agent_eval.errors import ExitCode

if TYPE_CHECKING:
    from agent_eval.cli.output import Output

GIVE_UP_SECONDS = 3.0
"""What is to end at once has so long to do it."""
_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def interrupts(stop: Callable[[], None], out: Output) -> Iterator[None]:
    """Has interrupts end the evaluation that the current task makes.

    The first one calls `stop`: nothing new begins, and what is under way is finished. The second one,
    and a request to terminate, cancels the task; where that takes too long, as an agent blocks the
    event loop, the process ends without it. Every run that had finished is in the journal by then.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    interrupted = 0

    def first() -> None:
        stop()
        out.note("stopping when the runs under way are done; press Ctrl-C again to stop now")

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted += 1
        if interrupted == 1 and number == signal.SIGINT:
            loop.call_soon_threadsafe(first)
        else:
            loop.call_soon_threadsafe(task.cancel)
            last = threading.Timer(GIVE_UP_SECONDS, _end)
            last.daemon = True
            last.start()

    before: dict[int, Any] = {
        one: signal.signal(one, handle)
        for one in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(one) is not signal.SIG_IGN  # as it is in the background of a script
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end() -> None:
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(ExitCode.INTERRUPTED)
