"""Runs in worker processes: all cores are used, and what kills a process costs the one run that did it."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import signal
import socket
import tempfile
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path

from agent_eval import clock, serde
from agent_eval.engine.executors.frames import HEADER, Kind, frame
from agent_eval.engine.executors.pool import Flight, Member, Pool, fault_of
from agent_eval.engine.executors.worker import Make, work
from agent_eval.errors import AgentError, Problem
from agent_eval.load.pace import Number
from agent_eval.load.refusals import Refusal
from agent_eval.load.traffic import Traffic
from agent_eval.schema.result import RunRecord
from agent_eval.threads import in_thread

CLOSE_SECONDS = 5.0
"""How long a worker has to give back what it holds."""


@dataclass(slots=True, eq=False, kw_only=True)
class Worker(Member):
    """A worker process."""

    process: SpawnProcess
    writer: asyncio.StreamWriter
    crash_log: Path
    """Where Python writes the stack if a signal kills it."""

    def send(self, kind: Kind, number: int = 0, body: bytes = b"") -> None:
        """Sends a frame, soon."""
        self.writer.write(frame(kind, number, body))


def ending(code: int | None) -> str:
    """How a worker process ended, by its exit code; a negative one is that of a signal."""
    if code is None or code >= 0:
        return f"the run ended its worker process with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    reason = signal.strsignal(-code)
    if name == "SIGKILL":
        reason = "the system does that when memory runs out"
    return f"the run's worker process was killed by {name}" + (f" ({reason})" if reason else "")


class ProcessExecutor(Pool[Worker]):
    """Makes runs in worker processes."""

    KIND = "worker"
    LOOK_SECONDS = 0.5
    GRACE_SECONDS = 5.0
    MOST_DEATHS = 1

    def __init__(self, make: Make, traffic: Traffic, *, workers: int, places: int) -> None:
        """Takes what builds a worker's own executor.

        Args:
            make: is sent to each worker and called there.
            traffic: hears of what endpoints refuse there.
            workers: how many there may be at once.
            places: conversations at once over all workers, one for each at least.
        """
        super().__init__(members=workers, places=places)
        self._make = make
        self._traffic = traffic
        self._context = multiprocessing.get_context("spawn")
        self._logs = tempfile.TemporaryDirectory(prefix="agent-eval-", ignore_cleanup_errors=True)

    async def aclose(self) -> None:
        """Closes the workers; those that have runs under way are ended."""
        self._is_closing = True
        for worker in self._members:
            if worker.flights or not worker.is_ready:
                self._kill(worker)
            else:
                self._close(worker)
        await asyncio.gather(*self._tasks)
        if self._watcher:
            self._watcher.cancel()
        self._logs.cleanup()

    async def _start(self, share: int) -> None:
        """A worker from its start to its end."""
        ours, theirs = socket.socketpair()
        crash_log = Path(self._logs.name) / f"{clock.new_id()}.log"
        process = self._context.Process(target=work, args=(theirs, self._make, crash_log), daemon=True)
        with theirs:
            await in_thread(process.start)  # blocks until the child has taken what it is given
        reader, writer = await asyncio.open_connection(sock=ours)
        worker = Worker(share=share, process=process, writer=writer, crash_log=crash_log)
        self._members.add(worker)
        if self._is_closing:
            self._kill(worker)
        try:
            await self._listen(worker, reader)
        finally:
            writer.close()
        await in_thread(process.join)
        if not worker.is_ready and not self._is_closing:
            told = ending(process.exitcode).replace("the run", "loading the agents", 1)
            raise AgentError(Problem(f"a worker cannot start: {told}"))
        self._bury(worker)

    async def _listen(self, worker: Worker, reader: asyncio.StreamReader) -> None:
        """Takes what a worker sends until it ends.

        Raises:
            AgentEvalError: it cannot load what makes the runs.
            WorkerFaultError: a bug of ours.
        """
        while True:
            try:
                length, kind, number = HEADER.unpack(await reader.readexactly(HEADER.size))
                body = await reader.readexactly(length)
            except (asyncio.IncompleteReadError, OSError):
                return
            worker.shown = clock.monotonic()
            self._hear(worker, Kind(kind), number, body)

    def _hear(self, worker: Worker, kind: Kind, number: int, body: bytes) -> None:
        if kind is Kind.READY:
            self._join(worker)
        elif kind is Kind.PLAYED:
            self._played(worker, number)
        elif kind is Kind.DONE:
            self._done(worker, number, RunRecord.model_validate_json(body))
        elif kind is Kind.UNUSABLE:
            raise AgentError(*(Problem(**problem) for problem in serde.from_json(body)))
        elif kind is Kind.FAULT:
            raise fault_of(body.decode("utf-8", "replace"))
        elif kind is Kind.REFUSED:
            self._refused(worker, body)
        elif kind is Kind.CLOSED:
            self._warnings |= dict.fromkeys(serde.from_json(body))

    def _refused(self, worker: Worker, body: bytes) -> None:
        """What an endpoint refused to one worker, the others need not try."""
        place, seconds = serde.from_json(body)
        self._traffic.refused(Refusal(place, seconds))
        for other in self._members - {worker}:
            if other.is_ready and not other.is_retired:
                other.send(Kind.PAUSE, body=body)

    def _send(self, member: Worker, flight: Flight) -> None:
        member.send(Kind.RUN, flight.number, pickle.dumps(flight.spec))

    def _close(self, member: Worker) -> None:
        member.is_retired = True
        member.send(Kind.CLOSE)
        asyncio.get_running_loop().call_later(CLOSE_SECONDS, member.process.kill)

    def _kill(self, member: Worker) -> None:
        member.process.kill()

    def _ending(self, member: Worker) -> tuple[str, str | None]:
        stack = member.crash_log.read_text(encoding="utf-8", errors="replace")
        return ending(member.process.exitcode), stack or None


def shared_number() -> Number:
    """One for all processes that it is given to when they are started."""
    number: Number = multiprocessing.get_context("spawn").Value("d", 0.0)
    return number


class SharedCount:
    """Counts from 0, over all processes that it was given to when they were started."""

    def __init__(self) -> None:
        self._next = multiprocessing.get_context("spawn").Value("q", 0)

    def __iter__(self) -> SharedCount:
        return self

    def __next__(self) -> int:
        with self._next.get_lock():
            number: int = self._next.value
            self._next.value += 1
            return number
