"""Whether what an answer says can come from somewhere: tool output, the user, the instructions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

from agent_eval.diagnose.evidence import Run, as_text
from agent_eval.diagnose.words import names, numbers, pieces, readings, same_number

MAX_RECKONED = 60
"""With more numbers than these around, pairs are not tried for what could be reckoned from them."""
FEW_RECKONED = 8
"""With no more than these, products are added to a third."""


class Grounds:
    """What an answer of a run can rest on."""

    def __init__(self, outputs: list[Any], known: str = "") -> None:
        """Takes what tools returned, and what else the agent knows."""
        text = "\n".join([*map(as_text, outputs), known])
        self._text = text.casefold()
        self._pieces = set(pieces(text))
        self._numbers = {value for number in numbers(text) for value in readings(number)}
        self._numbers |= {float(length) for output in outputs for length in _lengths(output)}
        self._reckoned = _reckoned(self._numbers)

    def states(self, fact: str) -> bool:
        """Whether a number or a name stands there as it is, without reckoning."""
        return fact.casefold() in self._text or bool(readings(fact) & self._numbers)

    def has_name(self, name: str) -> bool:
        """Whether a name stands there."""
        return name.casefold() in self._text

    def has_number(self, number: str) -> bool:
        """Whether a number stands there, rounds one that does, or can be reckoned from two."""
        meant = readings(number)
        if any(self._has(value, number) for value in meant):
            return True
        return not meant and all(piece in self._pieces for piece in pieces(number))

    def _has(self, value: float, written: str) -> bool:
        if value in self._numbers or value in self._reckoned:
            return True
        if value.is_integer() and int(value) in self._pieces:
            return True
        digits = len(written.rpartition(".")[2]) if "." in written else 0
        return any(
            abs(round(known * scale, digits) - value) < 1e-9
            for known in self._numbers
            for scale in (1, 100, 0.01)
        )


def _lengths(output: Any) -> Iterator[int]:
    """How many items the lists in a value have: answers count them."""
    if isinstance(output, list):
        yield len(output)
        for item in output:
            yield from _lengths(item)
    elif isinstance(output, dict):
        for item in output.values():
            yield from _lengths(item)


def _reckoned(known: set[float]) -> set[float]:
    """Sums, differences and products of two numbers, and the sum of all."""
    if not known or len(known) > MAX_RECKONED:
        return set()
    values = {round(sum(known), 2)}
    for one, other in combinations(known, 2):
        values |= {round(one + other, 2), round(abs(one - other), 2), round(one * other, 2)}
        if len(known) <= FEW_RECKONED:  # such as four nights at 70 and a flight at 160
            values |= {round(one * other + third, 2) for third in known}
    return (
        values
        | {value + 12 for value in known if 0 < value < 12}
        | {value - 12 for value in known if 12 < value < 24}
    )


def follows_from(number: str, text: str) -> bool:
    """Whether a number can be reckoned from others of a text: a total from its parts."""
    others = {value for other in numbers(text) if not same_number(number, other) for value in readings(other)}
    return bool(readings(number) & _reckoned(others))


def grounds_of(run: Run) -> Grounds:
    """All that a run's answers can rest on."""
    return Grounds(run.tool_output, run.known)


def tool_grounds_of(run: Run) -> Grounds:
    """What tools returned in a run."""
    return Grounds(run.tool_output)


@lru_cache(maxsize=32)
def lacking(wanted: str, given: str) -> tuple[str, ...]:
    """The numbers and names of one text that another one does not have."""
    there, folded = numbers(given), given.casefold()
    return (
        *(number for number in numbers(wanted) if not any(same_number(number, other) for other in there)),
        *(name for name in names(wanted) if name.casefold() not in folded),
    )


def shared(one: str, other: str) -> list[str]:
    """The numbers and names that both texts have."""
    gone = set(lacking(one, other))
    return [fact for fact in (*numbers(one), *names(one)) if fact not in gone]
