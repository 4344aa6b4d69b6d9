from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from agent_eval.schema.patterns import TYPES, checked_pattern, matches, operator_of

LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text(max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
"""JSON values without operators."""


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        pytest.param({"$any": True}, None, True, id="any: null"),
        pytest.param({"$regex": r"^A\d+$"}, "A12", True, id="regex: found"),
        pytest.param({"$regex": r"\d"}, "A1B", True, id="regex: anywhere"),
        pytest.param({"$regex": r"^A\d+$"}, "B12", False, id="regex: not found"),
        pytest.param({"$regex": r"1"}, 1, False, id="regex: number"),
        pytest.param({"$approx": 3.5, "tolerance": 0.1}, 3.6, True, id="approx: at the edge"),
        pytest.param({"$approx": 3.5, "tolerance": 0.1}, 3.61, False, id="approx: beyond"),
        pytest.param({"$approx": 3}, 3.0, True, id="approx: no tolerance"),
        pytest.param({"$approx": 3}, 3.001, False, id="approx: no tolerance, beyond"),
        pytest.param({"$approx": 1}, True, False, id="approx: boolean"),
        pytest.param({"$approx": 1}, "1", False, id="approx: text"),
        pytest.param({"$approx": 1, "tolerance": 9}, float("nan"), False, id="approx: not a number"),
        pytest.param({"$oneof": ["a", {"$regex": "^b"}]}, "bee", True, id="oneof: a pattern"),
        pytest.param({"$oneof": ["a", "b"]}, "c", False, id="oneof: none"),
        pytest.param({"$oneof": []}, "c", False, id="oneof: nothing"),
        pytest.param({"$contains": "el"}, "hello", True, id="contains: text"),
        pytest.param({"$contains": 1}, "1", False, id="contains: number in a text"),
        pytest.param({"$contains": {"$type": "integer"}}, ["a", 2], True, id="contains: item"),
        pytest.param({"$contains": "b"}, ["a"], False, id="contains: no item"),
        pytest.param({"$contains": "k"}, {"k": 1}, True, id="contains: key"),
        pytest.param({"$contains": {"k": {"$any": True}}}, {"k": 1, "l": 2}, True, id="contains: entries"),
        pytest.param({"$contains": {"k": 2}}, {"k": 1}, False, id="contains: other entry"),
        pytest.param({"$contains": "x"}, None, False, id="contains: null"),
        pytest.param({"$type": "number"}, 1, True, id="type: integer is a number"),
        pytest.param({"$type": "integer"}, 1.5, False, id="type: float is no integer"),
        pytest.param({"$type": "integer"}, True, False, id="type: boolean is no integer"),
        pytest.param({"$type": "boolean"}, True, True, id="type: boolean"),
        pytest.param({"$type": "null"}, None, True, id="type: null"),
        pytest.param({"a": [{"b": {"$any": True}}]}, {"a": [{"b": 7}]}, True, id="at depth"),
        pytest.param({"a": {"$any": True}}, {}, False, id="any: absent key"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, False, id="further key"),
        pytest.param([1, 2], [2, 1], False, id="list order"),
        pytest.param([1], [1, 2], False, id="list length"),
        pytest.param({"n": 1}, {"n": True}, True, id="one and true"),
        pytest.param({"$regex": "a", "flags": "i"}, "a", False, id="operator with other keys is a value"),
        pytest.param({"$regx": "a"}, {"$regx": "a"}, True, id="unknown operator is a value"),
    ],
)
def test_matches(expected: Any, actual: Any, same: bool) -> None:
    assert matches(expected, actual) is same


@given(VALUES)
def test_values_without_operators_match_what_they_equal(value: Any) -> None:
    assert matches(value, value)
    assert matches({"$any": True}, value)
    assert matches({"$oneof": [value]}, value)
    assert any(matches({"$type": name}, value) for name in TYPES)
    assert checked_pattern(value) == value


@given(VALUES, VALUES)
def test_values_without_operators_match_nothing_else(one: Any, other: Any) -> None:
    assert matches(one, other) == (one == other)


@given(VALUES, VALUES)
def test_oneof_is_either(one: Any, other: Any) -> None:
    either = {"$oneof": [one, other]}
    assert matches(either, one)
    assert matches(either, other)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 10))
def test_approx_is_symmetric(one: float, other: float, tolerance: float) -> None:
    there = matches({"$approx": one, "tolerance": tolerance}, other)
    assert there == matches({"$approx": other, "tolerance": tolerance}, one)


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        pytest.param({"$regex": "("}, "no regular expression", id="regex"),
        pytest.param({"$regex": 1}, "no regular expression", id="regex of a number"),
        pytest.param({"$approx": "3"}, "take numbers", id="approx"),
        pytest.param({"$approx": 3, "tolerance": None}, "take numbers", id="tolerance"),
        pytest.param({"$oneof": "ab"}, "takes a list", id="oneof"),
        pytest.param({"$type": "text"}, "takes one of string, number", id="type"),
        pytest.param({"a": [{"$oneof": [{"$regex": "("}]}]}, "no regular expression", id="at depth"),
    ],
)
def test_bad_patterns_are_refused(pattern: Any, told: str) -> None:
    with pytest.raises(PydanticCustomError, match=told):
        checked_pattern(pattern)


@pytest.mark.parametrize("value", [1, "a", None, [], {}, {"a": 1}, {"$any": 1, "$type": "null"}])
def test_plain_values_have_no_operator(value: Any) -> None:
    assert operator_of(value) is None
