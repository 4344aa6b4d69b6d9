"""Moved goalposts: what passes or fails by them alone has not been fixed, and has not regressed."""

from __future__ import annotations

from typing import Any

import pytest

from agent_eval.aggregate.outcome import MetricOutcome, RunOutcome
from agent_eval.aggregate.verdict import case_result
from agent_eval.compare.comparison import CaseChange, Change, compare
from agent_eval.compare.gate import Gate
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.multi_run import MultiRunConfig
from agent_eval.schema.result import EvalResult, RunError, RunStatus
from agent_eval.schema.trace import EvalStatus
from tests.compare.test_comparison import result

Scores = dict[str, list[float | None]]
LOWER = {"seconds"}
"""Metrics whose low scores are better."""


def run(index: int, scores: dict[str, float | None], config: EvalConfig) -> RunOutcome:
    metrics = []
    for name, score in scores.items():
        threshold = config.criterion(name).threshold
        if score is None:
            status = EvalStatus.NOT_EVALUATED
        else:
            met = score <= threshold if name in LOWER else score >= threshold
            status = EvalStatus.PASSED if met else EvalStatus.FAILED
        metrics.append(MetricOutcome(name, status, score, threshold, (), None))
    return RunOutcome(index, RunStatus.COMPLETED, None, 1.0, tuple(metrics), 0, 0)


def crashed(index: int) -> RunOutcome:
    return RunOutcome(index, RunStatus.CRASHED, RunError(type="E", message="m"), 1.0, (), 0, 0)


def evaluated(
    scores: Scores,
    criteria: dict[str, Any],
    *,
    multi: dict[str, Any] | None = None,
    sha256: str = "as it was",
    crashes: int = 0,
) -> EvalResult:
    """The result of one case whose runs have these scores, judged as `run` judges."""
    num_runs = max(map(len, scores.values())) + crashes
    config = EvalConfig(
        criteria=criteria, multi_run_config=MultiRunConfig(num_runs=num_runs, **(multi or {}))
    )
    outcomes = [
        run(index, {name: values[index] for name, values in scores.items()}, config)
        for index in range(num_runs - crashes)
    ]
    outcomes += [crashed(num_runs - 1 - index) for index in range(crashes)]
    case = case_result("orders", "one", sha256, config, outcomes)
    dumped = {name: config.criterion(name).model_dump(mode="json") for name in criteria}
    return result(case, criteria=dumped, multi_run=config.multi_run_config.model_dump(mode="json"))


def change(before: EvalResult, after: EvalResult) -> CaseChange:
    (one,) = compare(before, after).cases
    return one


RATE = {"cross_run_scoring_by_metric": {"text": {"method": "pass_rate", "threshold": 1.0}}}
HALF = {"cross_run_scoring_by_metric": {"text": {"method": "pass_rate", "threshold": 0.5}}}
WORST = {"cross_run_scoring_by_metric": {"text": "min_over_runs"}}
TOOLS = {"threshold": 1.0, "match_type": "EXACT"}

