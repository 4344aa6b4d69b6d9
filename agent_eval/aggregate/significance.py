"""Whether two sets of runs differ by more than chance: exact tests of pass counts.

All of them rest on one thought: if nothing changed, the runs of a case could as well have been
dealt to the two sides at random. Given how many of them passed in all, the number that passed on
one side is then hypergeometric. Of one case that is Fisher's exact test (1935); of several, the
exact test of Birch (1964) for matched tables, which with one run a side is McNemar's exact test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

ALPHA = 0.05
"""A difference that chance brings about less often than this is beyond noise. Each direction has half."""

POWER = 0.8
"""The chance to find a difference that is there, when runs are advised."""

NEGLIGIBLE = 1e-18
"""Outcomes less likely than this are left out of sums."""


class Counts(NamedTuple):
    """The runs of one case on both sides. A run that did not pass has failed, crashed, or has no verdict."""

    passed_before: int
    runs_before: int
    passed_after: int
    runs_after: int

    @property
    def difference(self) -> float:
        """Pass rate after minus before."""
        return self.passed_after / self.runs_after - self.passed_before / self.runs_before


@dataclass(frozen=True, slots=True)
class Tails:
    """How often chance alone gives an outcome at least that far out."""

    fewer: float
    """As few passes after, or fewer."""
    more: float
    """As many passes after, or more."""

    @property
    def two_sided(self) -> float:
        """Twice the smaller tail, so that each direction errs at half the level."""
        return min(1.0, 2.0 * min(self.fewer, self.more))


@dataclass(frozen=True, slots=True)
class Distribution:
    """The chances of each number of passes after, from the lowest number on."""

    lowest: int
    chances: tuple[float, ...]

    def tails(self, observed: int) -> Tails:
        """How far out an outcome is."""
        place = observed - self.lowest
        fewer = math.fsum(self.chances[: max(0, place + 1)])
        return Tails(min(1.0, fewer), min(1.0, math.fsum(self.chances[max(0, place) :])))

    def __add__(self, other: Distribution) -> Distribution:
        """The distribution of the sum of two independent numbers."""
        sums = [0.0] * (len(self.chances) + len(other.chances) - 1)
        for index, chance in enumerate(self.chances):
            for shift, factor in enumerate(other.chances):
                sums[index + shift] += chance * factor
        first = next(index for index, chance in enumerate(sums) if chance > NEGLIGIBLE)
        last = next(index for index in reversed(range(len(sums))) if sums[index] > NEGLIGIBLE)
        return Distribution(self.lowest + other.lowest + first, tuple(sums[first : last + 1]))


@lru_cache(maxsize=4096)
def _dealt(passed: int, before: int, after: int) -> Distribution:
    """Of `passed` passes dealt at random to so many runs before and after, those that fall after."""
    lowest, highest = max(0, passed - before), min(passed, after)
    ways = math.comb(before + after, passed)
    chances = (math.comb(after, k) * math.comb(before, passed - k) / ways for k in range(lowest, highest + 1))
    return Distribution(lowest, tuple(chances))


def _distribution(one: Counts) -> Distribution:
    return _dealt(one.passed_before + one.passed_after, one.runs_before, one.runs_after)


def exact_test(cases: Sequence[Counts]) -> Tails:
    """The passes after, over all cases together, against chance. No cases differ in nothing.

    Runs are compared only with runs of their own case, so that hard and easy cases do not blur it.
    """
    total = Distribution(0, (1.0,))
    for one in cases:
        total += _distribution(one)
    return total.tails(sum(one.passed_after for one in cases))


@dataclass(frozen=True, slots=True)
class CaseTest:
    """One case against chance."""

    p_value: float
    """Two-sided, of this case alone."""
    adjusted: float
    """Of this case among all that were compared."""
    compared: int
    """How many cases are looked at that could differ."""

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the case differs, in view of all the others that were looked at."""
        return self.adjusted <= ALPHA


def case_tests(cases: Sequence[Counts]) -> list[CaseTest]:
    """Each case against chance, corrected for their number.

    Drops and rises are two families, each with half of `ALPHA`: the chance that any case is wrongly
    said to have dropped is at most 2.5 %, however many there are. The correction is Holm's (1979),
    among the cases that could reach significance at all given how many of their runs passed (Tarone
    1990): a case that passed every run on both sides costs the others nothing.
    """
    spread = [_distribution(one) for one in cases]
    tails = [each.tails(one.passed_after) for each, one in zip(spread, cases, strict=True)]
    drops = corrected([tail.fewer for tail in tails], [each.chances[0] for each in spread])
    rises = corrected([tail.more for tail in tails], [each.chances[-1] for each in spread])
    compared = max(1, sum(len(each.chances) > 1 for each in spread))
    return [
        CaseTest(tail.two_sided, min(1.0, 2.0 * (drop if one.difference < 0 else rise)), compared)
        for one, tail, drop, rise in zip(cases, tails, drops, rises, strict=True)
    ]


def corrected(p_values: Sequence[float], least: Sequence[float], alpha: float = ALPHA / 2) -> list[float]:
    """Adjusted p-values: Holm's, of those tests that can find something at all.

    Args:
        p_values: one-sided.
        least: the least each of them could have been.
        alpha: the chance of any false alarm.
    """
    share = 1
    while sum(one <= alpha / share for one in least) > share:
        share += 1
    able = [index for index, one in enumerate(least) if one <= alpha / share]
    if not able:  # they are too many for so few runs: nothing is found, but told how nearly
        able = [index for index, one in enumerate(least) if one < 1.0]
    adjusted = [1.0] * len(p_values)
    for index, value in zip(able, holm([p_values[index] for index in able]), strict=True):
        adjusted[index] = value
    return adjusted


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: at most `alpha` of all families have any false alarm at `alpha`."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def runs_to_tell(before: float, after: float, compared: int = 1) -> int | None:
    """About how many runs a side would tell two pass rates apart with a chance of `POWER`.

    The formula is that of Casagrande, Pike and Smith (1978) for Fisher's exact test. None if the
    rates are the same.

    Args:
        before: a pass rate.
        after: another.
        compared: how many comparisons share the error.
    """
    gap = abs(after - before)
    if gap == 0:
        return None
    mean = (before + after) / 2
    spread = math.sqrt(before * (1 - before) + after * (1 - after))
    reach = _quantile(1 - ALPHA / 2 / compared) * math.sqrt(2 * mean * (1 - mean)) + _quantile(POWER) * spread
    plain = (reach / gap) ** 2
    return math.ceil(plain / 4 * (1 + math.sqrt(1 + 4 / (plain * gap))) ** 2)


def times_the_runs(cases: Sequence[Counts]) -> float | None:
    """How many times the runs would tell the difference over all cases, if it is what it seems.

    None if there is no difference, or no case in which one could show.
    """
    excess = variance = 0.0
    for one in cases:
        runs = one.runs_before + one.runs_after
        share = (one.passed_before + one.passed_after) / runs
        excess += one.passed_after - one.runs_after * share
        variance += one.runs_before * one.runs_after * share * (1 - share) / max(1, runs - 1)
    if math.isclose(excess, 0.0, abs_tol=1e-12):
        return None
    return (_quantile(1 - ALPHA / 2) + _quantile(POWER)) ** 2 * variance / excess**2


def _quantile(probability: float) -> float:
    return NormalDist().inv_cdf(probability)
