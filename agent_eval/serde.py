"""JSON and YAML in and out: the only module that knows how documents are encoded."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
import pydantic_core
from pydantic import BaseModel

Path = Sequence[str | int]

LINE_LOOKUP_LIMIT = 4_000_000
"""Documents longer than this are not searched for line numbers (characters)."""


class DocumentError(ValueError):
    """Text that is not a document: the message says why, `line` where (1-based)."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def to_json(value: Any, *, indent: bool = False) -> bytes:
    """Compact (or two-space indented) UTF-8 JSON; NaN and infinities become null.

    A text that UTF-8 cannot hold (a lone surrogate) is written with U+FFFD in its place.
    """
    option = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return orjson.dumps(value, default=str, option=option)
    except TypeError:
        return orjson.dumps(_encodable(value), default=str, option=option)


def rewritten(document: Any) -> bytes:
    """A parsed document as indented JSON again, with every value as it was, integers of any size too."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False).encode() + b"\n"


def _encodable(value: Any) -> Any:
    """A copy of `value` that JSON can hold: clean texts, plain containers, 64-bit or float numbers."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(str(key)): _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_encodable(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value) if abs(value) < 10**308 else plain(value)
    return value


MAX_DEPTH = 60
"""Containers nested deeper are cut: what reads them back has limits too."""

_MAX_INT = 10**300
"""Integers beyond it cannot be written as text, or not be read again."""


def plain(value: Any, depth: int = 0) -> Any:
    """A deep copy of a value that JSON can hold and give back: the value as it is now, whatever it is.

    Keys become texts, tuples and sets lists, other objects their `str`; what refers to itself or is
    nested too deeply is cut.
    """
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if -_MAX_INT < value < _MAX_INT else "<integer of more than 300 digits>"
    if depth > MAX_DEPTH:
        return "<nested too deeply>"
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else told(key): plain(item, depth + 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="python", exclude_none=True), depth + 1)
    return told(value)


def told(value: object) -> str:
    """`str(value)`, whatever that raises."""
    try:
        return str(value)
    except Exception as error:  # of a class of the user's
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def model_to_json(model: BaseModel, *, compact: bool = False) -> bytes:
    """A model as one line of JSON in snake_case; what JSON cannot hold is written as text.

    Args:
        model: the model.
        compact: leave out what is at its default, which reading puts back.
    """
    options: dict[str, Any] = {"by_alias": False, "exclude_defaults": compact, "fallback": str}
    try:
        return model.model_dump_json(**options).encode()
    except (ValueError, UnicodeError):  # texts that are not Unicode, say
        return to_json(model.model_dump(mode="python", by_alias=False, exclude_defaults=compact))


def check_size(text: str | bytes, most: int) -> None:
    """Refuses JSON of so many values that a few bytes each would fill the memory; texts may be long.

    Raises:
        DocumentError: there are more than `most`.
    """
    if len(text) <= most:
        return
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if _marks(data) <= most:
        return
    data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    count, in_text = 0, False
    for start in range(0, len(data), _WINDOW):
        pieces = data[start : start + _WINDOW].split(b'"')
        count += sum(map(_marks, pieces[in_text::2]))
        in_text ^= len(pieces) % 2 == 0
        if count > most:
            raise DocumentError(f"has more than {most} values")


_WINDOW = 1_000_000


