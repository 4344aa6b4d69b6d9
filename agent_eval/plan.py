"""Cases x runs -> the runs to make, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_eval.clock import derive_seed
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run to make. Plain data, so that it can be sent to another process."""

    set_index: int
    """Position of its eval set in the evaluation; two sets may share an id."""
    eval_set_id: str
    case: EvalCase
    config: EvalConfig
    agent: str
    """Reference of the agent, as `agents.resolve` understands it."""
    run_index: int
    seed: int
    timeout: float | None
    """Seconds each attempt may take."""
    retries: int = 0
    """How often the run is tried again when it crashes."""


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """A case and the agent that plays it."""

    case: EvalCase
    agent: str


def plan_runs(
    set_index: int,
    eval_set_id: str,
    cases: Sequence[PlannedCase],
    config: EvalConfig,
    *,
    seed: int,
    timeout: float | None,
    retries: int = 0,
) -> Iterator[RunSpec]:
    """Every case's first run, then every case's second, and so on: each case is seen early."""
    for run_index in range(config.multi_run_config.num_runs):
        for planned in cases:
            yield RunSpec(
                set_index=set_index,
                eval_set_id=eval_set_id,
                case=planned.case,
                config=config,
                agent=planned.agent,
                run_index=run_index,
                seed=derive_seed(seed, planned.case.eval_id, run_index),
                timeout=timeout,
                retries=retries,
            )
