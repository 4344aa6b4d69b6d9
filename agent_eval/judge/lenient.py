"""Objects in what models write: JSON, Python literals, and what was meant to be either.

Nothing is guessed that was not written: a value counts once it is complete, and where the rest of
an object cannot be read, the rest is not in it.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

MAX_ATTEMPTS = 500
"""Braces that may turn out to begin nothing before the rest of a text is left alone."""
MAX_DEPTH = 40


class Repeated(list[Any]):
    """The values of a key that an object has more than once."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object in a text, and where it stands."""

    value: dict[str, Any]
    start: int
    end: int


def objects_in(text: str) -> list[Found]:
    """The outermost objects of a text, in order."""
    found: list[Found] = []
    start, attempts = text.find("{"), 0
    while start >= 0 and attempts < MAX_ATTEMPTS:
        value, end = _object_at(text, start)
        if value:
            found.append(Found(value, start, end))
        else:
            attempts += 1
        start = text.find("{", max(end, start + 1))
    return found


def _object_at(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins at a brace, and the position behind it; None if there is none."""
    try:
        value, end = _STRICT.raw_decode(text, start)
    except ValueError:
        return _Reader(text, start).whole()
    except RecursionError:
        return None, start
    return value, end


def _joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its pairs, nothing lost."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key not in values:
            values[key] = value
        elif isinstance(values[key], Repeated):
            values[key].append(value)
        else:
            values[key] = Repeated([values[key], value])
    return values


_STRICT = json.JSONDecoder(strict=False, object_pairs_hook=_joined)


class _UnreadableError(Exception):
    """What follows is no part of an object."""


_SPACE = re.compile(r"(?:\s|//[^\n]*|#[^\n]*)*")
"""Comments are space."""
_KEY = re.compile(r"[A-Za-z_][\w\-. ]*?(?=\s*[:=])")
_WORD = re.compile(r"[^\s,\]}\[{][^,\]}\[{\n]*?(?=\s*(?:[,\]}\n]|//|#))")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "‘": "’"}
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class _Reader:
    """Reads one object, as far as it goes."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._at = start

    def whole(self) -> tuple[dict[str, Any] | None, int]:
        pairs: list[tuple[str, Any]] = []
        with suppress(_UnreadableError):  # what was complete before it stays
            self._object(pairs, 0)
        return _joined(pairs) or None, self._at

    def _object(self, pairs: list[tuple[str, Any]], depth: int) -> None:
        self._at += 1
        while self._next() != "}":
            key = self._key()
            if self._next() not in (":", "="):
                raise _UnreadableError
            self._at += 1
            pairs.append((key, self._value(depth)))
            if self._next() == ",":
                self._at += 1
        self._at += 1

    def _list(self, depth: int) -> list[Any]:
        values = []
        self._at += 1
        while self._next() != "]":
            values.append(self._value(depth))
            if self._next() == ",":
                self._at += 1
        self._at += 1
        return values

    def _value(self, depth: int) -> Any:
        first = self._next()
        if depth >= MAX_DEPTH:
            raise _UnreadableError
        if first == "{":
            pairs: list[tuple[str, Any]] = []
            self._object(pairs, depth + 1)
            return _joined(pairs)
        if first == "[":
            return self._list(depth + 1)
        if first in _QUOTES:
            return self._string(first, behind=",}]")
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise _UnreadableError
        self._at = word.end()
        return _WORDS.get(word[0].lower(), _number(word[0]))

    def _key(self) -> str:
        first = self._next()
        if first in _QUOTES:
            return self._string(first, behind=":=")
        word = _KEY.match(self._text, self._at)
        if word is None:
            raise _UnreadableError
        self._at = word.end()
        return word[0]

    def _string(self, opening: str, behind: str) -> str:
        """A quoted text. A quote inside that is not escaped does not end it: nothing fitting is behind."""
        closing = _QUOTES[opening]
        end = self._at
        while (end := self._text.find(closing, end + 1)) >= 0:
            if self._is_escaped(end):
                continue
            if self._behind(end + 1) in behind:
                said = self._text[self._at + 1 : end]
                self._at = end + 1
                return _ESCAPE.sub(_unescaped, said)
        raise _UnreadableError

    def _is_escaped(self, position: int) -> bool:
        before = position
        while self._text[before - 1] == "\\":
            before -= 1
        return (position - before) % 2 == 1

    def _next(self) -> str:
        """Goes to the next character that is neither space nor comment."""
        self._at = self._after_space(self._at)
        if self._at >= len(self._text):
            raise _UnreadableError
        return self._text[self._at]

    def _behind(self, position: int) -> str:
        """The same without going there; empty at the end of the text."""
        position = self._after_space(position)
        return self._text[position : position + 1]

    def _after_space(self, position: int) -> int:
        space = _SPACE.match(self._text, position)
        return space.end() if space else position


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPED.get(code, code)


def _number(word: str) -> Any:
    try:
        return float(word) if "." in word else int(word)
    except ValueError:
        return word
