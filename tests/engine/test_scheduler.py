"""Places, and what waits for what."""

from __future__ import annotations

import asyncio

import pytest

from agent_eval.engine.places import Places
from agent_eval.engine.progress import Silent
from agent_eval.engine.scheduler import run_all
from agent_eval.plan import PlannedCase, RunSpec, plan_runs
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import RunRecord

CASES = [
    PlannedCase(EvalCase.model_validate({"eval_id": f"case {number}", "conversation": []}), "bot")
    for number in range(6)
]


def told(*, parallelism: int, one_by_one: bool) -> list[str]:
    """What happens in which order, where scoring takes longer than playing."""
    events: list[str] = []

    async def play(spec: RunSpec) -> RunSpec:
        events.append(f"play {spec.case.eval_id[-1]}")
        await asyncio.sleep(0.01)
        return spec

    async def score(spec: RunSpec) -> RunRecord:
        await asyncio.sleep(0.02)
        return RunRecord(
            eval_set_id="s",
            eval_id=spec.case.eval_id,
            run_index=0,
            seed=0,
            started="2026-01-31T09:30:00Z",
            seconds=0.01,
        )

    def keep(spec: RunSpec, record: RunRecord) -> None:
        events.append(f"keep {spec.case.eval_id[-1]}")

    specs = plan_runs(0, "s", CASES, EvalConfig(criteria={"response_match_score": 1.0}), seed=0, timeout=None)
    places = Places(parallelism)
    asyncio.run(run_all(specs, play, score, keep, places=places, one_by_one=one_by_one, progress=Silent()))
    return events


def test_next_run_is_played_while_the_last_one_is_scored() -> None:
    assert told(parallelism=1, one_by_one=False)[:3] == ["play 0", "play 1", "keep 0"]


def test_one_by_one_a_run_is_kept_before_the_next_is_played() -> None:
    events = told(parallelism=1, one_by_one=True)

    assert events == [f"{what} {number}" for number in range(6) for what in ("play", "keep")]


@pytest.mark.parametrize("parallelism", [1, 2])
def test_runs_that_wait_for_their_score_are_at_most_as_many_as_there_are_places(parallelism: int) -> None:
    played = kept = 0
    for event in told(parallelism=parallelism, one_by_one=False):
        played += event.startswith("play")
        kept += event.startswith("keep")
        assert played - kept <= 2 * parallelism
