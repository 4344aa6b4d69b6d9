"""Marks: objects in the vectors that stand for what JSON cannot say."""

from __future__ import annotations

from typing import Any


def restored(value: Any) -> Any:
    """`value` with every `{"$float": "NaN"}` (or an infinity) as the float it stands for."""
    if isinstance(value, dict):
        if _is_mark(value, "$float"):
            return float(value["$float"])
        return {key: restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [restored(item) for item in value]
    return value


def expected_of_mark(mark: Any) -> tuple[str, type | tuple[type, ...]] | None:
    """What any value in the place of a `$generated` mark has to be; None if it is no such mark."""
    if not _is_mark(mark, "$generated"):
        return None
    return ("a text", str) if mark["$generated"] == "uuid" else ("a number", (int, float))


def persona_of_mark(mark: Any) -> str | None:
    """The id of a ready-made persona, None if it is no such mark."""
    return mark["$prebuilt_persona"] if _is_mark(mark, "$prebuilt_persona") else None


def _is_mark(value: Any, key: str) -> bool:
    return isinstance(value, dict) and value.keys() == {key}
