"""Runs on a Ray cluster: actors on its nodes make them, and send the records back as JSON.

An actor plays its share of the runs at once. When it dies, each run that it had is made again: where
its node is gone, like any other; else with an actor to itself, since one of them may have done it. A
run that ends two actors that it had to itself is the one.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import pickle
import socket
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from agent_eval import clock, serde
from agent_eval.engine.executors.base import Executor
from agent_eval.engine.executors.processes import Flight, WorkerDiedError, fault_of, was_given_up
from agent_eval.engine.run import RunTimeoutError, lost
from agent_eval.errors import AgentError, AgentEvalError, InputError, Problem
from agent_eval.garbage import collect_less_garbage
from agent_eval.plan import RunSpec
from agent_eval.schema.result import ErrorInfo, FailedAttempt, RunRecord

Make = Callable[[], Executor[Any]]
"""Builds what makes the runs; it is sent to the nodes, so it has to be picklable."""

EXCLUDED = (".git/", ".venv/", "venv/", "node_modules/", "__pycache__/", ".agent_eval/", ".env")
"""What does not travel of a project, besides what its .gitignore and .rayignore name. Variables do, apart."""

GRACE_SECONDS = 10.0
"""How long an actor may show no sign of life beyond the time that its runs may take."""
LOOK_SECONDS = 1.0
"""Between looks at the signs of life."""
CLOSE_SECONDS = 5.0
"""How long an actor has to give back what it holds."""
CONNECT_SECONDS = 20.0
"""How long the cluster may take to answer."""
START_SECONDS = 900.0
"""How long a cluster may have no actor for us: some start nodes first."""
MOST_STARTS = 5
"""How many actors in a row may die before they are ready."""
MOST_DEATHS = 2
"""How many actors a run that has them to itself may end."""
MOST_LOST_NODES = 3
"""From how many lost nodes on a run counts as what may have ended them."""


@dataclass(frozen=True, slots=True)
class Luggage:
    """What travels to the nodes."""

    root: Path
    """The folder with the code."""
    here: str
    """The folder in it that paths are relative to."""
    excluded: tuple[str, ...] = ()
    """What of it stays, besides what always does."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """For the environment. Not by Ray's own means, which log them."""


def connect(address: str | None, luggage: Luggage) -> int:
    """Connects this process to a cluster, and has the code sent there.

    Args:
        address: of the cluster; None for the one that Ray finds by itself, which it starts if there is none.
        luggage: what travels.

    Returns:
        How many CPUs the cluster has.

    Raises:
        InputError: Ray is not installed, or the cluster cannot be used.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing calls home
    os.environ.setdefault("RAY_SCHEDULER_EVENTS", "0")  # the report is ours
    os.environ.setdefault("RAY_COLOR_PREFIX", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # it would warn of that
    os.environ.setdefault("RAY_OVERRIDE_JOB_RUNTIME_ENV", "1")  # in a job of Ray's too, it is our folder
    try:
        import ray
    except ImportError:
        raise InputError(
            Problem("--executor ray needs Ray, here and on the nodes", hint="`pip install 'ray>=2.40'`")
        ) from None
    try:
        address = address or os.environ.get("RAY_ADDRESS") or _running()
        _knock(address)
        with redirect_stdout(sys.stderr):
            ray.init(
                address=address,
                runtime_env={
                    "working_dir": str(luggage.root),
                    "excludes": [*EXCLUDED, *luggage.excluded],
                },
                log_to_driver=False,
                logging_level=logging.CRITICAL,
            )
            return int(ray.cluster_resources().get("CPU", 0))
    except Exception as error:  # whatever Ray raises of an address, a folder or a version
        told = _sentence(str(error)) or type(error).__name__
        where = f"the Ray cluster at {address}" if address else "Ray"
        hint = "name another one with --ray_address; `local` starts one here" if address else None
        raise InputError(Problem(f"cannot use {where}: {told}", hint=hint)) from None


def _running() -> str | None:
    """The cluster of this machine, where Ray keeps its address; it may be gone."""
    file = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")
    return (file.read_text().strip() or None) if file.is_file() else None


def _knock(address: str | None) -> None:
    """Whether anybody is at an address: Ray itself would ask for many minutes.

    Raises:
        OSError: nobody is.
    """
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()


def _sentence(text: str) -> str:
    return text.strip().partition("\n")[0]


class ActorEnd:
    """The actor's end: makes runs on a node. Every method runs on the one event loop that it has."""

    def __init__(self, make: Make, here: str, variables: Mapping[str, str]) -> None:
        os.environ.update(variables)
        os.chdir(here)  # Ray has changed to the folder that was sent
        logging.getLogger().addHandler(
            logging.NullHandler()
        )  # what a library logs of a crash is in the record
        self._make = make
        self._executor: Executor[Any]
        self._playing: dict[int, Any] = {}

    async def open(self) -> tuple[str, list[dict[str, Any]]]:
        """Loads what makes the runs: the node's id, and why it cannot, if it cannot."""
        import ray

        try:
            self._executor = self._make()
        except AgentEvalError as error:
            return "", [dataclasses.asdict(problem) for problem in error.problems]
        collect_less_garbage()
        return ray.get_runtime_context().get_node_id(), []

    async def play(self, number: int, spec: bytes) -> None:
        """Has the conversation of a run."""
        self._playing[number] = await self._executor.play(pickle.loads(spec))

    async def score(self, number: int) -> bytes:
        """The record of a run that was played, as JSON."""
        record = await self._executor.score(self._playing.pop(number))
        return serde.model_to_json(record, compact=True)

    async def alive(self) -> None:
        """A sign of life."""

    async def close(self) -> list[str]:
        """Gives back what it holds; what went wrong without harm to any run."""
        await self._executor.aclose()
        return list(self._executor.warnings)


