from __future__ import annotations

from typing import Any

import pytest

from agent_eval.aggregate.statistics import wilson_interval
from agent_eval.compare.comparison import Change, Comparison, compare
from agent_eval.compare.gate import Gate
from agent_eval.schema.result import (
    AgentRef,
    CaseMetric,
    CaseResult,
    ConfigRef,
    EvalResult,
    EvalSetRef,
    Provenance,
    Totals,
)
from agent_eval.schema.trace import EvalStatus

PASSED, FAILED, NOT_EVALUATED = EvalStatus.PASSED, EvalStatus.FAILED, EvalStatus.NOT_EVALUATED


def case(
    eval_id: str,
    verdict: EvalStatus = PASSED,
    passed: int = 1,
    scored: int = 1,
    *,
    sha256: str = "as it was",
    **scores: float | None,
) -> CaseResult:
    return CaseResult(
        eval_set_id="orders",
        eval_id=eval_id,
        sha256=sha256,
        verdict=verdict,
        flaky=0 < passed < scored,
        attempts=scored,
        scored=scored,
        passed=passed,
        crashed=0,
        pass_rate=passed / scored if scored else None,
        interval=wilson_interval(passed, scored),
        metrics=[
            *(
                CaseMetric(metric_name=name, score=score, threshold=0.5, status=PASSED)
                for name, score in scores.items()
            ),
            CaseMetric(metric_name="tool_call_count_v1", score=passed, status=EvalStatus.INFORMATIONAL),
        ],
        runs=[],
    )


CRITERIA: dict[str, Any] = {
    "tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "EXACT", "ignore_args": False},
    "response_match_score": {"threshold": 0.8},
}
MULTI_RUN: dict[str, Any] = {
    "num_runs": 5,
    "max_crashed_runs": 0,
    "cross_run_scoring_by_metric": {"response_match_score": {"method": "pass_rate", "threshold": 1.0}},
    "cross_run_criteria": None,
}


def result(
    *cases: CaseResult,
    result_id: str = "baseline",
    criteria: dict[str, Any] = CRITERIA,
    multi_run: dict[str, Any] = MULTI_RUN,
    agent: str = "desk",
    eval_set_id: str = "orders",
    stopped: str | None = None,
) -> EvalResult:
    """A result as it is written; the counts in its totals are not looked at."""
    return EvalResult(
        result_id=result_id,
        created="2026-01-31T09:30:00.000Z",
        eval_set=EvalSetRef(eval_set_id=eval_set_id, path="orders.evalset.json", sha256=""),
        agent=AgentRef(name=agent, kind="python", reference="desk.py"),
        config=ConfigRef(path=None, sha256="", criteria=criteria, multi_run_config=multi_run),
        provenance=Provenance(command="agent-eval", seed=0, git_commit=None, git_dirty=None, packages={}),
        totals=Totals(
            cases=0, passed=0, failed=0, not_evaluated=0, flaky=0, duration_seconds=0.0, tokens={"total": 0}
        ),
        stopped=stopped,
        cases=list(cases),
    )


def compared(before: list[CaseResult], after: list[CaseResult]) -> Comparison:
    return compare(result(*before), result(*after, result_id="candidate"))


def test_regressions_come_first_then_fixed_new_removed_and_unchanged() -> None:
    before = [
        case("same"),
        case("removed"),
        case("fixed", FAILED),
        case("worse"),
        case("still_bad", FAILED),
        case("worse_too"),
    ]
    after = [
        case("new"),
        case("worse_too", FAILED),
        case("worse", FAILED),
        case("still_bad", FAILED),
        case("fixed"),
        case("same"),
    ]
    comparison = compared(before, after)
    assert (comparison.baseline, comparison.candidate) == ("baseline", "candidate")
    assert [(one.change, one.eval_id) for one in comparison.cases] == [
        (Change.REGRESSED, "worse"),
        (Change.REGRESSED, "worse_too"),
        (Change.FIXED, "fixed"),
        (Change.NEW, "new"),
        (Change.REMOVED, "removed"),
        (Change.UNCHANGED, "same"),
        (Change.UNCHANGED, "still_bad"),
    ]
    assert [comparison.counts[change] for change in Change] == [2, 1, 0, 1, 1, 2]
    assert list(comparison.counts) == list(Change)
    assert comparison.fails(Gate.REGRESSION)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (PASSED, PASSED, Change.UNCHANGED),
        (PASSED, FAILED, Change.REGRESSED),
        (PASSED, NOT_EVALUATED, Change.REGRESSED),
        (FAILED, PASSED, Change.FIXED),
        (FAILED, FAILED, Change.UNCHANGED),
        (FAILED, NOT_EVALUATED, Change.UNCHANGED),
        (NOT_EVALUATED, PASSED, Change.FIXED),
        (NOT_EVALUATED, FAILED, Change.UNCHANGED),
        (None, PASSED, Change.NEW),
        (None, FAILED, Change.NEW),
        (PASSED, None, Change.REMOVED),
        (FAILED, None, Change.REMOVED),
    ],
)
def test_change_of_a_case(before: EvalStatus | None, after: EvalStatus | None, change: Change) -> None:
    comparison = compared(
        [case("one", before)] if before else [],
        [case("one", after)] if after else [],
    )
    (one,) = comparison.cases
    assert (one.change, one.before, one.after) == (change, before, after)
    assert comparison.fails(Gate.REGRESSION) == (change is Change.REGRESSED)


