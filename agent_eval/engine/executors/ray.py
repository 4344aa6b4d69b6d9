"""Runs on a Ray cluster: actors on its nodes make them, and send the records back as JSON.

Runs of an actor whose node is gone are made again like any others. A run has to end two actors that it
had to itself to be the one that does it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import pickle
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_eval import clock, serde
from agent_eval.engine.executors.base import Executor
from agent_eval.engine.executors.pool import Flight, Member, Pool, fault_of
from agent_eval.errors import AgentError, AgentEvalError, InputError, Problem
from agent_eval.garbage import collect_less_garbage
from agent_eval.schema.result import RunRecord

Make = Callable[[], Executor[Any]]
"""Builds what makes the runs; it is sent to the nodes, so it has to be picklable."""

EXCLUDED = (".git/", ".venv/", "venv/", "node_modules/", "__pycache__/", ".agent_eval/", ".env")
"""What does not travel of a project, besides what its .gitignore and .rayignore name. Variables do, apart."""

CLOSE_SECONDS = 5.0
"""How long an actor has to give back what it holds."""
CONNECT_SECONDS = 20.0
"""How long the cluster may take to answer."""
START_SECONDS = 900.0
"""How long a cluster may have no actor for us: some start nodes first."""
_MOST_SAID = 400
"""Characters of an error of Ray's."""
MOST_STARTS = 5
"""How many actors in a row may die before they are ready."""
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
        told = _said(str(error)) or type(error).__name__
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


def _said(text: str) -> str:
    """What Ray says, without the advice behind."""
    return " ".join(text.split()).partition(" For more information")[0][:_MOST_SAID]


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


@dataclass(slots=True, eq=False, kw_only=True)
class Actor(Member):
    """An actor on one of the nodes."""

    handle: Any
    node: str
    is_asked: bool = False
    """For a sign of life."""
    error: Exception | None = None
    """What Ray says of its end."""


