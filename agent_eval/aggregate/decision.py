"""Whether a case has failed for good, whatever its remaining runs would bring."""

from __future__ import annotations

from collections.abc import Sequence

from agent_eval.aggregate.outcome import RunOutcome
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.multi_run import CrossRunMethod
from agent_eval.schema.trace import EvalStatus


def has_failed_for_good(config: EvalConfig, outcomes: Sequence[RunOutcome], remaining: int) -> bool:
    """Whether the verdict is FAILED even if all `remaining` runs pass.

    Only FAILED can stand early: a run to come may still crash or leave a metric without a score,
    and a mean can still rise.
    """
    multi = config.multi_run_config
    scored = sum(run.is_scored for run in outcomes)
    passed = sum(run.is_passed for run in outcomes)
    if sum(run.is_crashed for run in outcomes) > multi.max_crashed_runs:
        return True
    if _out_of_reach(passed, scored, remaining, multi.cross_run_criteria):
        return True
    for name in config.criteria:
        found = [metric for run in outcomes if (metric := run.metric(name)) and metric.is_scored]
        met = sum(metric.status is EvalStatus.PASSED for metric in found)
        scoring = multi.scoring(name)
        if scoring.method is CrossRunMethod.MIN_OVER_RUNS and met < len(found):
            return True
        if scoring.method is CrossRunMethod.PASS_RATE and _out_of_reach(
            met, len(found), remaining, scoring.pass_rate
        ):
            return True
    return False


def _out_of_reach(passed: int, scored: int, remaining: int, required: float | None) -> bool:
    if required is None or scored + remaining == 0:
        return False
    return (passed + remaining) / (scored + remaining) < required
