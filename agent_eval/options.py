"""What an evaluation is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from agent_eval.agents.resolve import AgentOptions
from agent_eval.engine.circuit_breaker import DEFAULT_RUNS
from agent_eval.errors import InputError, Problem
from agent_eval.inputs.choice import Choice
from agent_eval.inputs.shards import Shard
from agent_eval.judge.judges import DEFAULT_PARALLELISM
from agent_eval.metrics.scoring import DEFAULT_TIMEOUT

ALL_CASES = Choice()


class Place(StrEnum):
    """Where runs are made."""

    LOCAL = "local"
    """On this machine."""
    RAY = "ray"
    """On a Ray cluster."""


def parse_place(text: str) -> Place:
    """What `--executor` was given.

    Raises:
        InputError: there is no such place.
    """
    if text not in list(Place):
        raise InputError(Problem(f"--executor takes {' or '.join(Place)}; not {text!r}"))
    return Place(text)


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How judges are asked."""

    parallelism: int = DEFAULT_PARALLELISM
    """Judge calls under way at once, over all metrics and runs."""
    max_calls: int | None = None
    """Judge calls in all."""
    cache: bool = True
    """Keep answers, and ask nothing that was answered before."""
    preflight: bool = True
    """Ask each model one tiny question before any agent runs, those of simulated users too."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to evaluate, and how."""

    agent: str | None = None
    eval_sets: tuple[str, ...] = ()
    """Paths, or `PATH:case1,case2`."""
    all: bool = False
    """Every eval set of the project."""
    choice: Choice = ALL_CASES
    """Which of their cases."""
    shard: Shard | None = None
    """Which part of those; None for all."""
    config: str | None = None
    num_runs: int | None = None
    """Overrides the config."""
    parallelism: int | Literal["auto"] = 4
    """Runs at once; `auto` for as many as the endpoints behind the agents bear."""
    rpm: int | None = None
    """Model calls a minute of agents whose calls can be seen."""
    tpm: int | None = None
    """Tokens a minute of the same."""
    workers: int | None = None
    """Processes that make the runs; None for this one. On a cluster: actors."""
    executor: Place = Place.LOCAL
    ray_address: str | None = None
    """Of the cluster; without it, the one that Ray finds by itself."""
    timeout: float | None = 300.0
    """Seconds a run may take."""
    metric_timeout: float | None = DEFAULT_TIMEOUT
    """Seconds a metric may take for one run."""
    seed: int = 0
    """What each run's own seed is derived from."""
    retry_crashed: int = 0
    """How often a crashed run is tried again."""
    stop_when_decided: bool = False
    """Make no further runs of a case that has failed for good."""
    fail_fast: bool = False
    """Make no further runs at all once a case has failed."""
    circuit_breaker: int | None = DEFAULT_RUNS
    """Stop when the first runs, this many or as many as the parallelism, crash alike; None never."""
    url: str | None = None
    """Where the agent is served, if it is."""
    app_name: str | None = None
    """The served app; without it, the one a case names."""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent to the server; they may hold secrets."""
    env_file: str | None = None
    """Loaded before the agent; the environment is not overridden."""
    agents: AgentOptions = field(default_factory=AgentOptions)
    judges: JudgeOptions = field(default_factory=JudgeOptions)
    custom_code: bool = True
    """Whether configs and cases may name code to import. The agent that is asked for is imported anyway."""
    dry_run: bool = False
    """Only to be shown, so that what this version cannot run may be in it."""
    output: str | None = None
    """Folder for results; `.agent_eval/results` if not given."""
    command: str = "agent-eval"
    """The command line, for the record."""
