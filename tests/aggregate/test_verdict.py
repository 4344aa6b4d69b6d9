"""From the metrics of runs to the verdict of a case: what decides, and what never does."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from agent_eval.aggregate.outcome import outcome_of
from agent_eval.aggregate.verdict import case_result, merge_statuses, totals
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.result import (
    CaseResult,
    ErrorInfo,
    JudgeUsage,
    MetricResult,
    RunRecord,
    RunStatus,
    TokenPrices,
)
from agent_eval.schema.trace import EvalStatus

PASSED, FAILED = EvalStatus.PASSED, EvalStatus.FAILED
NOT_EVALUATED, INFORMATIONAL = EvalStatus.NOT_EVALUATED, EvalStatus.INFORMATIONAL
THRESHOLD = 0.5


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        ([PASSED], PASSED),
        ([FAILED], FAILED),
        ([NOT_EVALUATED], NOT_EVALUATED),
        ([PASSED, PASSED], PASSED),
        ([PASSED, FAILED], FAILED),
        ([PASSED, NOT_EVALUATED], NOT_EVALUATED),
        ([FAILED, NOT_EVALUATED], FAILED),
        ([PASSED, FAILED, NOT_EVALUATED], FAILED),
        ([PASSED, INFORMATIONAL], PASSED),
        ([INFORMATIONAL], NOT_EVALUATED),
        ([], NOT_EVALUATED),
    ],
    ids=lambda value: "+".join(value) or "nothing" if isinstance(value, list) else None,
)
def test_failure_outweighs_not_evaluated_which_outweighs_passed(
    statuses: list[EvalStatus], verdict: EvalStatus
) -> None:
    for order in itertools.permutations(statuses):
        assert merge_statuses(order) is verdict


def metric(name: str, score: float | None) -> MetricResult:
    if score is None:
        return MetricResult(metric_name=name, status=NOT_EVALUATED, threshold=THRESHOLD, reason="no judge")
    status = PASSED if score >= THRESHOLD else FAILED
    return MetricResult(metric_name=name, status=status, score=score, threshold=THRESHOLD)


def run(index: int, scores: dict[str, float | None] | str) -> RunRecord:
    """A run with these scores; a text is what it crashed with."""
    crash = scores if isinstance(scores, str) else None
    return RunRecord(
        eval_set_id="s",
        eval_id="c",
        run_index=index,
        seed=0,
        status=RunStatus.CRASHED if crash else RunStatus.COMPLETED,
        started="2026-01-31T09:30:00.250Z",
        seconds=1.0,
        error=ErrorInfo(type="RuntimeError", message=crash) if crash else None,
        metrics=[] if isinstance(scores, str) else [metric(name, score) for name, score in scores.items()],
    )


def result(*runs: dict[str, float | None] | str, **multi: Any) -> CaseResult:
    names = {name for scores in runs if isinstance(scores, dict) for name in scores}
    config = EvalConfig.model_validate(
        {
            "criteria": dict.fromkeys(sorted(names) or ["m"], THRESHOLD),
            "multi_run_config": {"num_runs": len(runs), **multi},
        }
    )
    outcomes = [outcome_of(run(index, scores)) for index, scores in enumerate(runs)]
    return case_result("s", "c", "0" * 64, config, outcomes)


def test_case_passes_when_every_metric_passes() -> None:
    case = result({"m": 0.9, "n": 0.5})

    assert case.verdict is PASSED
    assert (case.attempts, case.scored, case.passed, case.crashed) == (1, 1, 1, 0)
    assert not case.flaky


def test_score_at_the_threshold_passes_and_just_below_fails() -> None:
    assert result({"m": 0.5}).verdict is PASSED
    assert result({"m": 0.4999999}).verdict is FAILED


def test_one_failed_metric_fails_the_case() -> None:
    case = result({"m": 0.9, "n": 0.1})

    assert case.verdict is FAILED
    assert [found.status for found in case.metrics if found.threshold is not None] == [PASSED, FAILED]


def test_metric_without_a_score_keeps_the_case_from_passing() -> None:
    case = result({"m": 0.9, "n": None})

    assert case.verdict is NOT_EVALUATED
    (unscored,) = (found for found in case.metrics if found.metric_name == "n")
    assert (unscored.status, unscored.score, unscored.reason) == (NOT_EVALUATED, None, "no judge")


def test_metric_without_a_score_does_not_hide_a_failure() -> None:
    assert result({"m": 0.1, "n": None}).verdict is FAILED


def test_crashed_run_fails_the_case() -> None:
    case = result("socket reset")

    assert case.verdict is FAILED
    assert (case.attempts, case.scored, case.passed, case.crashed) == (1, 0, 0, 1)
    assert case.pass_rate is None
    assert case.runs[0].error
    assert case.runs[0].error.message == "socket reset"


def test_crashes_within_the_limit_do_not_fail_the_case_but_make_it_flaky() -> None:
    case = result({"m": 1.0}, "reset", {"m": 1.0}, max_crashed_runs=1)

    assert case.verdict is PASSED
    assert case.flaky
    assert case.pass_rate == 1.0
    assert case.metrics[0].per_run == [1.0, None, 1.0]


@pytest.mark.parametrize("allowed", [0, 1, 2, 100])
def test_case_whose_runs_all_crashed_never_passes(allowed: int) -> None:
    assert result("reset", "reset", max_crashed_runs=allowed).verdict is not PASSED


def test_run_that_was_not_scored_keeps_the_case_from_passing() -> None:
    case = result({"m": 1.0}, {"m": None}, {"m": 1.0})

    assert case.verdict is NOT_EVALUATED
    assert (case.attempts, case.scored, case.crashed) == (3, 2, 0)
    assert case.metrics[0].reason == "no score in 1 of 3 runs: no judge"


def test_informational_metrics_are_reported_and_never_gate() -> None:
    record = run(0, {"m": 1.0})
    count = MetricResult(metric_name="tool_call_count_v1", score=0.0)
    outcome = outcome_of(record.model_copy(update={"metrics": [*record.metrics, count]}))

    case = case_result("s", "c", "", EvalConfig.model_validate({"criteria": {"m": THRESHOLD}}), [outcome])

    assert case.verdict is PASSED
    (found,) = (one for one in case.metrics if one.metric_name == "tool_call_count_v1")
    assert (found.score, found.status, found.threshold) == (0.0, INFORMATIONAL, None)


def test_mean_of_the_runs_is_held_against_the_threshold() -> None:
    assert result({"m": 1.0}, {"m": 0.25}).verdict is PASSED
    assert result({"m": 0.5}, {"m": 0.25}).verdict is FAILED


def test_worst_run_may_decide() -> None:
    scoring = {"m": "min_over_runs"}

    case = result({"m": 1.0}, {"m": 0.25}, cross_run_scoring_by_metric=scoring)

    assert (case.verdict, case.metrics[0].score) == (FAILED, 0.25)


@pytest.mark.parametrize(("share", "verdict"), [(0.5, PASSED), (0.75, FAILED)])
def test_share_of_passing_runs_may_decide(share: float, verdict: EvalStatus) -> None:
    scoring = {"m": {"method": "pass_rate", "threshold": share}}

    case = result({"m": 0.6}, {"m": 0.0}, cross_run_scoring_by_metric=scoring)

    assert case.verdict is verdict
    assert (case.metrics[0].score, case.metrics[0].threshold) == (0.5, share)


def test_metrics_that_never_pass_together_fail_a_joint_criterion() -> None:
    runs = [{"m": 1.0, "n": 0.4}, {"m": 0.4, "n": 1.0}]

    assert result(*runs).verdict is PASSED
    case = result(*runs, cross_run_criteria={"pass_rate": 0.5})

    assert case.verdict is FAILED
    assert case.passed == 0


def test_order_in_which_runs_finish_changes_nothing() -> None:
    config = EvalConfig.model_validate({"criteria": {"m": THRESHOLD}, "multi_run_config": {"num_runs": 3}})
    runs = [outcome_of(run(0, {"m": 1.0})), outcome_of(run(1, "reset")), outcome_of(run(2, {"m": None}))]

    found = [case_result("s", "c", "", config, order) for order in itertools.permutations(runs)]

    assert all(one == found[0] for one in found)
    assert [one.run_index for one in found[0].runs] == [0, 1, 2]


def test_totals_have_what_each_judge_was_asked_and_its_price() -> None:
    asked = JudgeUsage(model="cheap", requests=3, cached=1, input_tokens=1_000_000, output_tokens=500_000)
    other = JudgeUsage(model="free", requests=1)
    outcomes = [
        replace(outcome_of(run(0, {"m": 1.0})), judges=judges) for judges in ((asked, other), (asked,))
    ]

    found = totals(
        [result({"m": 1.0})], outcomes, 1.0, {"cheap": TokenPrices(input_price=0.5, output_price=2.0)}
    )

    cheap, free = found.judges
    assert (cheap.model, cheap.requests, cheap.cached, cheap.input_tokens) == ("cheap", 6, 2, 2_000_000)
    assert cheap.cost == 2 * 0.5 + 1 * 2.0
    assert (free.model, free.requests, free.cost) == ("free", 1, None)


def test_totals_count_verdicts_and_flaky_cases() -> None:
    cases = [
        result({"m": 1.0}),
        result({"m": 0.0}),
        result({"m": None}),
        result({"m": 1.0}, {"m": 0.0}),
        result("reset"),
    ]

    outcomes = [
        replace(outcome_of(run(index, {"m": 1.0})), input_tokens=tokens, output_tokens=4)
        for index, tokens in enumerate((10, 20))
    ]

    found = totals(cases, outcomes, 1.23456)

    assert (found.cases, found.passed, found.failed, found.not_evaluated, found.flaky) == (5, 2, 2, 1, 1)
    assert found.duration_seconds == 1.235
    assert found.tokens == {"input": 30, "output": 8, "total": 38}
