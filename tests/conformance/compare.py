"""What differs between two documents, told place by place."""

from __future__ import annotations

import json
import math
from typing import Any

from tests.conformance import marks

TOLERANCE = 1e-9
WIDTH = 100
"""Characters of a value in a difference."""


def differences(got: Any, expected: Any, place: str = "") -> list[str]:
    """Where `got` is not what is expected. Integers, floats and booleans are told apart."""
    generated = marks.expected_of_mark(expected)
    if generated:
        return [] if isinstance(got, generated[1]) else [_line(place, _short(got), generated[0])]
    persona = marks.persona_of_mark(expected)
    if persona is not None:
        expected = persona
    if isinstance(got, dict) and isinstance(expected, dict):
        return _of_objects(got, expected, place)
    if isinstance(got, list) and isinstance(expected, list):
        return _of_lists(got, expected, place)
    return [] if _same(got, expected) else [_line(place, _short(got), _short(expected))]


def _of_objects(got: dict[str, Any], expected: dict[str, Any], place: str) -> list[str]:
    found = []
    for key in [*expected, *(key for key in got if key not in expected)]:
        inner = f"{place}.{key}" if place else key
        if key not in got:
            found.append(_line(inner, "nothing", _short(expected[key])))
        elif key not in expected:
            found.append(_line(inner, _short(got[key]), "nothing"))
        else:
            found += differences(got[key], expected[key], inner)
    return found


def _of_lists(got: list[Any], expected: list[Any], place: str) -> list[str]:
    if len(got) != len(expected):
        return [_line(place, f"{len(got)} items: {_short(got)}", f"{len(expected)}: {_short(expected)}")]
    return [
        line
        for index, (one, other) in enumerate(zip(got, expected, strict=True))
        for line in differences(one, other, f"{place}[{index}]")
    ]


def _same(got: Any, expected: Any) -> bool:
    if type(got) is not type(expected):
        return False
    if isinstance(got, float):
        both_nan = math.isnan(got) and math.isnan(expected)
        return both_nan or got == expected or abs(got - expected) <= TOLERANCE
    return bool(got == expected)


def _line(place: str, got: str, expected: str) -> str:
    return f"{place or 'value'}: got {got}, expected {expected}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
