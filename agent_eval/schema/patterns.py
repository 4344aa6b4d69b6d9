"""Expectations of values that vary: `{"$regex": "..."}` and its kin, inside expected arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import PydanticCustomError

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
"""JSON Schema's names of types. A boolean is no number."""


def _is_type(value: object, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def is_close(value: object, wanted: float, tolerance: float) -> bool:
    """Whether a value is a number at most that far away, as people reckon: 3.6 is 0.1 from 3.5."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    rounding = 1e-12 * max(1.0, abs(wanted)) if math.isfinite(wanted) else 0.0
    return value == wanted or abs(value - wanted) <= tolerance + rounding


def _contains(value: object, wanted: Any) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    if isinstance(value, list):
        return any(matches(wanted, item) for item in value)
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        return all(key in value and matches(item, value[key]) for key, item in wanted.items())
    return isinstance(value, Mapping) and wanted in value


_OPERATORS: dict[str, Callable[[Any, Mapping[str, Any]], bool]] = {
    "$any": lambda value, pattern: True,
    "$regex": lambda value, pattern: isinstance(value, str) and bool(re.search(pattern["$regex"], value)),
    "$approx": lambda value, pattern: is_close(value, pattern["$approx"], pattern.get("tolerance", 1e-9)),
    "$oneof": lambda value, pattern: any(matches(option, value) for option in pattern["$oneof"]),
    "$contains": lambda value, pattern: _contains(value, pattern["$contains"]),
    "$type": lambda value, pattern: _is_type(value, pattern["$type"]),
}


def operator_of(pattern: object) -> str | None:
    """The operator of a pattern object; None for a plain value."""
    if not isinstance(pattern, dict):
        return None
    found = [key for key in pattern if key in _OPERATORS]
    if not found:
        return None
    extra = set(pattern) - set(found) - ({"tolerance"} if found == ["$approx"] else set())
    return found[0] if len(found) == 1 and not extra else None


def has_pattern(expected: object) -> bool:
    """Whether there is a pattern in a value, at any depth."""
    if isinstance(expected, dict):
        return operator_of(expected) is not None or any(map(has_pattern, expected.values()))
    return isinstance(expected, list) and any(map(has_pattern, expected))


def matches(expected: object, actual: object) -> bool:
    r"""Whether a value is as expected: equal, or of the pattern, at any depth.

    Plain values are compared as Python values: `1`, `1.0` and `true` are equal, key order does not
    matter, list order does.

    {"$any": true}                      anything, but there
    {"$regex": "^A\d+$"}                a text in which the expression is found
    {"$approx": 3.5, "tolerance": 0.1}  a number at most that far away
    {"$oneof": ["a", "b"]}              one of these values or patterns
    {"$contains": "x"}                  a text with that part, a list with that item, an object with that key
    {"$type": "string"}                 string, number, integer, boolean, array, object or null
    """
    if operator := operator_of(expected):
        assert isinstance(expected, dict)
        return _OPERATORS[operator](actual, expected)
    if isinstance(expected, dict):
        return (
            isinstance(actual, Mapping)
            and expected.keys() == actual.keys()
            and all(matches(item, actual[key]) for key, item in expected.items())
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list) and len(expected) == len(actual) and all(map(matches, expected, actual))
        )
    return expected == actual


def checked_pattern(expected: Any) -> Any:
    """`expected`, if every pattern in it can be used.

    Raises:
        PydanticCustomError: a pattern with a bad operand.
    """
    operator = operator_of(expected)
    problem = _problem(operator, expected) if operator else None
    if problem:
        raise PydanticCustomError("bad_pattern", "{problem}", {"problem": problem})
    for item in (
        expected.values() if isinstance(expected, dict) else expected if isinstance(expected, list) else ()
    ):
        checked_pattern(item)
    return expected


def _problem(operator: str, pattern: Mapping[str, Any]) -> str | None:
    operand = pattern[operator]
    if operator == "$regex":
        try:
            re.compile(operand)
        except (re.error, TypeError) as error:
            return f"`$regex` is no regular expression: {error}"
    if operator == "$approx" and not (
        _is_type(operand, "number") and _is_type(pattern.get("tolerance", 0.0), "number")
    ):
        return "`$approx` and `tolerance` take numbers"
    if operator == "$oneof" and not isinstance(operand, list):
        return "`$oneof` takes a list"
    if operator == "$type" and operand not in TYPES:
        return f"`$type` takes one of {', '.join(TYPES)}"
    return None
