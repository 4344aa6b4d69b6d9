"""Whether tool calls are the expected ones: one call, and the calls of a turn."""

from __future__ import annotations

from agent_eval.schema.config import MatchType
from agent_eval.schema.patterns import has_pattern, matches
from agent_eval.schema.trace import FunctionCall

IgnoredArgs = bool | list[str]
"""Every argument, none, or these."""


def call_matches(actual: FunctionCall, expected: FunctionCall, ignore_args: IgnoredArgs = False) -> bool:
    """Same name and, unless ignored, arguments as expected."""
    if actual.name != expected.name or ignore_args is True:
        return actual.name == expected.name
    given, wanted = actual.args or {}, expected.args or {}
    if ignore_args:
        given = {key: value for key, value in given.items() if key not in ignore_args}
        wanted = {key: value for key, value in wanted.items() if key not in ignore_args}
    return given == wanted or matches(wanted, given)


def trajectory_matches(
    actual: list[FunctionCall],
    expected: list[FunctionCall],
    match_type: MatchType,
    ignore_args: IgnoredArgs = False,
) -> bool:
    """Whether the calls of one turn match the expected ones."""
    if match_type is MatchType.EXACT:
        return len(actual) == len(expected) and all(
            call_matches(call, wanted, ignore_args) for call, wanted in zip(actual, expected, strict=True)
        )
    if match_type is MatchType.IN_ORDER:
        calls = iter(actual)
        return all(any(call_matches(call, wanted, ignore_args) for call in calls) for wanted in expected)
    return matched_calls(actual, expected, ignore_args) == len(expected)


def matched_calls(
    actual: list[FunctionCall], expected: list[FunctionCall], ignore_args: IgnoredArgs = False
) -> int:
    """How many of the expected calls were made at most, in any order, each counted once."""
    rest = list(actual)
    matched = 0
    for wanted in expected:
        found = next((i for i, call in enumerate(rest) if call_matches(call, wanted, ignore_args)), None)
        if found is not None:
            del rest[found]
            matched += 1
    if 0 < matched < len(expected) and any(has_pattern(wanted.args) for wanted in expected):
        return _best_assignment(actual, expected, ignore_args)
    return matched


def _best_assignment(
    actual: list[FunctionCall], expected: list[FunctionCall], ignore_args: IgnoredArgs
) -> int:
    """The same where patterns overlap: the first call that fits one may be the only one for another."""
    fitting = [
        [place for place, call in enumerate(actual) if call_matches(call, wanted, ignore_args)]
        for wanted in expected
    ]
    taken: dict[int, int] = {}

    def take(one: int, tried: set[int]) -> bool:
        """Gives an expected call a fitting one; who has that makes way if there is another for it."""
        for place in fitting[one]:
            if place not in tried:
                tried.add(place)
                if place not in taken or take(taken[place], tried):
                    taken[place] = one
                    return True
        return False

    return sum(take(one, set()) for one in range(len(expected)))
