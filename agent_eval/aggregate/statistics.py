"""Rates from few runs: how sure they are, and what they say of k runs."""

from __future__ import annotations

import math

Z_95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""

WEAK_HALF_WIDTH = 0.10
"""A rate whose interval is wider than plus or minus this is weak evidence."""


def wilson_interval(passed: int, total: int, z: float = Z_95) -> tuple[float, float] | None:
    """The Wilson score interval of a rate (Wilson 1927), to six digits; None without runs."""
    if total == 0:
        return None
    rate = passed / total
    spread = z * z / total
    centre = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(rate * (1 - rate) / total + spread / (4 * total))
    return max(0.0, round(centre - half, 6)), min(1.0, round(centre + half, 6))


def pass_at_k(passed: int, total: int, k: int) -> float | None:
    """Unbiased estimate of the chance that at least one of k runs passes (Chen et al. 2021).

    None when fewer than k runs were scored.
    """
    return None if total < k or k < 1 else 1.0 - math.comb(total - passed, k) / math.comb(total, k)


def pass_hat_k(passed: int, total: int, k: int) -> float | None:
    """Unbiased estimate of the chance that all of k runs pass (pass^k, Yao et al. 2024).

    None when fewer than k runs were scored.
    """
    return None if total < k or k < 1 else math.comb(passed, k) / math.comb(total, k)


def runs_for_half_width(rate: float, half_width: float = WEAK_HALF_WIDTH, z: float = Z_95) -> int:
    """The fewest runs whose Wilson interval around `rate` is within plus or minus `half_width`."""
    runs = 1
    while (
        z / (1 + z * z / runs) * math.sqrt(rate * (1 - rate) / runs + z * z / (4 * runs * runs)) > half_width
    ):
        runs += 1
    return runs