@dataclass(slots=True, eq=False)
class RayFlight(Flight):
    """A run on its way through an actor."""

    deaths: int = 0
    """Actors that ended in this attempt while they had nothing else."""
    lost_nodes: int = 0


@dataclass(slots=True, eq=False)
class Actor:
    """An actor as the evaluation sees it."""

    handle: Any
    share: int
    """Conversations it has at once."""
    node: str
    shown: float
    """When it last showed a sign of life."""
    is_retired: bool = False
    """It gets no more runs."""
    is_alone: bool = False
    """It makes a suspect, and nothing beside it."""
    is_blocked: bool = False
    """It was killed as its event loop did not turn."""
    is_asked: bool = False
    """For a sign of life."""
    flights: set[RayFlight] = field(default_factory=set)
    playing: set[RayFlight] = field(default_factory=set)
    """Those whose conversation is not over."""

    @property
    def free(self) -> int:
        """How many runs it could take."""
        return 0 if self.is_retired or self.is_alone else self.share - len(self.playing)

    def is_overdue(self) -> bool:
        """Whether it has shown no sign of life for longer than any of its runs may take."""
        limits = [flight.spec.timeout for flight in self.flights]
        longest = max((limit for limit in limits if limit is not None), default=None)
        if longest is None or None in limits:
            return False
        return clock.monotonic() - self.shown > longest + GRACE_SECONDS


