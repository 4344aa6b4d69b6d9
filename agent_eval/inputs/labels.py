"""Files of labels: what people say of responses, to measure a judge by."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from agent_eval.errors import InputError, Problem
from agent_eval.inputs import documents
from agent_eval.schema.base import Many, Value


class Verdict(StrEnum):
    """What somebody says of a response."""

    PASS = "pass"
    FAIL = "fail"


def _verdict(value: object) -> object:
    """`PASS`, `passed`, true and 1 are a pass."""
    if isinstance(value, bool | int | float) and value in (0, 1):
        return Verdict.PASS if value else Verdict.FAIL
    if isinstance(value, str):
        said = value.strip().lower()
        return {"passed": "pass", "failed": "fail"}.get(said, said)
    return value


def _responses(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Label(Value):
    """What people say of one run of a case."""

    eval_id: str
    label: Annotated[Verdict, BeforeValidator(_verdict)]
    response: Annotated[list[str], Field(min_length=1), BeforeValidator(_responses)] | None = None
    """What the agent said, one text a turn; None for the run of a result."""
    run_index: int = Field(0, ge=0)
    """Which run of a result is meant."""
    metric: str | None = None
    """The metric that the label is for; None for every judged one."""
    note: str | None = None
    """Why, for the reader."""


_LABELS = TypeAdapter(list[Label])
_MANY_LABELS = TypeAdapter(Many[Label])
LARGE = 250_000
"""Of longer files only the first mistake is told (characters)."""


def load_labels(path: Path) -> list[Label]:
    """Reads labels: a JSON list, or JSON Lines when the name ends in .jsonl.

    Raises:
        InputError: the file cannot be read or holds no labels; everything wrong with it at once.
    """
    return parse_labels(documents.decode(documents.read_bytes(path), str(path)), str(path))


def parse_labels(text: str, file: str) -> list[Label]:
    """The labels in a file's text.

    Raises:
        InputError: it holds none; everything wrong with it at once.
    """
    if file.endswith(".jsonl"):
        if text.count("\n") > documents.MAX_VALUES:
            raise InputError(Problem(f"has more than {documents.MAX_VALUES} lines", file))
        lines = [line for line in text.split("\n") if line.strip()]  # texts in them may hold other breaks
        text = "[" + ",\n".join(lines) + "]"  # one label stays on one line, for errors
    document = documents.parse(text, file)
    try:
        labels = (_MANY_LABELS if len(text) > LARGE else _LABELS).validate_python(document)
    except ValidationError as error:
        raise documents.invalid(error, (Label,), text, document, file) from None
    if not labels:
        raise InputError(Problem("holds no labels", file))
    return labels
