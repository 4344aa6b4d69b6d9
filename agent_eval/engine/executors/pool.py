"""Runs shared out among the members of a pool, be they worker processes or actors of a cluster.

A member plays its share of the runs at once. When it dies, nobody can tell which of them did it, so
each of them is made again with a member to itself; the one that ends that too is the one.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar

from agent_eval import clock
from agent_eval.engine.run import RunTimeoutError, lost
from agent_eval.plan import RunSpec
from agent_eval.schema.result import ErrorInfo, FailedAttempt, RunRecord


class WorkerDiedError(Exception):
    """A run ended the process that made it."""


class WorkerFaultError(Exception):
    """A bug of ours where a run was made; the note has its traceback."""


@dataclass(slots=True, eq=False)
class Death:
    """The end of a member that had several runs under way."""

    told: str
    suspects: int
    """Those that have not been made again yet."""
    is_solved: bool = False
    """One of them did it again."""


@dataclass(slots=True, eq=False)
class Flight:
    """A run on its way through a member."""

    number: int
    spec: RunSpec
    played: asyncio.Future[None]
    record: asyncio.Future[RunRecord]
    started: float = 0.0
    """Of this attempt, in seconds since the epoch."""
    sent: float = 0.0
    """The same on the clock for durations."""
    failed: list[FailedAttempt] = field(default_factory=list)
    """The attempts that ended their member."""
    deaths: int = 0
    """Members that ended in this attempt while they had nothing else."""
    lost_nodes: int = 0
    """Machines that went away under it."""
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
class Member:
    """A member as the evaluation sees it."""

    share: int
    """Conversations it has at once."""
    shown: float = field(default_factory=clock.monotonic)
    """When it last showed a sign of life."""
    is_ready: bool = False
    is_retired: bool = False
    """It gets no more runs."""
    is_alone: bool = False
    """It makes a suspect, and nothing beside it."""
    is_blocked: bool = False
    """It was ended as its event loop did not turn."""
    flights: dict[int, Flight] = field(default_factory=dict)
    """By their numbers."""
    playing: set[int] = field(default_factory=set)
    """Those whose conversation is not over."""

    @property
    def free(self) -> int:
        """How many runs it could take."""
        return 0 if self.is_retired or self.is_alone else self.share - len(self.playing)

    def is_overdue(self, grace: float) -> bool:
        """Whether it has shown no sign of life for `grace` seconds more than any of its runs may take."""
        limits = [flight.spec.timeout for flight in self.flights.values()]
        longest = max((limit for limit in limits if limit is not None), default=None)
        if longest is None or None in limits:
            return False
        return clock.monotonic() - self.shown > longest + grace


M = TypeVar("M", bound=Member)


class Pool(ABC, Generic[M]):
    """Makes runs in members, which are started as they are needed."""

    KIND: ClassVar[str]
    """What a member is called."""
    LOOK_SECONDS: ClassVar[float]
    """Between looks at signs of life."""
    GRACE_SECONDS: ClassVar[float]
    """How long a member may show none beyond the time that its runs may take."""
    MOST_DEATHS: ClassVar[int]
    """How many members that it has to itself a run ends before it is the one."""

    def __init__(self, *, members: int, places: int) -> None:
        """Takes how many members there may be at once, and how many conversations over all of them."""
        self._shares = [places // members + (index < places % members) for index in range(members)]
        """Of the members that could be started."""
        self._starting: list[int] = []
        """The shares of those that are not ready yet."""
        self._members: set[M] = set()
        self._waiting: deque[Flight] = deque()
        self._suspects: deque[Flight] = deque()
        """Those that were on their way when a member died."""
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._watcher: asyncio.Task[None] | None = None
        self._warnings: dict[str, None] = {}
        self._failure: Exception | None = None
        self._is_closing = False

    @abstractmethod
    async def _start(self, share: int) -> None:
        """Starts a member, which `_join`s when it is ready."""

    @abstractmethod
    def _send(self, member: M, flight: Flight) -> None:
        """Has a member make a run, which is to be told of by `_played` and `_done`."""

    @abstractmethod
    def _close(self, member: M) -> None:
        """Has a member that has nothing to do give back what it holds, and end."""

    @abstractmethod
    def _kill(self, member: M) -> None:
        """Ends a member at once."""

    @abstractmethod
    def _ending(self, member: M) -> tuple[str, str | None]:
        """How a dead member ended, said of `the run` that did it; and the stack of the moment, if any."""

    def _is_excused(self, member: M) -> bool:
        """Whether a member died of something that no run does."""
        return False

    def _look(self) -> None:
        """Done now and then, while there are runs to make."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong without harm to any run."""
        return tuple(self._warnings)

    async def play(self, spec: RunSpec) -> Flight:
        """Has the conversation of one run in one of the members.

        Raises:
            AgentEvalError: members cannot load what makes the runs.
            WorkerFaultError: a bug of ours.
        """
        if self._failure:
            raise self._failure
        loop = asyncio.get_running_loop()
        self._watcher = self._watcher or loop.create_task(self._guarded(self._watch()))
        flight = Flight(next(self._numbers), spec, loop.create_future(), loop.create_future())
        self._waiting.append(flight)
        self._dispatch()
        await flight.played
        return flight

    async def score(self, playing: Flight) -> RunRecord:
        """The record, once the member has sent it.

        Raises:
            Exception: as for `play`.
        """
        return await playing.record

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self._fail(error)

    def _dispatch(self) -> None:
        """Gives runs to members that have room for them, and starts members for those that are left."""
        if self._is_closing:
            return
        ready = [member for member in self._members if member.is_ready]
        for member in ready:
            if self._suspects and not member.flights and not member.is_retired:
                member.is_alone = True
                self._give(member, self._suspects.popleft())
        while self._waiting and ready and (freest := max(ready, key=lambda member: member.free)).free > 0:
            self._give(freest, self._waiting.popleft())
        while self._shares and len(self._waiting) + len(self._suspects) > sum(self._starting):
            share = self._shares.pop(0)
            self._starting.append(share)
            self._spawn(self._start(share))

    def _give(self, member: M, flight: Flight) -> None:
        if not member.flights:
            member.shown = clock.monotonic()  # until now it had nothing to be late with
        flight.started, flight.sent = clock.now(), clock.monotonic()
        member.flights[flight.number] = flight
        member.playing.add(flight.number)
        self._send(member, flight)

    def _join(self, member: M) -> None:
        """A member is ready."""
        member.is_ready = True
        self._members.add(member)
        self._starting.remove(member.share)
        self._dispatch()

    def _played(self, member: M, number: int) -> None:
        """The conversation of a run is over."""
        member.playing.discard(number)
        member.flights[number].is_played()
        self._dispatch()

    def _done(self, member: M, number: int, record: RunRecord) -> None:
        """A run has its record."""
        member.playing.discard(number)
        flight = member.flights.pop(number)
        flight.end(record)
        self._cleared(flight)
        member.is_alone = False
        if _was_given_up(record) and not member.is_retired:
            member.is_retired = True  # what the run waited for may still be under way, and take its time
            self._shares.append(member.share)
        if member.is_retired and not member.flights:
            self._close(member)
        self._dispatch()

    def _bury(self, member: M) -> None:
        """Takes note of a member's end: what it was making is made again, or lost if it was one run alone."""
        self._members.discard(member)
        if not member.is_retired:
            self._shares.append(member.share)
        flights = [flight for flight in member.flights.values() if not flight.record.done()]
        if flights and self._is_excused(member):
            self._waiting.extendleft(flights)
        elif len(flights) == 1:
            self._ended_by(flights[0], member)
        elif flights:
            death = Death(self._ending(member)[0], len(flights))
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

    def _ended_by(self, flight: Flight, member: M) -> None:
        """A member died while it had this run alone."""
        flight.deaths += 1
        if flight.deaths < self.MOST_DEATHS and not member.is_blocked:
            self._suspects.append(flight)
            return
        if flight.death:
            flight.death.is_solved = True
        error = self._blocked(flight) if member.is_blocked else self._error(member)
        seconds = round(clock.monotonic() - flight.sent, 4)
        if len(flight.failed) < flight.spec.retries:
            flight.deaths = 0
            started = clock.timestamp(flight.started)
            flight.failed.append(FailedAttempt(started=started, seconds=seconds, error=error))
            self._suspects.append(flight)
        else:
            flight.end(lost(flight.spec, error, flight.started, seconds))

    def _blocked(self, flight: Flight) -> ErrorInfo:
        message = (
            f"the run took longer than {flight.spec.timeout:g} s (--timeout) "
            f"and blocked its {self.KIND}, which was killed"
        )
        return ErrorInfo(type=RunTimeoutError.__name__, message=message)

    def _error(self, member: M) -> ErrorInfo:
        message, stack = self._ending(member)
        return ErrorInfo(type=WorkerDiedError.__name__, message=message, traceback=stack)

    async def _watch(self) -> None:
        """Ends members whose event loop has stopped."""
        while True:
            await asyncio.sleep(self.LOOK_SECONDS)
            for member in self._members:
                if member.is_ready and member.is_overdue(self.GRACE_SECONDS):
                    member.is_blocked = True
                    self._kill(member)
            self._look()

    def _fail(self, error: Exception) -> None:
        """Nothing more can be made."""
        self._failure = self._failure or error
        flying = [flight for member in self._members for flight in member.flights.values()]
        for flight in (*self._waiting, *self._suspects, *flying):
            flight.give_up(self._failure)
        self._waiting.clear()
        self._suspects.clear()


def _was_given_up(record: RunRecord) -> bool:
    """Whether what a run waited for may still be under way."""
    errors = [*(attempt.error for attempt in record.failed_attempts), record.error]
    return any(error is not None and error.type == RunTimeoutError.__name__ for error in errors)


def fault_of(text: str) -> WorkerFaultError:
    """A bug of ours from the traceback that a member sent."""
    error = WorkerFaultError(text.strip().splitlines()[-1])
    error.add_note(text)
    return error
