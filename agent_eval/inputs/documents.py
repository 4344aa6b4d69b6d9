"""Files -> text -> values, with errors that name the file, the place and what to do."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agent_eval import files, serde
from agent_eval.errors import InputError, Problem, did_you_mean


def read_bytes(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        InputError: it does not exist, is no file, or cannot be read.
    """
    file = str(path)
    try:
        return files.read_bytes(path)
    except FileNotFoundError:
        raise InputError(Problem("no such file", file, hint=_similar_file(path))) from None
    except files.NotAFileError as error:
        raise InputError(Problem(error.strerror, file)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Problem(f"cannot be read: {reason}", file)) from None


def _similar_file(path: Path) -> str | None:
    try:
        names = [other.name for other in path.parent.iterdir()]
    except OSError:
        return f"there is no folder `{path.parent}`"
    return did_you_mean(path.name, names)


def decode(data: bytes, file: str) -> str:
    """UTF-8 text; a byte order mark is dropped.

    Raises:
        InputError: other bytes, or nothing at all.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            Problem(
                f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
                file,
                line=line,
                hint="save the file as UTF-8",
            )
        ) from None
    if not text.strip():
        raise InputError(Problem("the file is empty", file))
    return text


MAX_VALUES = 1_000_000
"""In a document that people write; each may take a kilobyte once it is read."""


def parse(text: str, file: str) -> Any:
    """The document in a text: YAML where the name says so, JSON elsewhere.

    Raises:
        InputError: it is neither.
    """
    try:
        return serde.from_yaml(text) if is_yaml(file) else serde.from_json(text, MAX_VALUES)
    except serde.DocumentError as error:
        raise InputError(Problem(str(error), file, line=error.line)) from None


def is_yaml(file: str) -> bool:
    """Whether a file's name says YAML."""
    return file.lower().endswith((".yaml", ".yml"))


LEGACY_KEYS = {
    "query": "user_content",
    "reference": "final_response",
    "expected_tool_use": "intermediate_data.tool_uses",
    "expected_intermediate_agent_responses": "intermediate_data.intermediate_responses",
    "tool_name": "name",
    "tool_input": "args",
    "initial_session": "session_input",
}
"""Keys of the old list format, and where the current format has what they say."""

_EXPECTED = {
    "missing": "required, but not there",
    "string_type": "expected text",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "finite_number": "expected a finite number",
    "list_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "bytes_invalid_encoding": "expected base64",
}

_SAID_IN_FULL = {
    "two_spellings",
    "sdk_value",
    "template_syntax",
    "template_placeholders",
    "bad_pattern",
    "one_answer",
    "bad_expression",
    "context_turns",
}
"""Errors of our own schema whose message leaves nothing to add."""


def invalid(
    error: ValidationError,
    models: Iterable[type[BaseModel]],
    text: str,
    document: Any,
    file: str,
    depth: int = 0,
) -> InputError:
    """What a validation found, as problems with places in the document.

    Args:
        error: what pydantic found.
        models: models whose keys may have been meant by an unknown one.
        text: the document as written, for line numbers.
        document: the document as parsed.
        file: its name.
        depth: steps at the start of each place that are not in the document.
    """
    known = sorted({key for model in models for key in model.model_fields})
    details = error.errors(include_url=False)
    return InputError(*few(_problem(detail, known, text, document, file, depth) for detail in details))


MAX_PROBLEMS = 100
"""Nobody reads more about one file, and finding the line of each takes a while."""


def few(problems: Iterable[Problem]) -> list[Problem]:
    """The first problems of a file, each once; that there are more is one of its own."""
    found = list(dict.fromkeys(islice(problems, MAX_PROBLEMS + 1)))
    if len(found) > MAX_PROBLEMS:
        found[-1] = Problem("and more like these", found[0].file)
    return found


def _problem(
    detail: ErrorDetails, known: list[str], text: str, document: Any, file: str, depth: int
) -> Problem:
    kind, given = detail["type"], detail["input"]
    path = _path_in(document, detail["loc"][depth:], missing=kind == "missing")
    hint = None
    if kind in ("extra_forbidden", "unknown_key"):
        key = str(path[-1]) if path else ""
        message = f"unknown key `{key}`"
        hint = _instead_of(key, known, detail.get("ctx", {}).get("names", ()))
    elif kind == "unknown_persona":
        message, hint = detail["msg"], did_you_mean(str(given).upper(), detail["ctx"]["names"])
    elif kind == "conversation_xor_scenario":
        message, hint = detail["msg"], _misspelled(given, ("conversation", "conversation_scenario"))
    elif kind == "missing":
        message = _EXPECTED[kind]
        hint = _misspelled(given, (snake_case(str(detail["loc"][-1])),))
    elif kind in _SAID_IN_FULL:
        message = detail["msg"]
    else:
        message = f"{_EXPECTED.get(kind, detail['msg'])}, got {short(given)}"
    return Problem(
        message, file, serde.path_text(path) or None, serde.line_of(text, path, yaml=is_yaml(file)), hint
    )


def _path_in(document: Any, loc: tuple[int | str, ...], *, missing: bool) -> list[int | str]:
    """`loc` without the steps that name a model instead of a place in the document."""
    path: list[int | str] = []
    node = document
    for index, step in enumerate(loc):
        if isinstance(node, dict) and (step in node or snake_case(str(step)) in node):
            key = step if step in node else snake_case(str(step))
            path.append(key)
            node = node[key]
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            path.append(step)
            node = node[step]
        elif missing and index == len(loc) - 1:
            path.append(step if isinstance(step, int) else snake_case(step))
    return path


def snake_case(key: str) -> str:
    """`userContent` -> `user_content`."""
    return re.sub(r"(?<!^)([A-Z])", lambda match: "_" + match[1].lower(), key)


def _instead_of(key: str, known: Iterable[str], here: Sequence[str]) -> str | None:
    """What to write instead of a key that is not known (at a place where just `here` would be)."""
    if key in LEGACY_KEYS:
        return f"write `{LEGACY_KEYS[key]}`"
    if snake_case(key) in known and snake_case(key) not in here:
        return "it does not belong here, or stands here twice in two spellings"
    close = _close(key, here or known)
    return close or (f"the keys here are {', '.join(here)}" if here else None)


def _close(key: str, names: Iterable[str]) -> str | None:
    return did_you_mean(snake_case(key), names)


def _misspelled(given: object, wanted: tuple[str, ...]) -> str | None:
    """A key of `given` that looks like a slip of one that is wanted."""
    keys = {snake_case(str(key)): str(key) for key in given} if isinstance(given, dict) else {}
    for name in wanted:
        close = difflib.get_close_matches(name, [key for key in keys if key not in wanted], n=1, cutoff=0.7)
        if close:
            return f"`{keys[close[0]]}`: did you mean `{name}`?"
    return None


def short(value: object) -> str:
    """A value as JSON, cut to a line."""
    infinite = isinstance(value, float) and not math.isfinite(value)  # which JSON would call null
    text = str(value) if infinite else serde.to_json(serde.plain(value)).decode()
    return text if len(text) <= 60 else text[:57] + "..."