def _marks(data: bytes) -> int:
    """How often a value begins, unless that is in a text."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def from_json(text: str | bytes, most: int | None = None) -> Any:
    """Parses strict JSON: no NaN, no infinities, no number out of range. Integers are exact.

    Args:
        text: the document.
        most: how many values it may have.

    Raises:
        DocumentError: the text is not JSON, or has too many values.
    """
    if most is not None:
        check_size(text, most)
    try:
        orjson.loads(text)  # the stricter of the two: the other reads 1e400 as infinity
        return pydantic_core.from_json(text)  # the exact one: integers of any size
    except orjson.JSONDecodeError as error:
        reason = error.msg.partition(": line ")[0]
        raise DocumentError(f"not JSON: {reason} (column {error.colno})", error.lineno) from None
    except ValueError as error:
        raise DocumentError(f"not JSON: {error}") from None


MAX_YAML = 1_000_000
"""Longer YAML is refused (characters): parsing takes seconds for each million of them."""
_MAX_YAML_DEPTH = 200
"""As deep as JSON may be nested."""
_MAX_YAML_BITS = 14_000
"""Of integers in other bases than ten; Python does not write longer ones as text."""
_MAX_YAML_VALUES = 1_000_000
"""With aliases followed; ten lines of them can stand for billions."""


def from_yaml(text: str) -> Any:
    """Parses one YAML document with plain values only.

    Raises:
        DocumentError: the text is not YAML, or far too large.
    """
    import yaml  # only configs are YAML, and the import takes longer than parsing one

    if len(text) > MAX_YAML:
        raise DocumentError(f"more than {MAX_YAML} characters of YAML: write it as JSON")
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error)
        raise DocumentError(f"not YAML: {reason}", mark.line + 1 if mark else None) from None
    except RecursionError:
        raise DocumentError("not YAML: nested too deeply") from None
    except Exception as error:  # of a value such as `2026-13-45`, which PyYAML lets escape as it comes
        raise DocumentError(f"not YAML: a value cannot be read: {error}") from None
    _measured(document, 0, {})
    return document


def _measured(node: Any, depth: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """How many values there are from here, aliases followed, and how deep they are nested.

    Raises:
        DocumentError: too many, too large or too deep, as what contains itself is.
    """
    if isinstance(node, int) and node.bit_length() > _MAX_YAML_BITS:
        raise DocumentError("not YAML: a number is too large")
    if not isinstance(node, dict | list | tuple):
        return 1, 0
    if id(node) not in known:
        if depth > _MAX_YAML_DEPTH:
            raise DocumentError("not YAML: nested too deeply")
        items = node.values() if isinstance(node, dict) else node
        inner = [_measured(item, depth + 1, known) for item in items]
        known[id(node)] = (
            1 + sum(count for count, _ in inner),
            1 + max((height for _, height in inner), default=0),
        )
    count, height = known[id(node)]
    if depth + height > _MAX_YAML_DEPTH:
        raise DocumentError("not YAML: nested too deeply")
    if count > _MAX_YAML_VALUES:
        raise DocumentError("not YAML: its aliases stand for more than a million values")
    return count, height


def line_of(text: str, path: Path, *, yaml: bool = False) -> int | None:
    """The 1-based line where `path`, or its nearest parent in the document, stands.

    None if that cannot be told. Positions are looked for only when an error is reported, so that
    reading a good document keeps none.
    """
    if len(text) > LINE_LOOKUP_LIMIT:
        return None
    if yaml:
        return _yaml_line(text, path)
    found = _places(text)
    if found is None:
        return None  # no JSON: its error has a line of its own
    place, breaks = found
    position = place.begins
    for step in path:
        if step not in place.inside:
            position = place.value
            break
        place = place.inside[step]
        position = place.begins
    return bisect_left(breaks, position) + 1


@lru_cache(maxsize=4)  # a file may have thousands of errors
def _yaml_node(text: str) -> Any:
    import yaml

    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None


def _yaml_line(text: str, path: Path) -> int | None:
    import yaml

    node = _yaml_node(text)
    if node is None:
        return None
    line: int = node.start_mark.line
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == step]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = [(node.value[step], node.value[step])]
        else:
            found = []
        if not found:
            break
        key, node = found[-1]
        line = key.start_mark.line
    return line + 1


def json_span(text: str, path: Path) -> tuple[int, int] | None:
    """Where the value at `path`, with its key if it has one, begins and ends in valid JSON."""
    found = _places(text)
    if found is None:
        return None
    place = found[0]
    for step in path:
        if step not in place.inside:
            return None
        place = place.inside[step]
    return place.begins, place.end


class _Place(NamedTuple):
    """Where a value is in valid JSON."""

    begins: int
    """Its key, if it has one."""
    value: int
    end: int
    inside: dict[str | int, _Place]
    """Of a repeated key the last one counts, as when parsing."""


_STRINGS = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]}]+")


@lru_cache(maxsize=4)  # a file may have thousands of errors
def _places(text: str) -> tuple[_Place, list[int]] | None:
    """Where everything in valid JSON is, and its line breaks; None for what is no JSON."""
    try:
        start = _skip_space(text, 0)
        found = _place(text, start, start)
    except (ValueError, IndexError, RecursionError):
        return None
    return found, [match.start() for match in re.finditer("\n", text)]


def _place(text: str, begins: int, start: int) -> _Place:
    """The value that begins at `start`, and all that is in it."""
    inside: dict[str | int, _Place] = {}
    if text[start] not in "{[":
        return _Place(begins, start, _end_of_plain(text, start), inside)
    is_object = text[start] == "{"
    position = _skip_space(text, start + 1)
    while text[position] not in "}]":
        step: str | int = len(inside)
        begin = position
        if is_object:
            step, position = _STRINGS.raw_decode(text, position)
            position = _skip_space(text, _skip_space(text, position) + 1)
        inside[step] = _place(text, begin, position)
        position = _skip_space(text, inside[step].end)
        if text[position] == ",":
            position = _skip_space(text, position + 1)
    return _Place(begins, start, position + 1, inside)


def _end_of_plain(text: str, start: int) -> int:
    """The position behind a text, a number or a word."""
    if text[start] == '"':
        return int(_STRINGS.raw_decode(text, start)[1])
    found = _SCALAR.match(text, start)
    return found.end() if found else start + 1


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def schema_validator(schema: Mapping[str, Any]) -> Any:
    """What checks values by a JSON Schema. References lead to places in it: nothing is fetched or read."""
    from jsonschema.validators import validator_for  # few documents are checked like that
    from referencing import Registry

    return validator_for(schema)(schema, registry=Registry())


def path_text(path: Path) -> str:
    """A path as people read it: `eval_cases[3].conversation[0].user_content`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text