class RayExecutor(Pool[Actor]):
    """Makes runs in actors on the nodes of a cluster, which this process is connected to."""

    KIND = "actor"
    LOOK_SECONDS = 1.0
    GRACE_SECONDS = 10.0
    MOST_DEATHS = 2

    def __init__(self, make: Make, *, actors: int, places: int, luggage: Luggage):
        """Takes what builds an actor's own executor.

        Args:
            make: is sent to each actor and called there.
            actors: how many there may be at once.
            places: conversations at once over all actors, one for each at least.
            luggage: what has travelled.
        """
        import ray

        super().__init__(members=actors, places=places)
        self._ray = ray
        self._class = ray.remote(ActorEnd)
        self._given = (ray.put(make), luggage.here, dict(luggage.variables))
        self._most_at_once = 2 * places + 2
        """Calls of one actor: runs that are played, runs that are scored, signs of life, and its end."""
        self._pending: set[Any] = set()
        """The handles of actors that are not ready yet."""
        self._starts = 0
        """Actors in a row that died before they were ready."""
        self._had_actors = clock.monotonic()

    async def aclose(self) -> None:
        """Closes the actors, those that have runs under way at once, and leaves the cluster."""
        self._is_closing = True
        tasks = [*self._tasks, *([self._watcher] if self._watcher else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(self._ended(actor) for actor in self._members if not actor.flights))
        for handle in (*self._pending, *(actor.handle for actor in self._members)):
            self._kill_handle(handle)
        self._ray.shutdown()

    async def _start(self, share: int) -> None:
        """An actor, from the wish for it until it is ready."""
        handle = self._class.options(
            num_cpus=1, scheduling_strategy="SPREAD", max_concurrency=self._most_at_once
        ).remote(*self._given)
        self._pending.add(handle)
        try:
            node, problems = await handle.open.remote()
        except self._ray.exceptions.RayTaskError as error:
            raise fault_of(str(error)) from None
        except self._ray.exceptions.RayError as error:
            self._starts += 1
            if _is_for_good(error) or (self._starts >= MOST_STARTS and not self._members):
                hint = "agent-eval and what the agents need has to be installed on the nodes"
                raise AgentError(Problem(f"an actor cannot start: {_told(error)}", hint=hint)) from None
            self._pending.discard(handle)
            self._kill_handle(handle)
            self._starting.remove(share)
            if self._starts < MOST_STARTS:
                self._shares.append(share)
            self._dispatch()
            return
        if problems:
            raise AgentError(*(Problem(**problem) for problem in problems))
        self._starts = 0
        self._pending.discard(handle)
        self._join(Actor(share=share, handle=handle, node=node))

    def _send(self, member: Actor, flight: Flight) -> None:
        self._spawn(self._fly(member, flight))

    async def _fly(self, actor: Actor, flight: Flight) -> None:
        """A run in an actor, until its record is there or the actor dies."""
        number = flight.number
        try:
            await actor.handle.play.remote(number, pickle.dumps(flight.spec))
            self._played(actor, number)
            record = RunRecord.model_validate_json(await actor.handle.score.remote(number))
        except self._ray.exceptions.RayTaskError as error:
            raise fault_of(str(error)) from None
        except self._ray.exceptions.RayError as error:
            if actor in self._members:  # the first of its runs tells of the end
                actor.error = error
                self._kill(actor)  # one that cannot be reached may still be alive
                self._bury(actor)
            return
        actor.shown = clock.monotonic()
        self._done(actor, number, record)

    def _close(self, member: Actor) -> None:
        self._members.discard(member)
        self._spawn(self._ended(member))

    async def _ended(self, actor: Actor) -> None:
        """Has an actor give back what it holds, and ends it."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                self._warnings |= dict.fromkeys(await actor.handle.close.remote())
        except (TimeoutError, self._ray.exceptions.RayError):
            pass
        finally:
            self._kill(actor)

    def _kill(self, member: Actor) -> None:
        self._kill_handle(member.handle)

    def _kill_handle(self, handle: Any) -> None:
        try:
            self._ray.kill(handle)
        except Exception:  # the cluster is gone, and the actor with it
            return

    def _ending(self, member: Actor) -> tuple[str, str | None]:
        told = _told(member.error) if member.error else "it is gone"
        return f"the run ended its Ray actor: {told}", str(member.error)

    def _is_excused(self, member: Actor) -> bool:
        """Whether its node is gone, which ended it; a run that this happens to again and again may do it."""
        flights = member.flights.values()
        if not self._is_lost(member.node) or any(one.lost_nodes >= MOST_LOST_NODES for one in flights):
            return False
        for flight in flights:
            flight.lost_nodes += 1
        return True

    def _is_lost(self, node: str) -> bool:
        try:
            return not any(one["NodeID"] == node and one["Alive"] for one in self._ray.nodes())
        except Exception:  # the head may be gone too, and then nothing is known
            return False

    def _look(self) -> None:
        """Asks actors for signs of life.

        Raises:
            AgentError: the cluster has had no room for any for long.
        """
        now = clock.monotonic()
        if self._members or not (self._waiting or self._suspects):
            self._had_actors = now
        elif now - self._had_actors > START_SECONDS:
            told = f"the cluster had no free CPU for an actor in {START_SECONDS / 60:g} minutes"
            raise AgentError(Problem(told, hint="`ray status` tells what it is waiting for"))
        for actor in self._members:
            if actor.flights and not actor.is_asked:
                actor.is_asked = True
                self._spawn(self._ask(actor))

    async def _ask(self, actor: Actor) -> None:
        try:
            await actor.handle.alive.remote()
        except self._ray.exceptions.RayError:
            return  # its runs tell
        actor.shown = clock.monotonic()
        actor.is_asked = False


def _is_for_good(error: Exception) -> bool:
    """Whether an actor would fail to start anywhere: its code or its environment cannot be loaded."""
    is_environment = type(error).__name__ == "RuntimeEnvSetupError"
    return is_environment or bool(getattr(error, "actor_init_failed", False))


def _told(error: Exception) -> str:
    """What Ray says, without the ids in front and the advice behind."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("\t")]
    said = lines[-1] if getattr(error, "actor_init_failed", False) else " ".join(lines[1:] or lines)
    return said.partition(" Some common causes include")[0].strip()
