"""The worker's end: makes the runs it is sent, in a process of its own, until it is told to close."""

from __future__ import annotations

import asyncio
import dataclasses
import faulthandler
import logging
import os
import pickle
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from agent_eval import serde
from agent_eval.engine.executors.frames import HEADER, Kind, frame
from agent_eval.engine.executors.local import LocalExecutor
from agent_eval.errors import AgentEvalError
from agent_eval.garbage import collect_less_garbage
from agent_eval.plan import RunSpec

ALIVE_SECONDS = 1.0
"""Between signs of life."""

Make = Callable[[], LocalExecutor]
"""Builds what makes the runs; it is sent to the worker, so it has to be picklable."""


def work(channel: socket.socket, make: Make, crash_log: Path) -> NoReturn:
    """Serves the evaluation at the other end of the channel; the whole life of a worker process.

    Args:
        channel: the connection to the evaluation. When it ends, so does the process.
        make: builds what makes the runs.
        crash_log: where Python writes the stack if a signal kills the process.
    """
    if hasattr(os, "setsid"):
        os.setsid()  # a Ctrl-C in the terminal is for the evaluation, which tells its workers
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # standard output is the report's
    logging.getLogger().addHandler(logging.NullHandler())  # what a library logs of a crash is in the record
    with crash_log.open("w") as log:
        faulthandler.enable(log)
        asyncio.run(_Server(channel).serve(make))
        sys.stderr.flush()
        os._exit(0)  # threads of runs that were given up may never end


class _Server:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._inbox: asyncio.Queue[tuple[int, RunSpec] | None] = asyncio.Queue()
        self._runs: set[asyncio.Task[None]] = set()
        self._pause: Callable[[str, float], None]

    async def serve(self, make: Make) -> None:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop,), daemon=True).start()
        try:
            executor = make()
        except AgentEvalError as error:
            problems = [dataclasses.asdict(problem) for problem in error.problems]
            self._send(Kind.UNUSABLE, body=serde.to_json(problems))
            return
        except Exception:
            self._send(Kind.FAULT, body=traceback.format_exc().encode("utf-8", "replace"))
            return
        executor.traffic.listeners.append(self._tell_refused)
        self._pause = executor.traffic.pauses.hold
        collect_less_garbage()
        self._send(Kind.READY)
        self._show_life(loop)
        while (due := await self._inbox.get()) is not None:
            task = asyncio.create_task(self._run(executor, *due))
            self._runs.add(task)
            task.add_done_callback(self._runs.discard)
        await executor.aclose()
        self._send(Kind.CLOSED, body=serde.to_json(list(executor.warnings)))

    async def _run(self, executor: LocalExecutor, number: int, spec: RunSpec) -> None:
        try:
            playing = await executor.play(spec)
            self._send(Kind.PLAYED, number)
            record = await executor.score(playing)
            self._send(Kind.DONE, number, serde.model_to_json(record, compact=True))
        except Exception:
            self._send(Kind.FAULT, number, traceback.format_exc().encode("utf-8", "replace"))

    def _tell_refused(self, place: str, seconds: float, is_new: bool) -> None:
        self._send(Kind.REFUSED, body=serde.to_json([place, seconds]))

    def _show_life(self, loop: asyncio.AbstractEventLoop) -> None:
        self._send(Kind.ALIVE)
        loop.call_later(ALIVE_SECONDS, self._show_life, loop)

    def _send(self, kind: Kind, number: int = 0, body: bytes = b"") -> None:
        try:
            self._channel.sendall(frame(kind, number, body))
        except OSError:
            os._exit(1)  # the evaluation is gone

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread, so that the end of the evaluation is noticed however an agent blocks the loop."""
        try:
            with self._channel.makefile("rb") as incoming:
                while len(header := incoming.read(HEADER.size)) == HEADER.size:
                    length, kind, number = HEADER.unpack(header)
                    body = incoming.read(length)
                    if kind == Kind.PAUSE:
                        loop.call_soon_threadsafe(self._pause, *serde.from_json(body))
                    else:
                        due = (number, pickle.loads(body)) if kind == Kind.RUN else None
                        loop.call_soon_threadsafe(self._inbox.put_nowait, due)
        finally:
            os._exit(1)
