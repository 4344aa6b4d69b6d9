"""Result files -> `EvalResult`, whatever version of this project wrote them."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_eval import files, serde
from agent_eval.errors import InputError, Problem
from agent_eval.schema.result import SCHEMA_VERSION, EvalResult
from agent_eval.store.journal import SUFFIX

Migration = Callable[[dict[str, Any]], dict[str, Any]]

MAX_VALUES = 10_000_000
"""In a result; one of 100 000 runs has two million."""

MIGRATIONS: tuple[Migration, ...] = ()
"""Step i makes a document of version i + 2 out of one of version i + 1."""


def read_result(path: Path) -> EvalResult:
    """Reads a summary; a journal stands for the summary beside it.

    Raises:
        InputError: there is none, or it is no result of this project, or of a newer version of it.
    """
    if path.name.endswith(SUFFIX):
        path = path.with_name(path.name.removesuffix(SUFFIX) + ".json")
    return result_of(parsed(read_content(path), str(path)), str(path))


def read_content(path: Path) -> bytes:
    """What is in a file; a byte order mark is dropped.

    Raises:
        InputError: it is not there, or cannot be read.
    """
    try:
        return files.read_bytes(path).removeprefix(codecs.BOM_UTF8)
    except FileNotFoundError:
        raise InputError(Problem("no such file", str(path))) from None
    except files.NotAFileError as error:
        raise InputError(Problem(error.strerror, str(path))) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Problem(f"cannot be read: {reason}", str(path))) from None


def parsed(content: bytes, file: str) -> Any:
    """The document in a file's content.

    Raises:
        InputError: it is not JSON.
    """
    try:
        return serde.from_json(content, MAX_VALUES)
    except serde.DocumentError as error:
        raise InputError(Problem(str(error), file, line=error.line)) from None


def result_of(document: Any, file: str) -> EvalResult:
    """The summary in a document.

    Raises:
        InputError: it is no result of this project, or of a newer version of it.
    """
    version = document.get("schema_version") if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(
            Problem(
                "is not a result of agent-eval: it has no `schema_version`",
                file,
                hint="name the .json summary of an evaluation under .agent_eval/results",
            )
        )
    if version > SCHEMA_VERSION:
        raise InputError(
            Problem(
                f"was written by a newer agent-eval: its schema version is {version}, "
                f"this one reads up to {SCHEMA_VERSION}",
                file,
                hint="update agent-eval",
            )
        )
    for migrate in MIGRATIONS[version - 1 :]:
        document = migrate(document)
    try:
        return EvalResult.model_validate_json(serde.to_json(document))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(
            Problem(f"is damaged: {first['msg']}", file, serde.path_text(first["loc"]) or None)
        ) from None
