"""How many runs are under way at once, where that is to be found out."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval.engine.places import MOST, START, AdaptivePlaces, Places


def fill(places: Places, count: int | None = None) -> None:
    """Takes places until so many are taken; all of them if no number is given."""

    async def take() -> None:
        while places.taken < (places.size if count is None else count):
            await places.take(for_each=2)

    asyncio.run(take())


def empty(places: Places) -> None:
    while places.taken:
        places.leave()
        places.finish()


def window(places: AdaptivePlaces, seconds: float) -> None:
    """All places are taken, and as many runs as there are places take so long."""
    fill(places)
    for _ in range(max(4, places.size)):
        places.took(seconds)
    empty(places)


def sizes(*steps: float | None, is_held_up: bool = False) -> list[int]:
    """Places after each window of runs of so many seconds; None is a refusal while all are taken."""
    places, found = AdaptivePlaces(lambda: is_held_up), []
    for step in steps:
        if step is None:
            fill(places)
            places.refused()
            empty(places)
        else:
            window(places, step)
        found.append(places.size)
    return found


STEPS: dict[str, tuple[tuple[float | None, ...], list[int]]] = {
    "they double while runs stay as fast": ((1, 1, 1, 1), [8, 16, 32, 64]),
    "a little slower is as fast": ((1, 1.9, 1.9), [8, 16, 32]),
    "runs of no length may take a moment": ((0.001, 0.04), [8, 16]),
    "slower by half and more stops the growth": ((1, 2.1, 2.1), [8, 8, 8]),
    "then they grow by one": ((1, 2.1, 1, 1), [8, 8, 9, 10]),
    "the best window is the measure": ((2, 1, 2.1), [8, 16, 16]),
    "a refusal halves them": ((1, 1, None), [8, 16, 8]),
    "then they grow by one too": ((1, None, 1, 1), [8, 4, 5, 6]),
    "one is left": ((None, None, None, None), [2, 1, 1, 1]),
    "from there it goes on": ((None, None, 1, 1), [2, 1, 2, 3]),
    "there is an end": ((1,) * 8, [8, 16, 32, 64, 128, 256, 256, 256]),
}


@pytest.mark.parametrize(("steps", "expected"), STEPS.values(), ids=STEPS)
def test_places_follow_what_runs_take_and_endpoints_refuse(
    steps: tuple[float | None, ...], expected: list[int]
) -> None:
    assert sizes(*steps) == expected


def test_where_a_limit_a_minute_holds_them_up_more_places_are_of_no_use() -> None:
    assert sizes(1, 1, is_held_up=True) == [START, START]


def test_places_that_nobody_takes_need_not_be_more() -> None:
    places = AdaptivePlaces()
    fill(places, 2)
    for _ in range(20):
        places.took(1.0)

    assert places.size == START


def test_refusals_halve_once_until_what_was_under_way_has_come_down() -> None:
    places = AdaptivePlaces()
    window(places, 1)
    window(places, 1)
    fill(places)  # 16
    found = []
    for leaving in (0, 0, 7, 1, 0):
        for _ in range(leaving):
            places.leave()
        places.refused()
        found.append(places.size)

    assert found == [8, 8, 8, 4, 4]


def test_new_places_are_taken_by_who_waits_for_one() -> None:
    async def grown() -> int:
        places = AdaptivePlaces()
        for _ in range(START):
            await places.take(for_each=2)
        waiting = asyncio.create_task(places.take(for_each=2))
        await asyncio.sleep(0)
        for _ in range(START):
            places.took(1.0)
        places.leave()
        places.finish()
        await waiting
        return places.taken

    assert asyncio.run(grown()) == START


@given(st.lists(st.one_of(st.none(), st.floats(0.0, 1e6)), max_size=60))
def test_there_is_always_a_place_and_never_too_many(steps: list[float | None]) -> None:
    found = [START, *sizes(*steps)]

    assert all(1 <= size <= MOST for size in found)
    for before, step, after in zip(found, steps, found[1:], strict=False):
        assert after <= max(1, before // 2) if step is None else before <= after <= 2 * before
