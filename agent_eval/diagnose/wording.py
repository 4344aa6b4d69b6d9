"""Values in sentences: as JSON, cut to a readable length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agent_eval import serde
from agent_eval.printable import printable
from agent_eval.schema.trace import FunctionCall

MAX_VALUE = 60
MAX_TEXT = 160
MAX_LISTED = 3
MAX_SENTENCE = 600
"""Whatever names and texts are in it."""


def cut(text: str, most: int) -> str:
    """A text on one line, of so many characters at most, and safe to print."""
    text = printable(" ".join(text[: 4 * most + 1000].split()))
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def value(given: Any, most: int = MAX_VALUE) -> str:
    """A value as JSON."""
    return cut(serde.to_json(given).decode(), most)


def typed(given: Any) -> str:
    """A value and what it is: `"1" (text)`."""
    return f"{value(given)} ({kind(given)})"


def kind(given: Any) -> str:
    """What a value is, as people say."""
    if given is None:
        return "null"
    if isinstance(given, bool):
        return "true or false"
    if isinstance(given, int | float):
        return "a number"
    if isinstance(given, str):
        return "text"
    return "a list" if isinstance(given, list) else "an object"


def quoted(text: str, most: int = MAX_TEXT) -> str:
    """What somebody said, in quotation marks."""
    return f'"{cut(text, most)}"'


def named(names: Iterable[str], most: int = MAX_LISTED) -> str:
    """Names, each once: `a`, `b` and 2 more."""
    return listed([f"`{name}`" for name in dict.fromkeys(names)], most)


def listed(items: Sequence[str], most: int = MAX_LISTED) -> str:
    """`a, b and 2 more`."""
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def call(made: FunctionCall) -> str:
    """A tool call: `look_up(order_id="A1")`."""
    args = ", ".join(f"{key}={value(given, 40)}" for key, given in sorted((made.args or {}).items()))
    return f"{made.name}({cut(args, 100)})"


def calls(made: Iterable[FunctionCall]) -> str:
    """Several tool calls."""
    return listed([call(one) for one in made])


def count(amount: int, one: str, many: str | None = None) -> str:
    """`1 run`, `2 runs`."""
    return f"{amount} {one if amount == 1 else many or one + 's'}"
