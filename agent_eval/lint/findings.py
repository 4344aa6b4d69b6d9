"""What lint finds: a code, a place, and edits that put it right where that is safe."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """`run` refuses it, or something in it can never be evaluated, or never pass or fail."""
    WARNING = "warning"
    """It runs, and may not mean what was meant."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of a file's text, and what to put in its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or looks so."""

    code: str
    severity: Severity
    message: str
    file: str
    path: str | None = None
    """Place inside the document, like `eval_cases[3].conversation[0]`."""
    line: int | None = None
    """1-based line of that place."""
    hint: str | None = None
    """What to do about it."""
    fix: tuple[Edit, ...] = ()
    """Edits that put it right and change nothing else."""
