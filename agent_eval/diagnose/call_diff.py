"""What a turn's tool calls have and lack of the expected ones."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_eval.diagnose.evidence import Turn
from agent_eval.schema.calls import IgnoredArgs, call_matches
from agent_eval.schema.patterns import has_pattern, matches
from agent_eval.schema.trace import FunctionCall

Pair = tuple[FunctionCall, FunctionCall]
"""An expected call and the one that was made for it."""

_SIMILAR = 0.8


@dataclass(slots=True)
class CallDiff:
    """The calls of a turn beside the expected ones: each call is in one place."""

    turn: Turn
    extra: list[FunctionCall] = field(default_factory=list)
    """Made, and not expected."""
    missing: list[FunctionCall] = field(default_factory=list)
    """Expected, and not made."""
    altered: list[Pair] = field(default_factory=list)
    """Made with other arguments."""
    renamed: list[Pair] = field(default_factory=list)
    """Made under a name that is nearly the same, with the arguments expected."""
    moved: list[tuple[FunctionCall, int]] = field(default_factory=list)
    """Made or expected in another turn, with that turn's number."""


def diff_of(turn: Turn, ignored: IgnoredArgs) -> CallDiff:
    """The difference of one turn."""
    diff = CallDiff(turn)
    rest = list(turn.calls)
    for wanted in turn.expected_calls:
        made = next((call for call in rest if call_matches(call, wanted, ignored)), None)
        if made is None:
            diff.missing.append(wanted)
        else:
            _remove(rest, made)
    for wanted in list(diff.missing):
        same = [call for call in rest if call.name == wanted.name]
        if same:
            made = min(same, key=lambda call: len(list(argument_changes(wanted, call, ignored))))
            diff.altered.append((wanted, made))
            _remove(rest, made)
            _remove(diff.missing, wanted)
    for wanted in list(diff.missing):
        made = next((call for call in rest if _is_renamed(wanted, call, ignored)), None)
        if made is not None:
            diff.renamed.append((wanted, made))
            _remove(rest, made)
            _remove(diff.missing, wanted)
    diff.extra = rest
    return diff


def diffs_of(turns: list[Turn], ignored: IgnoredArgs) -> list[CallDiff]:
    """The differences of all turns; what is missing in one and extra in another has moved."""
    diffs = [diff_of(turn, ignored) for turn in turns]
    for late in diffs:
        for wanted in list(late.missing):
            for early in diffs:
                made = next((call for call in early.extra if call_matches(call, wanted, ignored)), None)
                if made is not None and early is not late:
                    _remove(early.extra, made)
                    _remove(late.missing, wanted)
                    early.moved.append((made, late.turn.number))
                    late.moved.append((wanted, early.turn.number))
                    break
    return diffs


def _remove(calls: list[FunctionCall], one: FunctionCall) -> None:
    """Takes out the very object: equal ones are calls of their own."""
    del calls[next(index for index, call in enumerate(calls) if call is one)]


def _is_renamed(wanted: FunctionCall, made: FunctionCall, ignored: IgnoredArgs) -> bool:
    one, other = wanted.name or "", made.name or ""
    if not call_matches(made.model_copy(update={"name": one}), wanted, ignored):
        return False
    return are_similar_names(one, other)


def are_similar_names(one: str, other: str) -> bool:
    """Whether two tool names are the same but for spelling or a prefix."""
    plain, last = re.compile(r"[\W_]+"), re.compile(r".*(?:__|[.:/])")
    names = {plain.sub("", name).casefold() for name in (one, other)}
    if len(names) == 1 or last.sub("", one) == last.sub("", other):
        return True
    return difflib.SequenceMatcher(None, one.casefold(), other.casefold()).ratio() >= _SIMILAR


@dataclass(frozen=True, slots=True)
class ArgumentChange:
    """An argument that is not as expected."""

    key: str
    wanted: Any = None
    got: Any = None
    is_missing: bool = False
    is_extra: bool = False

    @property
    def is_type_only(self) -> bool:
        """Whether it is the same value of another type: 1 and "1"."""
        return not (self.is_missing or self.is_extra) and same_but_for_type(self.wanted, self.got)


def argument_changes(
    wanted: FunctionCall, made: FunctionCall, ignored: IgnoredArgs
) -> Iterator[ArgumentChange]:
    """The arguments that differ."""
    if ignored is True:
        return
    left, right = _compared(wanted.args, ignored), _compared(made.args, ignored)
    for key, value in left.items():
        if key not in right:
            yield ArgumentChange(key, wanted=value, is_missing=True)
        elif not matches(value, right[key]):
            yield ArgumentChange(key, value, right[key])
    for key, value in right.items():
        if key not in left:
            yield ArgumentChange(key, got=value, is_extra=True)


def _compared(args: Mapping[str, Any] | None, ignored: IgnoredArgs) -> dict[str, Any]:
    left_out = ignored if isinstance(ignored, list) else []
    return {key: value for key, value in (args or {}).items() if key not in left_out}


def same_but_for_type(one: Any, other: Any) -> bool:
    """Whether two values say the same in different types: 1 and "1", "a" and ["a"], {} and "{}"."""
    if has_pattern(one) or (type(one) is type(other) and not isinstance(one, list | dict)):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and _all_alike(list(one.values()), [other[key] for key in one])
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and _all_alike(one, other)
    return other == [one] or one == [other] or bool(_as_said(one) == _as_said(other))


def _all_alike(left: list[Any], right: list[Any]) -> bool:
    return all(a == b or same_but_for_type(a, b) for a, b in zip(left, right, strict=True))


def _as_said(value: Any) -> Any:
    """A text as the value that it spells, other values as they are; what spells nothing is itself."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value.strip().lower() if value.strip().lower() in _WORDS else value)
    except ValueError:
        return {"none": None}.get(value.strip().lower(), value)


_WORDS = ("true", "false", "null")
