"""A good file -> a bad one, or one that is only odd."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fuzz import hostile

Steps = tuple[str | int, ...]

_RAW = re.compile(r'"@raw(\d+)@"')
"""Stands in a document for what no encoder would write."""
_AGAIN = "@again@"
"""Ends a key that stands in its object twice."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A good file, and its document if it has one."""

    data: bytes
    document: Any = None
    places: tuple[Steps, ...] = ()

    @classmethod
    def of(cls, document: Any) -> Sample:
        """A file of a document."""
        return cls(json.dumps(document, ensure_ascii=False).encode(), document, tuple(_places(document)))


def _places(node: Any, at: Steps = ()) -> Iterator[Steps]:
    yield at
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, item in pairs:
        yield from _places(item, (*at, step))


class Mutations:
    """Files made of samples: their documents changed, their bytes, or both."""

    def __init__(self, samples: Sequence[Sample], draw: random.Random, tokens: Sequence[str] = ()) -> None:
        """Takes good files, what is drawn from, and texts that mean something in files of this kind."""
        self._samples = samples
        self._draw = draw
        self._raw = (*hostile.RAW, *tokens)
        encoded = [token.encode("utf-8", "surrogatepass") for token in tokens]
        self._bytes = (*hostile.BYTES, *encoded)

    def next(self) -> bytes:
        """Another file."""
        draw = self._draw
        sample = draw.choice(self._samples)
        data = sample.data
        way = draw.random()
        if sample.places and way < 0.75:
            document = sample.document
            for _ in range(draw.choice((1, 1, 1, 2, 2, 4))):
                document = self._changed(document, draw.choice(sample.places))
            data = self._written(document)
        if way > 0.7 or not sample.places:
            for _ in range(draw.choice((1, 1, 2, 3, 8))):
                data = self._bytes_changed(data)
        return data

    def _written(self, document: Any) -> bytes:
        """A document as JSON, which may be spelled in ways of its own."""
        draw = self._draw
        text = json.dumps(
            document, ensure_ascii=draw.random() < 0.3, indent=draw.choice((None, None, None, 1))
        )
        text = _RAW.sub(lambda match: self._raw[int(match[1])], text.replace(_AGAIN, ""))
        if draw.random() < 0.03:  # encoded twice, as older versions of ADK did
            text = json.dumps(text)
        return text.encode("utf-8", draw.choice(("surrogatepass", "replace")))

    def _value(self) -> Any:
        """Something else to stand at a place."""
        draw = self._draw
        match draw.randrange(6):
            case 0 | 1:
                return draw.choice(hostile.VALUES)
            case 2 | 3:
                return draw.choice(hostile.TEXTS)
            case 4:
                return f"@raw{draw.randrange(len(self._raw))}@"
        other = draw.choice(self._samples)
        found = other.document
        for step in draw.choice(other.places or ((),)):
            found = found[step]
        return found

    def _changed(self, node: Any, steps: Steps) -> Any:
        """A copy with something else at a place; the same where the place is not there any more."""
        if not steps:
            return self._replaced(node)
        step, rest = steps[0], steps[1:]
        if isinstance(node, dict) and step in node:
            if not rest and self._draw.random() < 0.4:
                return self._keys_changed(node, str(step))
            return {**node, step: self._changed(node[step], rest)}
        if isinstance(node, list) and isinstance(step, int) and step < len(node):
            if not rest and self._draw.random() < 0.2:
                return node[:step] + node[step + 1 :]
            return [*node[:step], self._changed(node[step], rest), *node[step + 1 :]]
        return node

    def _replaced(self, node: Any) -> Any:
        draw = self._draw
        changes: list[Callable[[], Any]] = [
            *[self._value] * 3,
            lambda: [node],
            lambda: {"": node},
            lambda: [node] * draw.choice((2, 20)),
            lambda: _nested(node, draw.choice((3, 50, 120, 400))),
            lambda: str(node),
        ]
        if isinstance(node, str):
            changes += [lambda: node + draw.choice(hostile.TEXTS)] * 3
            changes += [lambda: node.swapcase(), lambda: list(node[:50])]
        elif isinstance(node, int | float):
            changes += [lambda: -node, lambda: 0.5, lambda: str(node)] * 2
        elif isinstance(node, dict):
            changes += [lambda: list(node.items()), lambda: {**node, "surplus": self._value()}]
        elif isinstance(node, list):
            changes += [
                lambda: node[::-1],
                lambda: {str(index): 1 for index in range(len(node))},
                lambda: node * 2,
            ]
        return draw.choice(changes)()

    def _keys_changed(self, node: dict[str, Any], key: str) -> dict[str, Any]:
        rest = {other: item for other, item in node.items() if other != key}
        head, *words = key.split("_")
        camel = head + "".join(map(str.capitalize, words))
        other = self._draw.choice(list(node))
        changes: tuple[Callable[[], dict[str, Any]], ...] = (
            lambda: rest,
            lambda: rest,
            lambda: {**rest, camel: node[key]},
            lambda: {**node, camel: self._value()},
            lambda: {**node, key + _AGAIN: self._value()},
            lambda: {**rest, self._draw.choice(hostile.TEXTS)[:300]: node[key]},
            lambda: {**node, key: node[other], other: node[key]},
        )
        return self._draw.choice(changes)()

    def _bytes_changed(self, data: bytes) -> bytes:
        draw = self._draw
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice((0, 1, 2, 10, 200)))
        match draw.randrange(7):
            case 0:
                return data[:start] + data[end:]
            case 1:
                return data[:start] + data[start:end] * 2 + data[end:]
            case 2:
                return data[:start] + bytes([draw.randrange(256)]) + data[end:]
            case 3:
                return data[:start]
            case 4:
                other = draw.choice(self._samples).data
                return data[:start] + other[draw.randrange(len(other) + 1) :]
        return data[:start] + draw.choice(self._bytes) + data[end:]


def _nested(node: Any, depth: int) -> Any:
    for level in range(depth):
        node = [node] if level % 2 else {"parts": node}
    return node