class RayExecutor:
    """Makes runs in actors, which are started as they are needed."""

    def __init__(self, make: Make, *, actors: int, places: int, luggage: Luggage):
        """Takes what builds an actor's own executor; this process is connected to the cluster.

        Args:
            make: is sent to each actor and called there.
            actors: how many there may be at once.
            places: conversations at once over all actors, one for each at least.
            luggage: what has travelled.
        """
        import ray

        self._ray = ray
        self._places = places
        self._class = ray.remote(ActorEnd)
        self._given = (ray.put(make), luggage.here, dict(luggage.variables))
        self._shares = [self._places // actors + (index < self._places % actors) for index in range(actors)]
        """Of the actors that could be started."""
        self._starting: list[int] = []
        """The shares of those that are not ready yet."""
        self._pending: set[Any] = set()
        """Their handles."""
        self._starts = 0
        """Actors in a row that died before they were ready."""
        self._actors: set[Actor] = set()
        self._waiting: deque[RayFlight] = deque()
        self._suspects: deque[RayFlight] = deque()
        """Those that were on their way when an actor died."""
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._had_actors = 0.0
        self._warnings: dict[str, None] = {}
        self._failure: Exception | None = None
        self._is_closing = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong in actors without harm to any run."""
        return tuple(self._warnings)

    async def play(self, spec: RunSpec) -> RayFlight:
        """Has the conversation of one run on one of the nodes.

        Raises:
            AgentEvalError: nodes cannot load what makes the runs, or have no room for it.
            WorkerFaultError: a bug of ours.
        """
        if self._failure:
            raise self._failure
        loop = asyncio.get_running_loop()
        if not self._had_actors:
            self._had_actors = clock.monotonic()
            self._spawn(self._watch())
        flight = RayFlight(next(self._numbers), spec, loop.create_future(), loop.create_future())
        self._waiting.append(flight)
        self._dispatch()
        await flight.played
        return flight

    async def score(self, playing: RayFlight) -> RunRecord:
        """The record, once the actor has sent it.

        Raises:
            Exception: as for `play`.
        """
        return await playing.record

    async def aclose(self) -> None:
        """Closes the actors, those that have runs under way at once, and leaves the cluster."""
        self._is_closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(self._close(actor) for actor in self._actors if not actor.flights))
        for handle in (*self._pending, *(actor.handle for actor in self._actors)):
            self._kill(handle)
        self._ray.shutdown()

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
        """Gives runs to actors that have room for them, and starts actors for those that are left."""
        if self._is_closing:
            return
        for actor in self._actors:
            if self._suspects and not actor.flights and not actor.is_retired:
                actor.is_alone = True
                self._send(actor, self._suspects.popleft())
        actors = self._actors
        while self._waiting and actors and (freest := max(actors, key=lambda actor: actor.free)).free > 0:
            self._send(freest, self._waiting.popleft())
        while self._shares and len(self._waiting) + len(self._suspects) > sum(self._starting):
            share = self._shares.pop(0)
            self._starting.append(share)
            self._spawn(self._start(share))

    def _send(self, actor: Actor, flight: RayFlight) -> None:
        if not actor.flights:
            actor.shown = clock.monotonic()  # until now it had nothing to be late with
        flight.started, flight.sent = clock.now(), clock.monotonic()
        actor.flights.add(flight)
        actor.playing.add(flight)
        self._spawn(self._fly(actor, flight))

    async def _start(self, share: int) -> None:
        """An actor, from the wish for it until it is ready."""
        handle = self._class.options(
            num_cpus=1, scheduling_strategy="SPREAD", max_concurrency=2 * self._places + 2
        ).remote(*self._given)
        self._pending.add(handle)
        try:
            node, problems = await handle.open.remote()
        except self._ray.exceptions.RayError as error:
            self._starts += 1
            if isinstance(error, self._ray.exceptions.RayTaskError):
                raise fault_of(str(error)) from None
            if _is_for_good(error) or (self._starts >= MOST_STARTS and not self._actors):
                hint = "agent-eval and what the agents need has to be installed on the nodes"
                raise AgentError(Problem(f"an actor cannot start: {_told(error)}", hint=hint)) from None
            self._kill(handle)
            if self._starts < MOST_STARTS:
                self._shares.append(share)
        else:
            if problems:
                raise AgentError(*(Problem(**problem) for problem in problems))
            self._starts = 0
            self._actors.add(Actor(handle, share, node, shown=clock.monotonic()))
        self._pending.discard(handle)
        self._starting.remove(share)
        self._dispatch()

    async def _fly(self, actor: Actor, flight: RayFlight) -> None:
        """A run in an actor, until its record is there or the actor dies."""
        try:
            await actor.handle.play.remote(flight.number, pickle.dumps(flight.spec))
            actor.playing.discard(flight)
            flight.is_played()
            self._dispatch()
            record = RunRecord.model_validate_json(await actor.handle.score.remote(flight.number))
        except self._ray.exceptions.RayTaskError as error:
            raise fault_of(str(error)) from None
        except self._ray.exceptions.RayError as error:
            if actor in self._actors:
                self._bury(actor, error)
                self._dispatch()
            return
        actor.shown = clock.monotonic()
        actor.flights.discard(flight)
        actor.is_alone = False
        flight.end(record)
        if was_given_up(record) and not actor.is_retired:
            actor.is_retired = True  # what the run waited for may still be under way, and take its time
            self._shares.append(actor.share)
        if actor.is_retired and not actor.flights:
            self._actors.discard(actor)
            self._spawn(self._close(actor))
        self._dispatch()

    def _bury(self, actor: Actor, error: Exception) -> None:
        """Takes note of an actor's end: what it was making is made again, or lost if it did that twice."""
        self._actors.discard(actor)
        self._kill(actor.handle)  # one that cannot be reached may still be alive
        if not actor.is_retired:
            self._shares.append(actor.share)
        flights = [flight for flight in actor.flights if not flight.record.done()]
        if self._is_lost(actor.node) and all(flight.lost_nodes < MOST_LOST_NODES for flight in flights):
            for flight in flights:
                flight.lost_nodes += 1
            self._waiting.extendleft(flights)
        elif len(flights) == 1:
            self._ended_by(flights[0], actor, error)
        else:
            self._suspects.extend(flights)

    def _is_lost(self, node: str) -> bool:
        try:
            return not any(one["NodeID"] == node and one["Alive"] for one in self._ray.nodes())
        except Exception:  # the head may be gone too, and then nothing is known
            return False

    def _ended_by(self, flight: RayFlight, actor: Actor, error: Exception) -> None:
        """An actor died while it had this run alone."""
        flight.deaths += 1
        if flight.deaths < MOST_DEATHS and not actor.is_blocked:
            self._suspects.append(flight)
            return
        info = _blocked(flight.spec) if actor.is_blocked else _death(error)
        seconds = round(clock.monotonic() - flight.sent, 4)
        if len(flight.failed) < flight.spec.retries:
            flight.deaths = 0
            started = clock.timestamp(flight.started)
            flight.failed.append(FailedAttempt(started=started, seconds=seconds, error=info))
            self._suspects.append(flight)
        else:
            flight.end(lost(flight.spec, info, flight.started, seconds))

    async def _watch(self) -> None:
        """Ends actors whose event loop has stopped, and the evaluation if the cluster has no room for it."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = clock.monotonic()
            if self._actors or not (self._waiting or self._suspects):
                self._had_actors = now
            elif now - self._had_actors > START_SECONDS:
                minutes = START_SECONDS / 60
                told = f"the cluster had no free CPU for an actor in {minutes:g} minutes"
                raise AgentError(Problem(told, hint="`ray status` tells what it is waiting for"))
            for actor in self._actors:
                if not actor.flights:
                    continue
                if actor.is_overdue():
                    actor.is_blocked = True
                    self._kill(actor.handle)
                elif not actor.is_asked:
                    actor.is_asked = True
                    self._spawn(self._ask(actor))

    async def _ask(self, actor: Actor) -> None:
        """Waits for a sign of life."""
        try:
            await actor.handle.alive.remote()
        except self._ray.exceptions.RayError:
            return  # its runs tell
        actor.shown = clock.monotonic()
        actor.is_asked = False

    async def _close(self, actor: Actor) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                self._warnings |= dict.fromkeys(await actor.handle.close.remote())
        except (TimeoutError, self._ray.exceptions.RayError):
            pass
        finally:
            self._kill(actor.handle)

    def _kill(self, handle: Any) -> None:
        try:
            self._ray.kill(handle)
        except Exception:  # the cluster is gone, and the actor with it
            return

    def _fail(self, error: Exception) -> None:
        """Nothing more can be made."""
        self._failure = self._failure or error
        flying = [flight for actor in self._actors for flight in actor.flights]
        for flight in (*self._waiting, *self._suspects, *flying):
            flight.give_up(self._failure)
        self._waiting.clear()
        self._suspects.clear()


def _is_for_good(error: Exception) -> bool:
    """Whether an actor would fail to start anywhere: its code or its environment cannot be loaded."""
    is_environment = type(error).__name__ == "RuntimeEnvSetupError"
    return is_environment or bool(getattr(error, "actor_init_failed", False))


def _told(error: Exception) -> str:
    """What Ray says, without the ids in front and the advice behind."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("\t")]
    said = lines[-1] if getattr(error, "actor_init_failed", False) else " ".join(lines[1:] or lines)
    return said.partition(" Some common causes include")[0].strip()


def _death(error: Exception) -> ErrorInfo:
    """How the actor ended, as the error of the run that did it."""
    message = f"the run ended its Ray actor, twice: {_told(error)}"
    return ErrorInfo(type=WorkerDiedError.__name__, message=message, traceback=str(error))


def _blocked(spec: RunSpec) -> ErrorInfo:
    return ErrorInfo(
        type=RunTimeoutError.__name__,
        message=f"the run took longer than {spec.timeout:g} s (--timeout) "
        "and blocked its actor, which was killed",
    )
