"""Situations and their verdicts, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from agent_eval.aggregate.outcome import outcome_of
from agent_eval.aggregate.verdict import case_result
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.result import (
    CaseResult,
    ErrorInfo,
    InvocationScore,
    MetricResult,
    RunRecord,
    RunStatus,
)
from agent_eval.schema.trace import EvalStatus

STATUSES = {"P": EvalStatus.PASSED, "F": EvalStatus.FAILED}


class Rule(NamedTuple):
    """How the runs of a metric become one score, and the threshold of its criterion."""

    method: str | None
    criterion: float
    share: float | None = None


def mean(criterion: float) -> Rule:
    return Rule("mean_over_invocations", criterion)


def worst(criterion: float) -> Rule:
    return Rule("min_over_runs", criterion)


def rate(share: float | None, criterion: float = 0.8) -> Rule:
    return Rule("pass_rate", criterion, share)


class Case(NamedTuple):
    """One row.

    A run is the scores of its turns (`-` for a turn without one), `=` and the overall score where it
    is not their mean, and what the evaluator said: `P` or `F`. Metrics of one run are parted by `|`.
    `crash` is a run that broke off, `missing` a metric that raised.
    """

    id: str
    rules: Sequence[Rule]
    runs: Sequence[str]
    scores: str
    """Score and status of each metric, parted by `|`; `-` for no score, `P`, `F`, `?` not evaluated."""
    verdict: str
    counts: str
    """Runs passed / scored / crashed."""
    max_crashed: int = 0
    joint: Any = None
    """`cross_run_criteria`."""


MEAN = [
    Case("one run passes", [mean(0.8)], ["0.9 P"], "0.9 P", "P", "1/1/0"),
    Case("one run fails", [mean(0.8)], ["0.7 F"], "0.7 F", "F", "0/1/0"),
    Case("one run of two turns", [mean(0.7)], ["1 0.5 P"], "0.75 P", "P", "1/1/0"),
    Case("method not named", [Rule(None, 0.7)], ["1 P", "0.5 F"], "0.75 P", "P", "1/2/0"),
    Case("a failed run is made up for", [mean(0.7)], ["1 P", "0.5 F"], "0.75 P", "P", "1/2/0"),
    Case("mean at the threshold", [mean(0.75)], ["1 P", "0.5 F"], "0.75 P", "P", "1/2/0"),
    Case("mean below the threshold", [mean(0.76)], ["1 P", "0.5 F"], "0.75 F", "F", "1/2/0"),
    Case("no run passes", [mean(0.8)], ["0.7 F", "0.5 F"], "0.6 F", "F", "0/2/0"),
    Case("long run weighs more, and passes", [mean(0.7)], ["1 1 1 P", "0 F"], "0.75 P", "P", "1/2/0"),
    Case("long run weighs more, and fails", [mean(0.3)], ["0 0 0 F", "1 P"], "0.25 F", "F", "1/2/0"),
    Case("one, two and three turns", [mean(0.5)], ["1 P", "1 0 P", "1 0 0 F"], "0.5 P", "P", "2/3/0"),
    Case("one, two and four turns", [mean(0.5)], ["1 P", "1 0 P", "1 0 0 0 F"], "0.428571 F", "F", "2/3/0"),
    Case("turn without a score", [mean(0.5)], ["1 - P", "0 F"], "0.5 P", "P", "1/2/0"),
    Case("runs without turn scores", [mean(0.7)], ["=1 P", "=0.5 F"], "0.75 P", "P", "1/2/0"),
    Case("overall is the best turn", [mean(0.8)], ["1 0 =1 P", "1 1 =1 P"], "0.75 F", "F", "2/2/0"),
    Case("overall of a single run counts", [mean(0.8)], ["1 0 =1 P"], "1 P", "P", "1/1/0"),
]

WORST = [
    Case("every run passes", [worst(0.6)], ["0.9 P", "0.7 P"], "0.7 P", "P", "2/2/0"),
    Case("one run is too bad", [worst(0.6)], ["0.9 P", "0.5 F"], "0.5 F", "F", "1/2/0"),
    Case("one in five is too bad", [worst(0.6)], ["1 P"] * 4 + ["0.5 F"], "0.5 F", "F", "4/5/0"),
    Case("worst run, not worst turn", [worst(0.5)], ["1 0 P", "1 1 P"], "0.5 P", "P", "2/2/0"),
    Case("worst run of other length", [worst(0.5)], ["1 1 1 1 P", "1 0 0 F"], "0.333333 F", "F", "1/2/0"),
    Case("worst at the threshold", [worst(0.7)], ["0.7 P", "0.9 P"], "0.7 P", "P", "2/2/0"),
]

RATE = [
    Case("all of all", [rate(1.0)], ["1 P"] * 4, "1 P", "P", "4/4/0"),
    Case("four of five, all wanted", [rate(1.0)], ["1 P"] * 4 + ["0 F"], "0.8 F", "F", "4/5/0"),
    Case("no share named means all", [rate(None)], ["1 P"] * 4 + ["0 F"], "0.8 F", "F", "4/5/0"),
    Case("four of five, four wanted", [rate(0.8)], ["1 P"] * 4 + ["0 F"], "0.8 P", "P", "4/5/0"),
    Case("three of four, 0.8 wanted", [rate(0.8)], ["1 P"] * 3 + ["0 F"], "0.75 F", "F", "3/4/0"),
    Case("two of three, 0.67 wanted", [rate(0.67)], ["1 P", "1 P", "0 F"], "0.666667 F", "F", "2/3/0"),
    Case("three of five, 0.6 wanted", [rate(0.6)], ["1 P"] * 3 + ["0 F"] * 2, "0.6 P", "P", "3/5/0"),
    Case("none passes, none wanted", [rate(0.0)], ["0 F", "0 F"], "0 P", "P", "0/2/0"),
    Case("a run counts once, however long", [rate(0.5, 0.5)], ["1 P", "1 0 0 F"], "0.5 P", "P", "1/2/0"),
    Case("high scores of failed runs do not help", [rate(0.5)], ["0.79 F"] * 3, "0 F", "F", "0/3/0"),
]

CRASHES = [
    Case("the only run", [mean(0.8)], ["crash"], "- ?", "F", "0/0/1"),
    Case("mean, beyond the limit", [mean(0.8)], ["1 P", "1 P", "crash"], "1 P", "F", "2/2/1"),
    Case("mean, within the limit", [mean(0.7)], ["1 P", "crash", "0.5 F"], "0.75 P", "P", "1/2/1", 1),
    Case("mean, at the limit of two", [mean(0.8)], ["crash", "crash", "1 P"], "1 P", "P", "1/1/2", 2),
    Case("mean, two where one may", [mean(0.8)], ["crash", "1 P", "crash"], "1 P", "F", "1/1/2", 1),
    Case("mean, within the limit, fails", [mean(0.8)], ["crash", "1 P", "0.5 F"], "0.75 F", "F", "1/2/1", 1),
    Case("worst, a crash is no zero", [worst(0.8)], ["0.9 P", "crash"], "0.9 P", "P", "1/1/1", 1),
    Case("worst, beyond the limit", [worst(0.8)], ["0.9 P", "crash"], "0.9 P", "F", "1/1/1"),
    Case("worst, within the limit, fails", [worst(0.8)], ["0.7 F", "crash", "1 P"], "0.7 F", "F", "1/2/1", 1),
    Case("rate, in no denominator", [rate(1.0)], ["1 P"] * 3 + ["crash"], "1 P", "P", "3/3/1", 1),
    Case("rate, beyond the limit", [rate(1.0)], ["1 P"] * 3 + ["crash"], "1 P", "F", "3/3/1"),
    Case("rate, half of two scored", [rate(0.5)], ["1 P", "0 F", "crash"], "0.5 P", "P", "1/2/1", 1),
    Case("rate, within the limit, fails", [rate(0.6)], ["1 P", "0 F", "crash"], "0.5 F", "F", "1/2/1", 1),
    Case("all of them, none may", [rate(0.0)], ["crash"] * 4, "- ?", "F", "0/0/4"),
    Case("all of them, all may: mean", [mean(0.0)], ["crash"] * 4, "- ?", "?", "0/0/4", 4),
    Case("all of them, all may: worst", [worst(0.0)], ["crash"] * 4, "- ?", "?", "0/0/4", 9),
    Case("all of them, all may: rate", [rate(0.0)], ["crash"] * 4, "- ?", "?", "0/0/4", 9),
]

APART = ["1 P | 1 P"] * 3 + ["0 F | 1 P", "1 P | 0 F"]
"""Four of five each, in different runs."""
TOGETHER = ["1 P | 1 P"] * 4 + ["0 F | 0 F"]
HALF = ["1 P | 1 P", "0 F | 1 P"]
RATES = [rate(0.8), rate(0.8)]
MEANS = [mean(0.8), mean(0.8)]
LOW_MEANS = [mean(0.5), mean(0.5)]
THREE = [mean(0.5), worst(0.5), rate(0.5)]
LONG_FORM = {"method": "pass_rate", "threshold": 0.6}
THREE_RUNS = ["1 P | 1 P | 0 F", "1 P | 0 F | 1 P"]

JOINT = [
    Case("4/5 and 4/5 are 3/5 together", RATES, APART, "0.8 P | 0.8 P", "F", "3/5/0", joint=0.8),
    Case("3/5 are enough", RATES, APART, "0.8 P | 0.8 P", "P", "3/5/0", joint={"pass_rate": 0.6}),
    Case("4/5 in the same runs", RATES, TOGETHER, "0.8 P | 0.8 P", "P", "4/5/0", joint=0.8),
    Case("not asked for", RATES, APART, "0.8 P | 0.8 P", "P", "3/5/0"),
    Case("met, but a metric fails", [rate(0.9), rate(0.8)], APART, "0.8 F | 0.8 P", "F", "3/5/0", joint=0.5),
    Case("means pass, runs do not", LOW_MEANS, HALF, "0.5 P | 1 P", "F", "1/2/0", joint=1.0),
    Case("means pass, half is enough", LOW_MEANS, HALF, "0.5 P | 1 P", "P", "1/2/0", joint=0.5),
    Case("in the long form", LOW_MEANS, HALF, "0.5 P | 1 P", "F", "1/2/0", joint=LONG_FORM),
    Case("of a single metric", [mean(0.5)], ["1 P", "0.4 F"], "0.7 P", "F", "1/2/0", joint=0.8),
    Case("crash in no denominator", [worst(0.8)], ["1 P", "1 P", "crash"], "1 P", "P", "2/2/1", 1, 1.0),
    Case("met, but a crash too many", [worst(0.8)], ["1 P", "1 P", "crash"], "1 P", "F", "2/2/1", 0, 1.0),
    Case("every run crashed", [rate(0.5)], ["crash", "crash"], "- ?", "?", "0/0/2", 2, 0.5),
    Case("three methods, one fails", THREE, THREE_RUNS, "1 P | 0 F | 0.5 P", "F", "0/2/0", joint=0.0),
]

MIXED = [mean(0.05), mean(0.8)]
MIXED_WORST = [worst(0.05), worst(0.8)]
DISJOINT = ["0.02 P | 0.5 F", "0.09 F | 1 P"]
LOWER_THREE = [mean(0.05), worst(0.05), rate(0.5, 0.05)]
LOWER_RUNS = ["0.02 P | 0.02 P | 0.02 P", "0.06 F | 0.06 F | 0.06 F"]

LOWER_IS_BETTER = [
    Case("cheap", [mean(0.05)], ["0.02 P"], "0.02 P", "P", "1/1/0"),
    Case("dear", [mean(0.05)], ["0.09 F"], "0.09 F", "F", "0/1/0"),
    Case("mean, every run low", [mean(0.05)], ["0.01 P", "0.03 P"], "0.02 P", "P", "2/2/0"),
    Case("mean, every run high", [mean(0.05)], ["0.09 F", "0.07 F"], "0.08 F", "F", "0/2/0"),
    Case("mean, a high run is made up for", [mean(0.05)], ["0.02 P", "0.06 F"], "0.04 P", "P", "1/2/0"),
    Case("mean, a high run is too high", [mean(0.05)], ["0.02 P", "0.1 F"], "0.06 F", "F", "1/2/0"),
    Case("mean at the threshold", [mean(0.5)], ["0.25 P", "0.75 F"], "0.5 P", "P", "1/2/0"),
    Case("mean over turns", [mean(0.05)], ["0.02 0.02 0.02 P", "0.09 F"], "0.0375 P", "P", "1/2/0"),
    Case("mean, a crash allowed", [mean(0.05)], ["0.02 P", "crash", "0.04 P"], "0.03 P", "P", "2/2/1", 1),
    Case("worst is the highest, and low", [worst(0.05)], ["0.04 P", "0.02 P"], "0.04 P", "P", "2/2/0"),
    Case("worst is the highest, and high", [worst(0.05)], ["0.02 P", "0.09 F"], "0.09 F", "F", "1/2/0"),
    Case("worst, every run high", [worst(0.05)], ["0.07 F", "0.09 F"], "0.09 F", "F", "0/2/0"),
    Case("worst at the threshold", [worst(0.05)], ["0.05 P", "0.02 P"], "0.05 P", "P", "2/2/0"),
    Case("worst, a crash too many", [worst(0.05)], ["crash", "0.02 P", "0.04 P"], "0.04 P", "F", "2/2/1"),
    Case("rate of low runs", [rate(0.5, 0.05)], ["0.02 P", "0.09 F"], "0.5 P", "P", "1/2/0"),
    Case("rate of low runs, too few", [rate(0.6, 0.05)], ["0.02 P", "0.09 F"], "0.5 F", "F", "1/2/0"),
    Case("a higher one beside it", MIXED, ["0.02 P | 1 P"] * 2, "0.02 P | 1 P", "P", "2/2/0", joint=1.0),
    Case("both fail, in different runs", MIXED_WORST, DISJOINT, "0.09 F | 0.5 F", "F", "0/2/0", joint=0.5),
    Case("mean, worst and rate", LOWER_THREE, LOWER_RUNS, "0.04 P | 0.06 F | 0.5 P", "F", "1/2/0"),
]

ONE_LACKS = ["1 P | 1 P", "1 P | missing"]
FAILS_AND_LACKS = ["1 P | 0 F", "1 P | missing"]
MEAN_WORST = [mean(0.8), worst(0.8)]
MEAN_RATE = [mean(0.8), rate(0.5)]

PARTIAL = [
    Case("the only metric of the only run", [mean(0.8)], ["missing"], "- ?", "?", "0/0/0"),
    Case("in every run", [rate(0.0)], ["missing", "missing"], "- ?", "?", "0/0/0"),
    Case("in every run, another passes", MEANS, ["1 P | missing"] * 2, "1 P | - ?", "?", "0/2/0"),
    Case("in every run, another fails", MEANS, ["0 F | missing"] * 2, "0 F | - ?", "F", "0/2/0"),
    Case("mean, in one run", MEANS, ONE_LACKS, "1 P | 1 ?", "?", "1/2/0"),
    Case("worst, in one run", MEAN_WORST, ONE_LACKS, "1 P | 1 ?", "?", "1/2/0"),
    Case("rate, in one run", MEAN_RATE, ONE_LACKS, "1 P | 1 ?", "?", "1/2/0"),
    Case("mean fails without it", MEANS, FAILS_AND_LACKS, "1 P | 0 F", "F", "0/2/0"),
    Case("worst fails without it", MEAN_WORST, FAILS_AND_LACKS, "1 P | 0 F", "F", "0/2/0"),
    Case("rate fails without it", MEAN_RATE, FAILS_AND_LACKS, "1 P | 0 F", "F", "0/2/0"),
    Case("rate met without it", MEAN_RATE, ["1 P | 0 F", *ONE_LACKS], "1 P | 0.5 ?", "?", "1/3/0"),
    Case("each metric in another run", MEANS, ["1 P | missing", "missing | 1 P"], "1 ? | 1 ?", "?", "0/2/0"),
    Case("a crash beside it", MEANS, [*ONE_LACKS, "crash"], "1 P | 1 ?", "?", "1/2/1", 1),
    Case("a crash too many beside it", MEANS, [*ONE_LACKS, "crash"], "1 P | 1 ?", "F", "1/2/1"),
    Case("only a crash beside it", [mean(0.8)], ["missing", "crash"], "- ?", "?", "0/0/1", 1),
    Case("not a run in which all passed", MEANS, ONE_LACKS, "1 P | 1 ?", "F", "1/2/0", joint=1.0),
    Case("half the runs are enough", MEANS, ONE_LACKS, "1 P | 1 ?", "?", "1/2/0", joint=0.5),
    Case("lower is better", [mean(0.05)], ["0.02 P", "0.03 P", "missing"], "0.025 ?", "?", "2/2/0"),
]

SITUATIONS = {
    "mean": MEAN,
    "worst": WORST,
    "rate": RATE,
    "crash": CRASHES,
    "joint": JOINT,
    "lower is better": LOWER_IS_BETTER,
    "missing": PARTIAL,
}
ROWS = [pytest.param(case, id=f"{group}: {case.id}") for group, cases in SITUATIONS.items() for case in cases]


@pytest.mark.parametrize("case", ROWS)
def test_situation(case: Case) -> None:
    result = evaluated(case)
    expected = [part.split() for part in case.scores.split("|")]
    gating = [metric for metric in result.metrics if metric.threshold is not None]
    assert [sign(metric.status) for metric in gating] == [status for _, status in expected]
    for metric, (score, _) in zip(gating, expected, strict=True):
        assert metric.score == (None if score == "-" else pytest.approx(float(score), abs=1e-6))
    assert sign(result.verdict) == case.verdict
    assert f"{result.passed}/{result.scored}/{result.crashed}" == case.counts
    assert result.attempts == len(case.runs)


@pytest.mark.parametrize("case", ROWS)
def test_rates_are_of_scored_runs_and_have_an_interval(case: Case) -> None:
    result = evaluated(case)
    for one in (result, *(metric for metric in result.metrics if metric.threshold is not None)):
        assert one.scored is not None
        assert one.passed is not None
        if one.scored:
            assert one.interval is not None
            assert one.interval[0] <= one.pass_rate == one.passed / one.scored <= one.interval[1]
        else:
            assert (one.pass_rate, one.interval) == (None, None)


@pytest.mark.parametrize(
    ("runs", "flaky"),
    [
        pytest.param(["1 P", "1 P"], False, id="all pass"),
        pytest.param(["0 F", "0 F"], False, id="all fail"),
        pytest.param(["1 P", "0 F"], True, id="one passes, one fails"),
        pytest.param(["1 P", "crash"], True, id="one passes, one crashes"),
        pytest.param(["0 F", "crash"], False, id="one fails, one crashes"),
        pytest.param(["crash", "crash"], False, id="all crash"),
        pytest.param(["1 P"], False, id="one run"),
    ],
)
def test_flaky_is_a_case_that_passed_in_some_runs_and_not_in_others(runs: list[str], flaky: bool) -> None:
    lenient = Case("", [rate(0.0)], runs, "", "", "", max_crashed=9)
    strict = Case("", [worst(1.0)], runs, "", "", "")
    assert [evaluated(case).flaky for case in (lenient, strict)] == [flaky, flaky]


def test_reasons_name_the_counts() -> None:
    crashed = evaluated(Case("", [rate(1.0)], ["1 P", "crash", "1 P"], "", "", ""))
    assert crashed.reasons == ["1 of 3 runs crashed, 0 may"]
    apart = evaluated(Case("", RATES, APART, "", "", "", joint=0.8))
    assert apart.reasons == ["all metrics passed together in 3 of 5 runs (0.60), 0.80 is required"]
    missing = evaluated(Case("", MEANS, ONE_LACKS, "", "", ""))
    assert missing.metrics[1].reason == "no score in 1 of 2 runs: RuntimeError: quota exceeded"


def test_per_run_scores_stand_in_run_order_with_none_for_a_crash() -> None:
    result = evaluated(Case("", [worst(0.5)], ["1 0 P", "crash", "missing", "1 P"], "", "", ""))
    assert result.metrics[0].per_run == [0.5, None, None, 1.0]
    assert [run.status.value for run in result.runs] == ["COMPLETED", "CRASHED", "COMPLETED", "COMPLETED"]


def test_chances_of_k_runs_are_those_of_the_number_of_runs_and_none_where_runs_are_missing() -> None:
    flaky = evaluated(Case("", [rate(1.0)], ["1 P"] * 4 + ["0 F"], "", "", ""))
    assert (flaky.pass_at_k, flaky.pass_hat_k) == (1.0, 0.0)
    crashed = evaluated(Case("", [rate(1.0)], ["1 P"] * 4 + ["crash"], "", "", ""))
    assert (crashed.pass_at_k, crashed.pass_hat_k) == (None, None)
    single = evaluated(Case("", [rate(1.0)], ["1 P"], "", "", ""))
    assert (single.pass_at_k, single.pass_hat_k) == (None, None)


def sign(status: EvalStatus) -> str:
    return {**{status: letter for letter, status in STATUSES.items()}, EvalStatus.NOT_EVALUATED: "?"}[status]


def evaluated(case: Case) -> CaseResult:
    records = [record(case.rules, index, text) for index, text in enumerate(case.runs)]
    return case_result("set", "case", "", config(case), [outcome_of(one) for one in records])


def config(case: Case) -> EvalConfig:
    """The config as a file would have it."""
    by_metric: dict[str, Any] = {}
    for name, rule in zip("abc", case.rules, strict=False):
        if rule.method == "pass_rate" and rule.share is not None:
            by_metric[name] = {"method": rule.method, "threshold": rule.share}
        elif rule.method:
            by_metric[name] = rule.method
    multi = {
        "num_runs": len(case.runs),
        "max_crashed_runs": case.max_crashed,
        "cross_run_scoring_by_metric": by_metric,
    }
    if case.joint is not None:
        multi["cross_run_criteria"] = case.joint
    criteria = {name: rule.criterion for name, rule in zip("abc", case.rules, strict=False)}
    return EvalConfig.model_validate({"criteria": criteria, "multi_run_config": multi})


def record(rules: Sequence[Rule], run_index: int, text: str) -> RunRecord:
    crashed = text == "crash"
    error = ErrorInfo(type="RuntimeError", message="socket reset") if crashed else None
    parts = [] if crashed else text.split("|")
    metrics = [
        metric(name, rule.criterion, part) for name, rule, part in zip("abc", rules, parts, strict=False)
    ]
    return RunRecord(
        eval_set_id="set",
        eval_id="case",
        run_index=run_index,
        seed=0,
        status=RunStatus.CRASHED if crashed else RunStatus.COMPLETED,
        started="2026-01-01T00:00:00.000Z",
        seconds=0.1,
        error=error,
        metrics=metrics,
    )


def metric(name: str, threshold: float, text: str) -> MetricResult:
    *scores, status = text.split()
    if status == "missing":
        return MetricResult(
            metric_name=name,
            status=EvalStatus.NOT_EVALUATED,
            threshold=threshold,
            reason="RuntimeError: quota exceeded",
        )
    turns = [None if score == "-" else float(score) for score in scores if not score.startswith("=")]
    overall = [float(score[1:]) for score in scores if score.startswith("=")]
    known = [turn for turn in turns if turn is not None]
    return MetricResult(
        metric_name=name,
        status=STATUSES[status],
        score=overall[0] if overall else sum(known) / len(known),
        threshold=threshold,
        per_invocation=[InvocationScore(score=turn, status=STATUSES[status]) for turn in turns],
    )