MOVES = [
    pytest.param(
        evaluated({"text": [0.7]}, {"text": 0.8}), evaluated({"text": [0.7]}, {"text": 0.6}),
        Change.MOVED, "passes by the moved goalposts alone", id="lower threshold",
    ),
    pytest.param(
        evaluated({"text": [0.7]}, {"text": 0.8}), evaluated({"text": [0.9]}, {"text": 0.6}),
        Change.FIXED, None, id="lower threshold, and better than the old one",
    ),
    pytest.param(
        evaluated({"text": [0.9]}, {"text": 0.8}), evaluated({"text": [0.7]}, {"text": 0.6}),
        Change.REGRESSED, "passes by the moved goalposts alone", id="lower threshold hides a regression",
    ),
    pytest.param(
        evaluated({"text": [0.85]}, {"text": 0.8}), evaluated({"text": [0.85]}, {"text": 0.9}),
        Change.MOVED, "fails by the moved goalposts alone", id="higher threshold",
    ),
    pytest.param(
        evaluated({"text": [0.85]}, {"text": 0.8}), evaluated({"text": [0.7]}, {"text": 0.9}),
        Change.REGRESSED, None, id="higher threshold, and worse than the old one",
    ),
    pytest.param(
        evaluated({"seconds": [3.0]}, {"seconds": 2.0}), evaluated({"seconds": [3.0]}, {"seconds": 4.0}),
        Change.MOVED, "passes by the moved goalposts alone", id="threshold of a metric where low is good",
    ),
    pytest.param(
        evaluated({"text": [0.9]}, {"text": 0.8}),
        evaluated({"text": [0.9], "new": [0.0]}, {"text": 0.8, "new": 1.0}),
        Change.MOVED, "fails by the moved goalposts alone", id="metric added",
    ),
    pytest.param(
        evaluated({"text": [0.1], "old": [1.0]}, {"text": 0.8, "old": 1.0}),
        evaluated({"text": [0.9]}, {"text": 0.8}),
        Change.MOVED, "not to be told: the goalposts moved", id="metric removed",
    ),
    pytest.param(
        evaluated({"text": [0.9], "old": [1.0]}, {"text": 0.8, "old": 1.0}),
        evaluated({"text": [0.1]}, {"text": 0.8}),
        Change.REGRESSED, "under other goalposts", id="metric removed, and another fails",
    ),
    pytest.param(
        evaluated({"tools": [0.0]}, {"tools": TOOLS}),
        evaluated({"tools": [1.0]}, {"tools": TOOLS | {"match_type": "IN_ORDER"}}),
        Change.MOVED, "not to be told: the goalposts moved", id="match type",
    ),
    pytest.param(
        evaluated({"text": [0.1]}, {"text": 0.8}), evaluated({"text": [0.9]}, {"text": 0.8}, sha256="edited"),
        Change.MOVED, "not to be told: the case was edited", id="expected answer",
    ),
    pytest.param(
        evaluated({"text": [0.9, 0.1, 0.9, 0.9]}, {"text": 0.8}, multi=RATE),
        evaluated({"text": [0.9, 0.1, 0.9, 0.9]}, {"text": 0.8}, multi=HALF),
        Change.MOVED, "passes by the moved goalposts alone", id="share of runs",
    ),
    pytest.param(
        evaluated({"text": [1.0, 0.7]}, {"text": 0.8}, multi=WORST),
        evaluated({"text": [1.0, 0.7]}, {"text": 0.8}),
        Change.MOVED, "passes by the moved goalposts alone", id="the mean instead of the worst run",
    ),
    pytest.param(
        evaluated({"text": [1.0]}, {"text": 0.8}, crashes=1),
        evaluated({"text": [1.0]}, {"text": 0.8}, crashes=1, multi={"max_crashed_runs": 1}),
        Change.MOVED, "passes by the moved goalposts alone", id="crashes allowed",
    ),
    pytest.param(
        evaluated({"text": [1.0, 0.0]}, {"text": 0.8}, multi={"cross_run_criteria": 1.0} | HALF),
        evaluated({"text": [1.0, 0.0]}, {"text": 0.8}, multi=HALF),
        Change.MOVED, "passes by the moved goalposts alone", id="joint share not asked for",
    ),
    pytest.param(
        evaluated({"text": [1.0, 1.0, 0.0, 1.0, 1.0]}, {"text": 0.8}, multi=RATE),
        evaluated({"text": [1.0]}, {"text": 0.8}, multi=RATE),
        Change.MOVED, "may pass only by another number of runs", id="fewer runs",
    ),
    pytest.param(
        evaluated({"text": [0.0]}, {"text": 0.8}), evaluated({"text": [1.0, 1.0, 1.0, 0.5]}, {"text": 0.8}),
        Change.MOVED, "may pass only by another number of runs", id="more runs, not all of which pass",
    ),
    pytest.param(
        evaluated({"text": [0.0, 0.0]}, {"text": 0.8}, multi=RATE),
        evaluated({"text": [1.0, 1.0, 1.0]}, {"text": 0.8}, multi=RATE),
        Change.FIXED, None, id="another number of runs, none passed and all pass",
    ),
    pytest.param(
        evaluated({"text": [None]}, {"text": 0.8}), evaluated({"text": [0.9]}, {"text": 0.7}),
        Change.FIXED, None, id="evaluated now, and good enough for both thresholds",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected", "note"), MOVES)
def test_verdict_is_held_against_the_goalposts_of_the_baseline(
    before: EvalResult, after: EvalResult, expected: Change, note: str | None
) -> None:
    found = change(before, after)
    assert (found.change, found.note) == (expected, note)


@pytest.mark.parametrize(("before", "after", "expected", "note"), MOVES)
def test_moved_goalposts_never_fail_a_comparison_by_themselves(
    before: EvalResult, after: EvalResult, expected: Change, note: str | None
) -> None:
    assert compare(before, after).fails(Gate.REGRESSION) == (expected is Change.REGRESSED)


def test_rates_are_those_under_the_rules_of_the_baseline() -> None:
    before = evaluated({"text": [0.9] * 10}, {"text": 0.8}, multi=RATE)
    found = change(before, evaluated({"text": [0.7] * 10}, {"text": 0.6}, multi=RATE))
    assert found.p_value == pytest.approx(2 / 184756)
    assert (found.pass_rate_before, found.pass_rate_after) == (1.0, 1.0)
    assert found.change is Change.REGRESSED


def test_what_cannot_be_decided_again_is_said_once_and_tested_nowhere() -> None:
    before = evaluated({"tools": [1.0]}, {"tools": TOOLS})
    after = evaluated({"tools": [1.0]}, {"tools": TOOLS | {"match_type": "ANY_ORDER"}})
    comparison = compare(before, after)
    assert comparison.incomparable == ["tools.match_type changed"]
    assert comparison.suite.cases == 0
    assert [one.p_value for one in comparison.cases] == [None]


def test_verdict_that_the_summary_does_not_explain_is_not_decided_again() -> None:
    before = evaluated({"text": [0.7]}, {"text": 0.8})
    after = evaluated({"text": [0.7]}, {"text": 0.9})
    passed = after.cases[0].model_copy(update={"verdict": EvalStatus.PASSED})
    found = change(before, after.model_copy(update={"cases": [passed]}))
    assert (found.change, found.note) == (Change.MOVED, "not to be told: the goalposts moved")


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("be kind", "be very kind", ("quality.rubrics.tone", "be kind", "be very kind")),
        ("be kind", None, ("quality.rubrics.tone", "be kind", "not set")),
    ],
)
def test_changed_rubric_is_named(before: str, after: str | None, what: tuple[str, str, str]) -> None:
    def criterion(text: str | None) -> dict[str, Any]:
        rubrics = [("short", "be short"), *([("tone", text)] if text else [])]
        return {
            "threshold": 1.0,
            "rubrics": [{"rubric_id": i, "rubric_content": {"text_property": t}} for i, t in rubrics],
        }

    comparison = compare(
        evaluated({"quality": [0.0]}, {"quality": criterion(before)}),
        evaluated({"quality": [1.0]}, {"quality": criterion(after)}),
    )
    (goalpost,) = comparison.goalposts
    assert (goalpost.what, goalpost.before, goalpost.after) == what
    assert comparison.cases[0].change is Change.MOVED
