"""Texts and numbers as people read them, safe for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_eval.printable import printable as printable
from agent_eval.schema.trace import Content, FunctionCall


def number(value: float | None, digits: int = 2) -> str:
    """A score: two digits, more where two would hide that it misses its threshold; `-` for none."""
    if value is None:
        return "-"
    if value != 0 and abs(value) < 10 ** -(digits + 1):
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def against(score: float | None, threshold: float | None) -> str:
    """A score and its threshold: `0.93 / 0.80`."""
    if threshold is None:
        return number(score)
    digits = 2
    while score is not None and score != threshold and digits < 16:
        if number(score, digits) != number(threshold, digits):
            break
        digits += 1
    return f"{number(score, digits)} / {number(threshold)}"


def p_value(value: float | None) -> str:
    """A p-value: `0.03`, `< 0.001`; `-` for none."""
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.01 else f"{value:.2f}"


def shortened(text: str, most: int) -> str:
    """`text` with at most so many characters, the last of which say that it was cut."""
    return text if len(text) <= most else text[: most - 3] + "..."


def duration(seconds: float) -> str:
    """`12 ms`, `3.4 s`, `2 min 05 s`, `1 h 03 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def size(amount: int) -> str:
    """Bytes: `512 bytes`, `16 kB`, `3.4 MB`."""
    if amount < 1000:
        return count(amount, "byte")
    return f"{amount / 1000:.0f} kB" if amount < 999_500 else f"{amount / 1e6:.1f} MB"


def count(amount: int, one: str, many: str | None = None) -> str:
    """`1 case`, `2 cases`."""
    return f"{amount} {one if amount == 1 else many or one + 's'}"


def ranges(numbers: Sequence[int]) -> str:
    """Rising numbers, runs of them joined: `1-3, 5`."""
    spans: list[list[int]] = []
    for value in numbers:
        if spans and value == spans[-1][1] + 1:
            spans[-1][1] = value
        else:
            spans.append([value, value])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def content_text(content: Content | None) -> str:
    """What a content says; parts that are no text are named."""
    if content is None:
        return ""
    said = []
    for part in content.parts or []:
        if part.thought:
            continue
        if part.text:
            said.append(part.text)
        elif part.inline_data:
            said.append(f"[{part.inline_data.mime_type or 'data'}]")
        elif part.file_data:
            said.append(f"[{part.file_data.file_uri or 'file'}]")
        elif part.executable_code:
            said.append(f"[code] {part.executable_code.code or ''}")
    return "\n".join(said)


def call_lines(call: FunctionCall) -> list[str]:
    """A tool call, its name first and then one argument a line."""
    return [call.name or "(no name)", *(f"  {key}: {value}" for key, value in _argument_texts(call.args))]


def call_text(call: FunctionCall) -> str:
    """A tool call on one line: `look_up(order_id="A1")`."""
    return f"{call.name}({', '.join(f'{key}={value}' for key, value in _argument_texts(call.args))})"


def _argument_texts(args: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [(key, as_json(value)) for key, value in sorted((args or {}).items())]


def as_json(value: Any) -> str:
    """A value as JSON on one line, in its own script."""
    return json.dumps(value, ensure_ascii=False, default=str)