def test_scores_that_differ_are_told_with_their_difference() -> None:
    comparison = compared(
        [case("one", same=1.0, worse=0.75, lost=0.5, absent=None, dropped=1.0)],
        [case("one", same=1.0, worse=0.5, lost=None, absent=None, added=0.25)],
    )
    scores = {score.metric_name: score for score in comparison.cases[0].scores}
    assert list(scores) == ["worse", "lost", "dropped", "added"]
    assert (scores["worse"].before, scores["worse"].after, scores["worse"].delta) == (0.75, 0.5, -0.25)
    assert (scores["lost"].before, scores["lost"].after, scores["lost"].delta) == (0.5, None, None)
    assert (scores["dropped"].after, scores["added"].before) == (None, None)


def test_a_case_on_one_side_has_no_scores_to_compare() -> None:
    comparison = compared([case("removed", metric=1.0)], [case("new", metric=1.0)])
    assert [one.scores for one in comparison.cases] == [[], []]
    assert [(one.runs_before, one.runs_after) for one in comparison.cases] == [(None, "1/1"), ("1/1", None)]


def changed(values: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy of a nested document in which one key has another value."""
    key, _, rest = path.partition(".")
    return {**values, key: changed(values[key], rest, value) if rest else value}


THRESHOLD = "response_match_score.threshold"
MATCH_TYPE = "tool_trajectory_avg_score.match_type"
RULE = "cross_run_scoring_by_metric.response_match_score.threshold"


@pytest.mark.parametrize(
    ("candidate", "goalpost"),
    [
        pytest.param(
            result(criteria=changed(CRITERIA, THRESHOLD, 0.9)), (THRESHOLD, "0.8", "0.9"), id="threshold"
        ),
        pytest.param(
            result(criteria=changed(CRITERIA, MATCH_TYPE, "IN_ORDER")),
            (MATCH_TYPE, "EXACT", "IN_ORDER"),
            id="match type",
        ),
        pytest.param(
            result(criteria={**CRITERIA, "safety_v1": {"threshold": 0.9}}),
            ("safety_v1", "no criterion", "a criterion"),
            id="metric added",
        ),
        pytest.param(
            result(criteria={"response_match_score": {"threshold": 0.8}}),
            ("tool_trajectory_avg_score", "a criterion", "no criterion"),
            id="metric removed",
        ),
        pytest.param(
            result(multi_run=changed(MULTI_RUN, "num_runs", 10)), ("num_runs", "5", "10"), id="num_runs"
        ),
        pytest.param(
            result(multi_run=changed(MULTI_RUN, "max_crashed_runs", 2)),
            ("max_crashed_runs", "0", "2"),
            id="crash limit",
        ),
        pytest.param(
            result(multi_run=changed(MULTI_RUN, "cross_run_criteria", 0.8)),
            ("cross_run_criteria", "not set", "0.8"),
            id="joint criterion",
        ),
        pytest.param(result(multi_run=changed(MULTI_RUN, RULE, 0.5)), (RULE, "1.0", "0.5"), id="share"),
        pytest.param(result(agent="new_desk"), ("agent", "desk", "new_desk"), id="agent"),
        pytest.param(result(eval_set_id="refunds"), ("eval set", "orders", "refunds"), id="eval set"),
        pytest.param(
            result(stopped="stopped by --fail_fast"),
            ("stopped early", "not set", "stopped by --fail_fast"),
            id="stopped early",
        ),
    ],
)
def test_moved_goalpost_is_named(candidate: EvalResult, goalpost: tuple[str, str, str]) -> None:
    (found,) = compare(result(), candidate).goalposts
    assert (found.what, found.before, found.after) == goalpost
    (back,) = compare(candidate, result()).goalposts
    assert (back.what, back.before, back.after) == (goalpost[0], goalpost[2], goalpost[1])


def test_edited_case_is_a_moved_goalpost() -> None:
    comparison = compared([case("one"), case("two")], [case("one"), case("two", FAILED, sha256="edited")])
    (found,) = comparison.goalposts
    assert (found.what, found.after) == ("case two", "edited")
    assert {one.eval_id: one.case_changed for one in comparison.cases} == {"one": False, "two": True}


def test_result_differs_from_itself_in_nothing() -> None:
    one = result(case("flaky", FAILED, 4, 5, metric=0.8), case("good", passed=5, scored=5))
    comparison = compare(one, one)
    assert comparison.goalposts == []
    assert [(each.change, each.scores, each.within_noise) for each in comparison.cases] == [
        (Change.UNCHANGED, [], False)
    ] * 2
    assert not comparison.fails(Gate.REGRESSION)


@pytest.mark.parametrize(
    ("before", "after", "within"),
    [
        pytest.param((5, 5), (4, 5), True, id="5/5 and 4/5"),
        pytest.param((50, 50), (30, 50), False, id="50/50 and 30/50"),
        pytest.param((5, 5), (0, 5), False, id="5/5 and 0/5"),
        pytest.param((3, 3), (0, 3), True, id="3/3 and 0/3: three runs tell nothing apart"),
        pytest.param((1, 1), (0, 1), True, id="single runs"),
        pytest.param((4, 5), (4, 5), False, id="the same rate"),
        pytest.param((4, 5), (8, 10), False, id="the same rate of more runs"),
    ],
)
def test_within_noise(before: tuple[int, int], after: tuple[int, int], within: bool) -> None:
    for one, other in ((before, after), (after, before)):
        (change,) = compared([case("one", PASSED, *one)], [case("one", PASSED, *other)]).cases
        assert change.within_noise == within
        assert (change.runs_to_settle is not None) == within


def test_runs_that_would_settle_a_difference_are_told() -> None:
    (single,) = compared([case("one")], [case("one", FAILED, 0)]).cases
    (five,) = compared([case("one", PASSED, 5, 5)], [case("one", FAILED, 4, 5)]).cases
    assert (single.runs_to_settle, five.runs_to_settle) == (4, 44)


def test_regression_within_noise_is_a_regression_all_the_same() -> None:
    comparison = compared([case("one", PASSED, 5, 5)], [case("one", FAILED, 4, 5)])
    (one,) = comparison.cases
    assert (one.change, one.within_noise) == (Change.REGRESSED, True)
    assert (one.pass_rate_before, one.pass_rate_after) == (1.0, 0.8)
    assert (one.runs_before, one.runs_after) == ("5/5", "4/5")
    assert comparison.fails(Gate.REGRESSION)


def test_pass_rate_that_falls_beyond_noise_is_a_regression_whatever_the_verdict() -> None:
    (one,) = compared([case("one", FAILED, 45, 50)], [case("one", FAILED, 10, 50)]).cases
    assert (one.change, one.within_noise, one.note) == (Change.REGRESSED, False, "passes less often")
    (one,) = compared([case("one", FAILED, 10, 50)], [case("one", FAILED, 45, 50)]).cases
    assert (one.change, one.within_noise) == (Change.UNCHANGED, False)


def test_crashed_runs_have_not_passed() -> None:
    crashed = case("one", FAILED, 0, 0).model_copy(update={"attempts": 5, "crashed": 5})
    comparison = compared([case("one", PASSED, 5, 5)], [crashed])
    (one,) = comparison.cases
    assert (one.change, one.within_noise) == (Change.REGRESSED, False)
    assert one.p_value == pytest.approx(2 / 252)
    assert comparison.fails(Gate.NOISE_EXCLUDED)


def test_steady_cases_cost_a_broken_one_nothing_and_flaky_ones_do() -> None:
    def adjusted(other: tuple[int, int]) -> float | None:
        before, after = [case("broken", PASSED, 5, 5)], [case("broken", FAILED, 0, 5)]
        others = [str(number) for number in range(10)]
        before += [case(name, FAILED, other[0], 5) for name in others]
        after += [case(name, FAILED, other[1], 5) for name in others]
        return compared(before, after).cases[0].adjusted_p

    assert adjusted((5, 5)) == pytest.approx(2 / 252)
    assert adjusted((3, 2)) == pytest.approx(22 / 252)


def test_flakiness_is_told_on_both_sides() -> None:
    (one,) = compared([case("one", PASSED, 5, 5)], [case("one", PASSED, 4, 5)]).cases
    assert (one.flaky_before, one.flaky_after) == (False, True)


def test_suite_sees_what_no_case_can_tell() -> None:
    names = [str(number) for number in range(8)]
    before = [case(name, FAILED, 4, 5) for name in names]
    after = [case(name, FAILED, 2, 5) for name in names]
    comparison = compared(before, after)
    assert all(one.within_noise for one in comparison.cases)
    suite = comparison.suite
    assert (suite.cases, suite.pass_rate_before, suite.pass_rate_after) == (8, 0.8, pytest.approx(0.4))
    assert suite.has_dropped
    assert not suite.within_noise
    assert comparison.fails(Gate.NOISE_EXCLUDED)
    assert not compare(result(*after), result(*before)).fails(Gate.ANY_DROP)


def test_suite_within_noise_tells_how_many_runs_would_settle_it() -> None:
    names = [str(number) for number in range(4)]
    comparison = compared(
        [case(name, FAILED, 4, 5) for name in names], [case(name, FAILED, 3, 5) for name in names]
    )
    assert comparison.suite.within_noise
    assert comparison.suite.runs_to_settle is not None
    assert comparison.suite.runs_to_settle > 5
    assert not comparison.fails(Gate.NOISE_EXCLUDED)


def test_suite_scores_are_means_over_the_cases_on_both_sides() -> None:
    comparison = compared(
        [case("one", text=1.0), case("two", text=0.5), case("removed", text=0.0)],
        [case("one", text=0.8), case("two", text=0.5), case("new", text=0.0)],
    )
    assert comparison.suite.scores == []  # the config of these results has no such criterion
    criteria = {"text": {"threshold": 0.5}}
    comparison = compare(
        result(case("one", text=1.0), case("two", text=0.5), criteria=criteria),
        result(case("one", text=0.8), case("two", text=0.5), criteria=criteria),
    )
    (score,) = comparison.suite.scores
    assert (score.before, score.after, score.worse) == (0.75, 0.65, True)


GATES = [
    pytest.param([case("one", PASSED, 5, 5)], [case("one", FAILED, 0, 5)], "all", id="broken"),
    pytest.param([case("one", PASSED, 5, 5)], [case("one", FAILED, 4, 5)], "regression", id="within noise"),
    pytest.param([case("one")], [case("one", FAILED, 0)], "regression", id="single runs"),
    pytest.param([case("one", PASSED, 5, 5)], [case("one", PASSED, 4, 5)], "any-drop", id="lower rate"),
    pytest.param([case("one", s=0.9)], [case("one", s=0.8)], "any-drop", id="lower score"),
    pytest.param([case("one"), case("two")], [case("two")], "any-drop", id="a passed case removed"),
    pytest.param([case("one", FAILED, 0), case("two")], [case("two")], "none", id="a failed case removed"),
    pytest.param([case("two")], [case("two"), case("one", FAILED, 0)], "none", id="a new case that fails"),
    pytest.param([case("one", s=0.8)], [case("one", s=0.9)], "none", id="higher score"),
    pytest.param([case("one")], [case("one", FAILED, 0, sha256="new")], "all", id="an edited case fails"),
]


@pytest.mark.parametrize(("before", "after", "least"), GATES)
def test_gates_are_nested(before: list[CaseResult], after: list[CaseResult], least: str) -> None:
    comparison = compared(before, after)
    order = [Gate.NOISE_EXCLUDED, Gate.REGRESSION, Gate.ANY_DROP]
    failing = {"all": 3, "regression": 2, "any-drop": 1, "none": 0}[least]
    assert [comparison.fails(gate) for gate in order] == [3 - place <= failing for place in range(3)]


def test_case_that_is_still_in_the_eval_set_was_skipped() -> None:
    def of_set(sha256: str, *cases: CaseResult) -> EvalResult:
        one = result(*cases)
        return one.model_copy(update={"eval_set": one.eval_set.model_copy(update={"sha256": sha256})})

    skipped = compare(of_set("a", case("one"), case("two")), of_set("a", case("one"))).cases[0]
    removed = compare(of_set("a", case("one"), case("two")), of_set("b", case("one"))).cases[0]
    assert (skipped.eval_id, skipped.change, removed.change) == ("two", Change.REMOVED, Change.REMOVED)
    assert skipped.note is not None
    assert "skipped" in skipped.note
    assert removed.note is None
