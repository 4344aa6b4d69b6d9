"""Limits a minute, on a clock of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval import clock
from agent_eval.load.pace import MINUTE, Limits


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def made(limits: Limits, moments: list[float], tokens: int = 0) -> list[float]:
    """When calls that are wanted at these moments are made, if each waits for as long as it has to."""
    clock_of_test = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "monotonic", clock_of_test.monotonic)
        times = []
        for moment in moments:
            clock_of_test.now = 1000.0 + moment
            wait, booked = limits.book()
            times.append(round(moment + wait, 6))
            limits.report(tokens, booked)
    return times


def test_calls_pass_evenly() -> None:
    assert made(Limits(rpm=60), [0.0, 0.0, 0.0, 10.0, 10.0]) == [0.0, 1.0, 2.0, 10.0, 11.0]


def test_tokens_hold_up_the_calls_after_them() -> None:
    """600 a minute: the first call takes 100 and is paid for in 10 s, then each is booked as one of 100."""
    assert made(Limits(tpm=600), [0.0, 0.0, 0.0], tokens=100) == [0.0, 10.0, 20.0]


def test_a_call_that_took_less_than_was_booked_makes_room() -> None:
    limits = Limits(tpm=600)
    made(limits, [0.0], tokens=100)

    wait, booked = limits.book()

    assert booked == 100
    limits.report(0, booked)
    assert limits.book()[0] < wait + 10.0


def test_the_harder_limit_holds() -> None:
    assert made(Limits(rpm=60, tpm=600), [0.0, 0.0], tokens=1) == [0.0, 1.0]
    assert made(Limits(rpm=60, tpm=600), [0.0, 0.0], tokens=100) == [0.0, 10.0]


def test_no_limits_hold_up_nothing() -> None:
    limits = Limits()

    assert not limits
    assert made(limits, [0.0] * 5, tokens=1000) == [0.0] * 5
    assert not limits.are_reached


@given(
    rpm=st.integers(1, 600),
    gaps=st.lists(st.floats(0.0, 30.0), min_size=1, max_size=200),
)
def test_no_minute_has_more_than_its_calls(rpm: int, gaps: list[float]) -> None:
    moments = [sum(gaps[: index + 1]) for index in range(len(gaps))]

    times = made(Limits(rpm=rpm), moments)

    for index, time in enumerate(times):
        within = [other for other in times[index:] if other < time + MINUTE - 1e-3]
        assert len(within) <= rpm
