"""A turn's tool calls laid beside the expected ones, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from agent_eval.schema.calls import IgnoredArgs, call_matches
from agent_eval.schema.config import MatchType
from agent_eval.schema.trace import FunctionCall

MAX_ALIGNED = 40_000
"""Pairs of calls that are looked at to find the best alignment; beyond, calls pair up by their place."""


class Mark(StrEnum):
    """What a row of the two lists says."""

    SAME = "same"
    ALTERED = "altered"
    """The tool is the same, its arguments are not."""
    MISSING = "missing"
    EXTRA = "extra"


Row = tuple[Mark, int | None, int | None]
"""With the places of the expected call and of the one made."""


def aligned(
    expected: Sequence[FunctionCall],
    made: Sequence[FunctionCall],
    match_type: MatchType = MatchType.EXACT,
    ignored: IgnoredArgs = False,
) -> list[Row]:
    """The calls made beside the expected ones, under the rules of the criterion."""
    rows: list[Row] = []
    left = right = 0
    for one, other in [*_anchors(expected, made, match_type, ignored), (len(expected), len(made))]:
        if match_type is not MatchType.ANY_ORDER:
            rows += _between(expected, made, range(left, one), range(right, other))
        if one < len(expected):
            rows.append((Mark.SAME, one, other))
        left, right = one + 1, other + 1
    if match_type is MatchType.ANY_ORDER:
        pairs = {one: other for _, one, other in rows}
        unmatched = [place for place in range(len(expected)) if place not in pairs]
        rest = [place for place in range(len(made)) if place not in pairs.values()]
        rows += _between(expected, made, unmatched, rest)
        rows.sort(key=lambda row: len(expected) if row[1] is None else row[1])
    return rows


def _anchors(
    expected: Sequence[FunctionCall],
    made: Sequence[FunctionCall],
    match_type: MatchType,
    ignored: IgnoredArgs,
) -> list[tuple[int, int]]:
    """The pairs that match: as many as there can be without crossing, or in any order."""
    if len(expected) * len(made) > MAX_ALIGNED:
        places = range(min(len(expected), len(made)))
        return [(at, at) for at in places if call_matches(made[at], expected[at], ignored)]
    same = [[call_matches(call, wanted, ignored) for call in made] for wanted in expected]
    if match_type is MatchType.ANY_ORDER:
        taken: dict[int, int] = {}
        for one, row in enumerate(same):
            free = (other for other, fits in enumerate(row) if fits and other not in taken.values())
            if (other := next(free, None)) is not None:
                taken[one] = other
        return list(taken.items())
    return list(_longest(same, len(expected), len(made)))


def _longest(same: list[list[bool]], rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """The longest common subsequence of two lists, given which of their items are the same."""
    length = [[0] * (columns + 1) for _ in range(rows + 1)]
    for one in reversed(range(rows)):
        for other in reversed(range(columns)):
            length[one][other] = (
                length[one + 1][other + 1] + 1
                if same[one][other]
                else max(length[one + 1][other], length[one][other + 1])
            )
    one = other = 0
    while one < rows and other < columns:
        if same[one][other]:
            yield one, other
            one, other = one + 1, other + 1
        elif length[one + 1][other] >= length[one][other + 1]:
            one += 1
        else:
            other += 1


def _between(
    expected: Sequence[FunctionCall], made: Sequence[FunctionCall], left: Iterable[int], right: Iterable[int]
) -> Iterator[Row]:
    """Rows for calls without a match: those of the same tool side by side."""
    rest = list(right)
    for one in left:
        other = next((place for place in rest if made[place].name == expected[one].name), None)
        if other is None:
            yield Mark.MISSING, one, None
        else:
            for skipped in [place for place in rest if place < other]:
                yield Mark.EXTRA, None, skipped
            rest = [place for place in rest if place > other]
            yield Mark.ALTERED, one, other
    for place in rest:
        yield Mark.EXTRA, None, place
