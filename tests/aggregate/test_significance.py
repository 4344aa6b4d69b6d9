from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, fisher_exact, hypergeom

from agent_eval.aggregate.significance import (
    ALPHA,
    POWER,
    Counts,
    case_tests,
    corrected,
    exact_test,
    holm,
    runs_to_tell,
    times_the_runs,
)


@st.composite
def counts(draw: st.DrawFn, most: int = 8) -> Counts:
    before, after = draw(st.integers(1, most)), draw(st.integers(1, most))
    return Counts(draw(st.integers(0, before)), before, draw(st.integers(0, after)), after)


def swapped(one: Counts) -> Counts:
    return Counts(one.passed_after, one.runs_after, one.passed_before, one.runs_before)


@given(counts(most=30))
def test_one_case_is_fishers_exact_test(one: Counts) -> None:
    tails = exact_test([one])
    failed = (one.runs_before - one.passed_before, one.runs_after - one.passed_after)
    table = [[one.passed_after, failed[1]], [one.passed_before, failed[0]]]
    assert tails.fewer == pytest.approx(fisher_exact(table, "less").pvalue, abs=1e-12)
    assert tails.more == pytest.approx(fisher_exact(table, "greater").pvalue, abs=1e-12)
    if one.runs_before == one.runs_after:  # the two definitions of two-sided agree there
        assert tails.two_sided == pytest.approx(fisher_exact(table).pvalue, abs=1e-12)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 10))
def test_one_run_a_side_is_mcnemars_exact_test(worse: int, better: int, same: int) -> None:
    cases = [Counts(1, 1, 0, 1)] * worse + [Counts(0, 1, 1, 1)] * better + [Counts(1, 1, 1, 1)] * same
    expected = binomtest(better, worse + better).pvalue if worse + better else 1.0
    assert exact_test(cases).two_sided == pytest.approx(expected, abs=1e-12)


@given(st.lists(counts(most=4), min_size=1, max_size=4))
def test_several_cases_are_what_dealing_all_runs_again_gives(cases: list[Counts]) -> None:
    observed = sum(one.passed_after for one in cases)
    fewer = more = 0.0
    for dealt in itertools.product(*(range(one.runs_after + 1) for one in cases)):
        chance = math.prod(
            hypergeom.pmf(
                k, one.runs_before + one.runs_after, one.passed_before + one.passed_after, one.runs_after
            )
            for k, one in zip(dealt, cases, strict=True)
        )
        fewer += chance if sum(dealt) <= observed else 0.0
        more += chance if sum(dealt) >= observed else 0.0
    tails = exact_test(cases)
    assert (tails.fewer, tails.more) == (pytest.approx(fewer, abs=1e-9), pytest.approx(more, abs=1e-9))


@given(st.lists(counts(), max_size=8))
def test_sides_are_treated_alike(cases: list[Counts]) -> None:
    tails, other = exact_test(cases), exact_test([swapped(one) for one in cases])
    assert (tails.fewer, tails.more) == (pytest.approx(other.more), pytest.approx(other.fewer))
    assert 0.0 <= tails.two_sided <= 1.0
    here, there = case_tests(cases), case_tests([swapped(one) for one in cases])
    differ = [one.difference != 0 for one in cases]
    pairs = [pair for pair, differs in zip(zip(here, there, strict=True), differ, strict=True) if differs]
    assert all(left.adjusted == pytest.approx(right.adjusted) for left, right in pairs)


def test_thousands_of_flaky_cases_are_tested_exactly() -> None:
    worse, better = 1100, 900
    cases = [Counts(1, 1, 0, 1)] * worse + [Counts(0, 1, 1, 1)] * better
    assert exact_test(cases).two_sided == pytest.approx(binomtest(better, worse + better).pvalue, rel=1e-9)


def test_nothing_compared_is_no_difference() -> None:
    assert exact_test([]).two_sided == 1.0
    assert case_tests([]) == []


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.5, 0.9], [1.0, 1.0]),
    ],
)
def test_holm(p_values: list[float], expected: list[float]) -> None:
    assert holm(p_values) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_lies_between_none_and_bonferroni(p_values: list[float]) -> None:
    for raw, adjusted in zip(p_values, holm(p_values), strict=True):
        assert raw <= adjusted <= min(1.0, len(p_values) * raw)


