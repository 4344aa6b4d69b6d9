"""Runs in this process, on its event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from agent_eval.agents.base import Agent
from agent_eval.engine.run import Played, Scorer, play, score
from agent_eval.load.traffic import Traffic
from agent_eval.plan import RunSpec
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import RunRecord
from agent_eval.simulation.base import Player


class Players(Protocol):
    """Who plays the user in the cases of one eval set."""

    def player(self, case: EvalCase, seed: int) -> Player:
        """Who plays the user in one run of a case."""
        ...


class ReadySet(Protocol):
    """What the runs of one eval set need besides their agents."""

    @property
    def players(self) -> Players:
        """Who plays the user."""
        ...

    @property
    def scorer(self) -> Scorer:
        """What scores them."""
        ...


class Shared(Protocol):
    """What runs share, as judges are."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong without harm to any run."""
        ...

    async def aclose(self) -> None:
        """Gives back what it holds."""
        ...


class LocalExecutor:
    """Makes runs with the agents, players and scorers that are at hand."""

    def __init__(
        self, agents: Mapping[str, Agent], sets: Sequence[ReadySet], shared: Shared, traffic: Traffic
    ) -> None:
        self.traffic = traffic
        """The model calls of its agents."""
        self._agents = agents
        self._sets = sets
        self._shared = shared

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong without harm to any run."""
        return self._shared.warnings

    async def play(self, spec: RunSpec) -> Played:
        """Has the conversation of one run."""
        players, agent = self._sets[spec.set_index].players, self._agents[spec.agent]
        return await play(spec, agent, lambda: players.player(spec.case, spec.seed), self.traffic)

    async def score(self, playing: Played) -> RunRecord:
        """The record of a run that was played."""
        return await score(playing, self._sets[playing.spec.set_index].scorer)

    async def aclose(self) -> None:
        """Closes agents and scorers, and what is shared."""
        for agent in self._agents.values():
            await agent.aclose()
        for one in self._sets:
            await one.scorer.aclose()
        await self._shared.aclose()
