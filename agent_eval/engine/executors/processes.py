"""Runs in worker processes: all cores are used, and what kills a process costs the one run that did it.

A worker plays its share of the runs at once. When it dies, nobody can tell which of them did it, so
each of them is made again with a worker to itself; the one that kills that too is the one.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import signal
import socket
import tempfile
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.context import SpawnProcess
from pathlib import Path

from agent_eval import clock, serde
from agent_eval.engine.executors.frames import HEADER, Kind, frame
from agent_eval.engine.executors.worker import Make, work
from agent_eval.engine.run import RunTimeoutError, lost
from agent_eval.errors import AgentError, Problem
from agent_eval.load.pace import Number
from agent_eval.load.refusals import Refusal
from agent_eval.load.traffic import Traffic
from agent_eval.plan import RunSpec
from agent_eval.schema.result import ErrorInfo, FailedAttempt, RunRecord
from agent_eval.threads import in_thread

GRACE_SECONDS = 5.0
"""How long a worker may show no sign of life beyond the time that its runs may take."""
LOOK_SECONDS = 0.5
"""Between looks at the signs of life."""
CLOSE_SECONDS = 5.0
"""How long a worker has to give back what it holds."""


class WorkerDiedError(Exception):
    """A run killed the process that made it."""


class WorkerFaultError(Exception):
    """A bug of ours in a worker process; the message has its traceback."""


@dataclass(slots=True, eq=False)
class Death:
    """The end of a worker that had several runs under way."""

    told: str
    suspects: int
    """Those that have not been made again yet."""
    is_solved: bool = False
    """One of them did it again."""


@dataclass(slots=True, eq=False)
class Flight:
    """A run on its way through a worker."""

    number: int
    spec: RunSpec
    played: asyncio.Future[None]
    record: asyncio.Future[RunRecord]
    started: float = 0.0
    """Of this attempt, in seconds since the epoch."""
    sent: float = 0.0
    """The same on the clock for durations."""
    failed: list[FailedAttempt] = field(default_factory=list)
    """The attempts that killed their worker."""
    death: Death | None = None
    """What it may have done."""

    def is_played(self) -> None:
        """The conversation is over."""
        if not self.played.done():
            self.played.set_result(None)

    def end(self, record: RunRecord) -> None:
        """The record is there."""
        if self.failed:
            record = record.model_copy(update={"failed_attempts": [*self.failed, *record.failed_attempts]})
        self.is_played()
        if not self.record.done():
            self.record.set_result(record)

    def give_up(self, error: Exception) -> None:
        """There will be none."""
        for future in (self.played, self.record):
            if not future.done():
                future.set_exception(error)
                future.exception()  # nobody may be waiting for this one any more


@dataclass(slots=True, eq=False)
class Worker:
    """A worker process as the evaluation sees it."""

    process: SpawnProcess
    writer: asyncio.StreamWriter
    crash_log: Path
    share: int
    """Conversations it has at once."""
    shown: float
    """When it last showed a sign of life."""
    is_ready: bool = False
    is_retired: bool = False
    """It gets no more runs."""
    is_alone: bool = False
    """It makes a suspect, and nothing beside it."""
    is_blocked: bool = False
    """It was killed as its event loop did not turn."""
    flights: dict[int, Flight] = field(default_factory=dict)
    playing: set[int] = field(default_factory=set)
    """The numbers of those whose conversation is not over."""

    @property
    def free(self) -> int:
        """How many runs it could take."""
        return 0 if self.is_retired or self.is_alone else self.share - len(self.playing)

    def send(self, kind: Kind, number: int = 0, body: bytes = b"") -> None:
        """Sends a frame, soon."""
        self.writer.write(frame(kind, number, body))

    def take(self, flight: Flight) -> None:
        """Sends it a run."""
        if not self.flights:
            self.shown = clock.monotonic()  # until now it had nothing to be late with
        flight.started, flight.sent = clock.now(), clock.monotonic()
        self.flights[flight.number] = flight
        self.playing.add(flight.number)
        self.send(Kind.RUN, flight.number, pickle.dumps(flight.spec))

    def close(self) -> None:
        """Asks it to give back what it holds, and ends it if that takes too long."""
        self.is_retired = True
        self.send(Kind.CLOSE)
        asyncio.get_running_loop().call_later(CLOSE_SECONDS, self.process.kill)

    def is_overdue(self) -> bool:
        """Whether it has shown no sign of life for longer than any of its runs may take."""
        limits = [flight.spec.timeout for flight in self.flights.values()]
        longest = max((limit for limit in limits if limit is not None), default=None)
        if longest is None or None in limits:
            return False
        return clock.monotonic() - self.shown > longest + GRACE_SECONDS

    def death(self, flight: Flight) -> ErrorInfo:
        """How the process ended, as the error of the run that did it."""
        if self.is_blocked:
            return ErrorInfo(
                type=RunTimeoutError.__name__,
                message=f"the run took longer than {flight.spec.timeout:g} s (--timeout) "
                "and blocked its worker, which was killed",
            )
        stack = self.crash_log.read_text(encoding="utf-8", errors="replace")
        message = ending(self.process.exitcode)
        return ErrorInfo(type=WorkerDiedError.__name__, message=message, traceback=stack or None)


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


class ProcessExecutor:
    """Makes runs in worker processes, which are started as they are needed."""

    def __init__(self, make: Make, traffic: Traffic, *, workers: int, places: int) -> None:
        """Takes what builds a worker's own executor.

        Args:
            make: is sent to each worker and called there.
            traffic: hears of what endpoints refuse there.
            workers: how many there may be at once.
            places: conversations at once over all workers, one for each at least.
        """
        self._traffic = traffic
        self._make = make
        self._context = multiprocessing.get_context("spawn")
        self._shares = [places // workers + (index < places % workers) for index in range(workers)]
        """Of the workers that could be started."""
        self._starting: list[int] = []
        """The shares of those that are not ready yet."""
        self._workers: set[Worker] = set()
        self._waiting: deque[Flight] = deque()
        self._suspects: deque[Flight] = deque()
        """Those that were on their way when a worker died."""
        self._numbers = count(1)
        self._lives: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None
        self._warnings: dict[str, None] = {}
        self._failure: Exception | None = None
        self._is_closing = False
        self._logs = tempfile.TemporaryDirectory(prefix="agent-eval-", ignore_cleanup_errors=True)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong in workers without harm to any run."""
        return tuple(self._warnings)

    async def play(self, spec: RunSpec) -> Flight:
        """Has the conversation of one run in one of the workers.

        Raises:
            AgentEvalError: workers cannot load what makes the runs.
            WorkerFaultError: a bug of ours.
        """
        if self._failure:
            raise self._failure
        loop = asyncio.get_running_loop()
        self._watch = self._watch or loop.create_task(self._end_blocked())
        flight = Flight(next(self._numbers), spec, loop.create_future(), loop.create_future())
        self._waiting.append(flight)
        self._dispatch()
        await flight.played
        return flight

    async def score(self, playing: Flight) -> RunRecord:
        """The record, once the worker has sent it.

        Raises:
            Exception: as for `play`.
        """
        return await playing.record

    async def aclose(self) -> None:
        """Closes the workers; those that have runs under way are ended."""
        self._is_closing = True
        for worker in self._workers:
            if worker.flights or not worker.is_ready:
                worker.process.kill()
            else:
                worker.close()
        await asyncio.gather(*self._lives)
        if self._watch:
            self._watch.cancel()
        self._logs.cleanup()

    def _dispatch(self) -> None:
        """Gives runs to workers that have room for them, and starts workers for those that are left."""
        if self._is_closing:
            return
        ready = [worker for worker in self._workers if worker.is_ready]
        for worker in ready:
            if self._suspects and not worker.flights and not worker.is_retired:
                worker.is_alone = True
                worker.take(self._suspects.popleft())
        while self._waiting and ready and (freest := max(ready, key=lambda worker: worker.free)).free > 0:
            freest.take(self._waiting.popleft())
        while self._shares and len(self._waiting) + len(self._suspects) > sum(self._starting):
            share = self._shares.pop(0)
            self._starting.append(share)
            life = asyncio.create_task(self._life(share))
            self._lives.add(life)
            life.add_done_callback(self._lives.discard)

    async def _life(self, share: int) -> None:
        """A worker from its start to its end."""
        try:
            ours, theirs = socket.socketpair()
            crash_log = Path(self._logs.name) / f"{clock.new_id()}.log"
            process = self._context.Process(target=work, args=(theirs, self._make, crash_log), daemon=True)
            with theirs:
                await in_thread(process.start)  # blocks until the child has taken what it is given
            reader, writer = await asyncio.open_connection(sock=ours)
            worker = Worker(process, writer, crash_log, share, shown=clock.monotonic())
            self._workers.add(worker)
            if self._is_closing:
                process.kill()
            try:
                await self._listen(worker, reader)
            finally:
                writer.close()
            await in_thread(process.join)
            self._bury(worker)
        except Exception as error:
            self._fail(error)

    async def _listen(self, worker: Worker, reader: asyncio.StreamReader) -> None:
        """Takes what a worker sends until it ends."""
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
            worker.is_ready = True
            self._starting.remove(worker.share)
        elif kind is Kind.PLAYED:
            worker.playing.discard(number)
            worker.flights[number].is_played()
        elif kind is Kind.DONE:
            self._done(worker, number, RunRecord.model_validate_json(body))
        elif kind is Kind.UNUSABLE:
            self._fail(AgentError(*(Problem(**problem) for problem in serde.from_json(body))))
        elif kind is Kind.FAULT:
            self._fail(_fault(body.decode("utf-8", "replace")))
        elif kind is Kind.REFUSED:
            self._refused(worker, body)
        elif kind is Kind.CLOSED:
            self._warnings |= dict.fromkeys(serde.from_json(body))
        if kind is not Kind.ALIVE:
            self._dispatch()

    def _refused(self, worker: Worker, body: bytes) -> None:
        """What an endpoint refused to one worker, the others need not try."""
        place, seconds = serde.from_json(body)
        self._traffic.refused(Refusal(place, seconds))
        for other in self._workers - {worker}:
            if other.is_ready and not other.is_retired:
                other.send(Kind.PAUSE, body=body)

    def _done(self, worker: Worker, number: int, record: RunRecord) -> None:
        worker.playing.discard(number)
        flight = worker.flights.pop(number)
        flight.end(record)
        self._cleared(flight)
        worker.is_alone = False
        if _was_given_up(record) and not worker.is_retired:
            worker.is_retired = True  # what the run waited for may still be under way, and take its time
            self._shares.append(worker.share)
        if worker.is_retired and not worker.flights:
            worker.close()

    def _bury(self, worker: Worker) -> None:
        """Takes note of a worker's end: what it was making is made again, or lost if it was one run alone."""
        self._workers.discard(worker)
        if not worker.is_retired:
            self._shares.append(worker.share)
        flights = list(worker.flights.values())
        if not worker.is_ready and not self._is_closing:
            told = ending(worker.process.exitcode).replace("the run", "loading the agents", 1)
            self._fail(AgentError(Problem(f"a worker cannot start: {told}")))
        elif len(flights) == 1:
            self._killed_by(flights[0], worker)
        elif flights:
            death = Death(ending(worker.process.exitcode), len(flights))
            for flight in flights:
                self._cleared(flight)
                flight.death = death
            self._suspects.extend(flights)
        self._dispatch()

    def _cleared(self, flight: Flight) -> None:
        """A suspect did nothing; where nobody did it again, that is said."""
        if death := flight.death:
            flight.death = None
            death.suspects -= 1
            if not (death.suspects or death.is_solved):
                told = death.told.replace("the run", "one of several runs", 1)
                self._warnings[f"{told}; made again alone, none of them did"] = None

    def _killed_by(self, flight: Flight, worker: Worker) -> None:
        error = worker.death(flight)
        if flight.death:
            flight.death.is_solved = True
        seconds = round(clock.monotonic() - flight.sent, 4)
        if len(flight.failed) < flight.spec.retries:
            started = clock.timestamp(flight.started)
            flight.failed.append(FailedAttempt(started=started, seconds=seconds, error=error))
            self._suspects.append(flight)
        else:
            flight.end(lost(flight.spec, error, flight.started, seconds))

    async def _end_blocked(self) -> None:
        """Ends workers whose event loop has stopped."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for worker in self._workers:
                if worker.is_ready and worker.is_overdue():
                    worker.is_blocked = True
                    worker.process.kill()

    def _fail(self, error: Exception) -> None:
        """Nothing more can be made."""
        self._failure = self._failure or error
        flying = [flight for worker in self._workers for flight in worker.flights.values()]
        for flight in (*self._waiting, *self._suspects, *flying):
            flight.give_up(self._failure)
        self._waiting.clear()
        self._suspects.clear()


def _was_given_up(record: RunRecord) -> bool:
    errors = [*(attempt.error for attempt in record.failed_attempts), record.error]
    return any(error is not None and error.type == RunTimeoutError.__name__ for error in errors)


def _fault(text: str) -> WorkerFaultError:
    error = WorkerFaultError(text.strip().splitlines()[-1])
    error.add_note(text)
    return error


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