def test_cases_that_cannot_differ_cost_nothing() -> None:
    broken, steady = Counts(5, 5, 0, 5), Counts(5, 5, 5, 5)
    alone, among = case_tests([broken])[0], case_tests([broken, *[steady] * 99])[0]
    assert alone == among
    assert among.is_beyond_noise
    assert among.compared == 1


def test_cases_that_could_differ_share_the_error() -> None:
    broken, flaky = Counts(5, 5, 0, 5), Counts(3, 5, 2, 5)
    few, many = case_tests([broken, flaky])[0], case_tests([broken, *[flaky] * 9])[0]
    assert (few.p_value, few.compared) == (pytest.approx(2 / 252), 2)
    assert few.adjusted == pytest.approx(4 / 252)
    assert many.adjusted > few.adjusted


def test_tests_that_cannot_reach_significance_are_never_significant() -> None:
    assert corrected([0.02, 0.001], [0.02, 0.001], alpha=0.025) == [1.0, 0.001]
    assert corrected([0.02, 0.02], [0.02, 0.02], alpha=0.025) == [0.04, 0.04]


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [(1.0, 0.0, 4), (1.0, 0.8, 44), (0.9, 0.5, 25), (0.5, 0.5, None), (0.0, 1.0, 4)],
)
def test_runs_that_would_tell(before: float, after: float, runs: int | None) -> None:
    assert runs_to_tell(before, after) == runs


@pytest.mark.parametrize(("before", "after"), [(1.0, 0.5), (0.9, 0.5), (0.8, 0.6), (0.2, 0.7)])
def test_advised_runs_find_the_difference_as_often_as_said(before: float, after: float) -> None:
    runs = runs_to_tell(before, after)
    assert runs is not None
    power = sum(
        binom.pmf(one, runs, before) * binom.pmf(other, runs, after)
        for one, other in itertools.product(range(runs + 1), repeat=2)
        if exact_test([Counts(one, runs, other, runs)]).two_sided <= ALPHA
    )
    assert power > POWER - 0.05


def test_more_comparisons_need_more_runs() -> None:
    few, many = runs_to_tell(1.0, 0.5), runs_to_tell(1.0, 0.5, compared=20)
    assert few is not None
    assert many is not None
    assert few < many


def test_times_the_runs_is_one_near_the_level_that_is_found() -> None:
    cases = [Counts(16, 20, 10, 20)] * 3
    times = times_the_runs(cases)
    assert times is not None
    assert 0.5 < times < 1.5
    assert times_the_runs([Counts(4, 5, 4, 5)]) is None
    assert times_the_runs([]) is None


@pytest.mark.parametrize("runs", [(4, 4), (3, 5)])
def test_nothing_changed_is_rarely_said_to_have(runs: tuple[int, int]) -> None:
    """All outcomes of two cases, each with its chance: at most half of `ALPHA` drop, in cases or together."""
    before, after = runs
    rates = [(0.5, 0.5), (0.8, 0.95), (1.0, 0.7)]
    case_alarms, suite_alarms = dict.fromkeys(rates, 0.0), dict.fromkeys(rates, 0.0)
    for outcome in itertools.product(range(before + 1), range(after + 1), repeat=2):
        cases = [Counts(outcome[0], before, outcome[1], after), Counts(outcome[2], before, outcome[3], after)]
        tests = zip(cases, case_tests(cases), strict=True)
        case_alarm = any(test.is_beyond_noise and one.difference < 0 for one, test in tests)
        suite_alarm = 2 * exact_test(cases).fewer <= ALPHA
        for each in rates:
            chance = math.prod(
                _chance(one.passed_before, before, rate) * _chance(one.passed_after, after, rate)
                for one, rate in zip(cases, each, strict=True)
            )
            case_alarms[each] += chance * case_alarm
            suite_alarms[each] += chance * suite_alarm
    assert max(case_alarms.values()) <= ALPHA / 2
    assert max(suite_alarms.values()) <= ALPHA / 2


def _chance(passed: int, runs: int, rate: float) -> float:
    return math.comb(runs, passed) * rate**passed * (1 - rate) ** (runs - passed)
