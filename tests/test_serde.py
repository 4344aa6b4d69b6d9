"""Documents in and out: lines of places in a document, JSON that is strict and exact."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval import serde
from tests.fuzz.hostile import bomb

keys = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def lines_as_written(value: Any) -> tuple[str, list[int]]:
    """The value as indented JSON, and the line of each place in the order of `places`."""
    lines: list[str] = [""]
    found: list[int] = []

    def write(item: Any) -> None:
        is_object = isinstance(item, dict)
        if not isinstance(item, dict | list):
            lines[-1] += json.dumps(item)
            return
        lines[-1] += "{" if is_object else "["
        for number, key in enumerate(item):
            lines.append(json.dumps(key) + ":" if is_object else "")
            found.append(len(lines))
            write(item[key] if is_object else item[number])
            lines[-1] += "," if number < len(item) - 1 else ""
        lines.append("}" if is_object else "]")

    found.append(1)
    write(value)
    return "\n".join(lines), found


@given(values)
def test_line_of_every_place_in_a_document(value: Any) -> None:
    text, lines = lines_as_written(value)
    assert [serde.line_of(text, place) for place in places(value)] == lines


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param(["b"], 2, id="a key"),
        pytest.param(["b", 1, "c"], 3, id="a key in a list"),
        pytest.param(["b", 1, "zz"], 3, id="a key that is not there: its parent"),
        pytest.param(["b", 9], 2, id="an item that is not there"),
        pytest.param(["zz"], 1, id="nothing like it"),
    ],
)
def test_line_of_a_place_among_awkward_characters(path: list[str | int], line: int) -> None:
    text = '{"a": "\\ud83d\\ude00\u2028\x7f {[",\n"b": [1,\n {"c": "x}]"}],\n"d": {}}'
    assert serde.line_of(text, path) == line


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e400", '{"a": 1,}', '"\\ud800"', "[" * 5000])
def test_json_that_is_not_strict_is_refused(text: str) -> None:
    with pytest.raises(serde.DocumentError, match="not JSON"):
        serde.from_json(text)


def test_integers_of_any_size_are_exact() -> None:
    assert serde.from_json("123456789012345678901234567890") == 123456789012345678901234567890


@given(
    st.recursive(st.text(st.characters()) | st.integers() | st.floats() | st.binary(), st.lists, max_leaves=5)
)
def test_whatever_an_agent_leaves_behind_is_written_as_json(value: Any) -> None:
    json.loads(serde.to_json(value))


SECRET_MARKS = '"' + r"\\ \" [,{" * 3 + '"'


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("[" + ",".join(["1"] * 50) + "]", 50, id="numbers"),
        pytest.param("[" + ",".join([SECRET_MARKS] * 50) + "]", 50, id="texts with marks in them"),
        pytest.param("[" + ",".join(["[]", "{}"] * 25) + "]", 100, id="empty containers"),
        pytest.param('{"a":' * 50 + "1" + "}" * 50, 50, id="nested"),
        pytest.param(json.dumps(["x,[{" * 400_000, "\\" * 7, 'y",'] * 2), 6, id="long texts"),
    ],
)
def test_values_are_counted_outside_of_texts(text: str, values: int) -> None:
    for encoded in (text, text.encode()):
        serde.check_size(encoded, values)
        with pytest.raises(serde.DocumentError, match=f"has more than {values - 1} values"):
            serde.check_size(encoded, values - 1)


PAIRS = "\np: !!pairs [" + ", ".join(["x: *a4"] * 20) + "]"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(bomb(), "its aliases stand for more than a million values", id="bomb"),
        pytest.param(bomb(5) + PAIRS, "more than a million values", id="bomb in pairs"),
        pytest.param("&a [*a]", "nested too deeply", id="a list in itself"),
        pytest.param("a: &a {b: {c: *a}}", "nested too deeply", id="an object in itself"),
        pytest.param("[" * 201 + "]" * 201, "nested too deeply", id="deep"),
        pytest.param("[" * 3000, "nested too deeply", id="deep and not closed"),
        pytest.param("a: 2026-13-45", "a value cannot be read: month must be in 1..12", id="date"),
        pytest.param("a: !!int zz", "a value cannot be read", id="number"),
        pytest.param("a: 0x" + "f" * 5000, "a number is too large", id="large number"),
        pytest.param("a: !!python/name:os.system", "could not determine a constructor", id="Python"),
        pytest.param("a: b\n" * 300_000, "more than 1000000 characters of YAML", id="long"),
    ],
)
def test_yaml_that_would_do_harm_is_refused(text: str, told: str) -> None:
    with pytest.raises(serde.DocumentError, match=told):
        serde.from_yaml(text)


def test_aliases_of_yaml_are_followed() -> None:
    assert serde.from_yaml("a: &x {b: 1}\nc: *x\nd: *x") == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1}}
    assert len(serde.from_yaml(bomb(3))) == 3
