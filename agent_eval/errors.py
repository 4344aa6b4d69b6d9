"""Everything that agent-eval raises on purpose, and the exit codes they end in.

    AgentEvalError
    ├── InputError      bad files, options or code references; nothing was run        exit 2
    └── AgentError      an agent could not be imported or is not one we can drive     exit 2

Anything else that escapes is a bug of ours (exit 4).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    NOT_EVALUATED = 3
    BUG = 4
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an input: where it is, what was expected, what to do."""

    message: str
    """What is wrong and what was expected."""
    file: str | None = None
    """The file as the user named it."""
    path: str | None = None
    """Place inside the document, like `eval_cases[3].conversation[0].user_content`."""
    line: int | None = None
    """1-based line of that place."""
    hint: str | None = None
    """What to do about it."""

    def __str__(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where += f":{self.line}"
        head = ": ".join(part for part in (where, self.path, self.message) if part)
        return f"{head} ({self.hint})" if self.hint else head


class AgentEvalError(Exception):
    """An expected failure, told to the user without a traceback."""

    exit_code: ExitCode = ExitCode.USAGE

    def __init__(self, *problems: Problem | str) -> None:
        self.problems = tuple(p if isinstance(p, Problem) else Problem(p) for p in problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InputError(AgentEvalError):
    """A file, option or reference that cannot be used; nothing was run."""


class AgentError(AgentEvalError):
    """An agent that cannot be imported, or is of a kind that cannot be driven."""


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint naming the closest known word, or None when nothing is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else None
