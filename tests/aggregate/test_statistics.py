from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from scipy.stats import binomtest

from agent_eval.aggregate.statistics import (
    WEAK_HALF_WIDTH,
    Z_95,
    pass_at_k,
    pass_hat_k,
    runs_for_half_width,
    wilson_interval,
)


@pytest.mark.parametrize("total", [*range(1, 61), 1000])
def test_interval_is_the_one_of_scipy(total: int) -> None:
    for passed in range(total + 1):
        interval = wilson_interval(passed, total)
        proved = binomtest(passed, total).proportion_ci(confidence_level=0.95, method="wilson")
        assert interval == pytest.approx((proved.low, proved.high), abs=1e-6)


def test_interval_of_no_runs_is_absent() -> None:
    assert wilson_interval(0, 0) is None


def test_interval_holds_the_rate_and_stays_between_zero_and_one() -> None:
    for total in range(1, 61):
        for passed in range(total + 1):
            low, high = wilson_interval(passed, total) or (-1.0, -1.0)
            assert 0.0 <= low <= passed / total <= high <= 1.0


@pytest.mark.parametrize(
    ("estimate", "of_k"),
    [
        pytest.param(pass_at_k, any, id="pass@k: at least one of k passes"),
        pytest.param(pass_hat_k, all, id="pass^k: all of k pass"),
    ],
)
def test_estimate_is_the_share_among_all_choices_of_k_runs(
    estimate: Callable[[int, int, int], float | None], of_k: Callable[[tuple[bool, ...]], bool]
) -> None:
    for total in range(1, 9):
        for passed, k in itertools.product(range(total + 1), range(1, total + 1)):
            runs = [index < passed for index in range(total)]
            choices = [of_k(chosen) for chosen in itertools.combinations(runs, k)]
            assert estimate(passed, total, k) == pytest.approx(sum(choices) / len(choices))


@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k])
@pytest.mark.parametrize(("passed", "total", "k"), [(0, 0, 1), (3, 4, 5), (2, 2, 3), (2, 3, 0)])
def test_no_estimate_from_fewer_runs_than_k(
    estimate: Callable[[int, int, int], float | None], passed: int, total: int, k: int
) -> None:
    assert estimate(passed, total, k) is None


def half_width(rate: float, runs: int) -> float:
    """Half the distance of the two rates x for which |rate - x| is z standard errors of x."""
    spread = Z_95**2 / runs
    a, b, c = 1 + spread, -(2 * rate + spread), rate * rate
    return math.sqrt(b * b - 4 * a * c) / (2 * a)


@pytest.mark.parametrize("wanted", [0.05, WEAK_HALF_WIDTH, 0.2, 0.4])
def test_runs_for_half_width_are_enough_and_one_fewer_is_not(wanted: float) -> None:
    for percent in range(101):
        runs = runs_for_half_width(percent / 100, wanted)
        assert half_width(percent / 100, runs) <= wanted
        assert runs == 1 or half_width(percent / 100, runs - 1) > wanted


@pytest.mark.parametrize(("passed", "total"), [(4, 5), (1, 2), (5, 5), (0, 3)])
def test_named_number_of_runs_narrows_the_interval_of_the_same_rate(passed: int, total: int) -> None:
    enough = math.ceil(runs_for_half_width(passed / total) / total)
    low, high = wilson_interval(passed * enough, total * enough) or (0.0, 1.0)
    assert (high - low) / 2 <= WEAK_HALF_WIDTH
    low, high = wilson_interval(passed * (enough - 1), total * (enough - 1)) or (0.0, 1.0)
    assert (high - low) / 2 > WEAK_HALF_WIDTH
