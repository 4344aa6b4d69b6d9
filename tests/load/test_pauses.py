"""How long a place is left alone, on a clock of the test's own."""

from __future__ import annotations

import pytest

from agent_eval import clock
from agent_eval.load import pauses as module
from agent_eval.load.pauses import MAX_SECONDS, Pauses
from tests.load.test_pace import Clock


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock; waits are as long as they are on average."""
    fake = Clock()
    monkeypatch.setattr(clock, "monotonic", fake.monotonic)
    monkeypatch.setattr(clock, "jittered", lambda seconds: seconds)
    return fake


def test_pauses_double_until_the_place_does_what_it_is_asked(now: Clock) -> None:
    pauses, lengths = Pauses(), []
    for _ in range(8):
        assert pauses.begin("a")
        lengths.append(pauses.left("a"))
        now.now += lengths[-1]
    pauses.answered("a")
    pauses.begin("a")

    assert lengths == [1, 2, 4, 8, 16, 32, 60, 60]
    assert pauses.left("a") == module.FIRST_SECONDS


def test_refusals_during_a_pause_are_of_the_same_trouble(now: Clock) -> None:
    pauses = Pauses()

    assert [pauses.begin("a") for _ in range(5)] == [True, False, False, False, False]
    assert pauses.left("a") == 1.0


def test_what_the_place_asks_for_is_what_it_gets(now: Clock) -> None:
    pauses = Pauses()
    pauses.begin("a", 0.2)
    assert pauses.left("a") == pytest.approx(0.2)

    pauses.begin("a", 7.0)  # of a call that was under way: the place wants more
    pauses.begin("a", 3.0)
    assert pauses.left("a") == pytest.approx(7.0)


def test_each_place_is_left_alone_for_itself(now: Clock) -> None:
    pauses = Pauses()
    pauses.begin("a", 5.0)

    assert pauses.left("b") == 0.0
    assert pauses.left("b", "a") == pytest.approx(5.0)
    assert pauses.longest_left == pytest.approx(5.0)


def test_a_refusal_from_nowhere_in_particular_is_for_all(now: Clock) -> None:
    pauses = Pauses()
    pauses.begin("", 5.0)

    assert pauses.left("b") == pauses.left() == pytest.approx(5.0)


def test_what_is_answered_during_a_pause_ends_only_the_row(now: Clock) -> None:
    pauses = Pauses()
    pauses.begin("a")
    now.now += 1.0
    pauses.begin("a")
    pauses.answered("a")

    assert pauses.left("a") == 2.0
    now.now += 2.0
    pauses.begin("a")
    assert pauses.left("a") == 1.0


def test_endless_trouble_overflows_nothing(now: Clock) -> None:
    pauses = Pauses()
    for _ in range(2000):
        pauses.begin("a")
        now.now += MAX_SECONDS

    pauses.begin("a")
    assert pauses.left("a") == MAX_SECONDS
