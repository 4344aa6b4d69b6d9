"""Where in an eval set's file its cases are."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from agent_eval import files

_STRING = r'"(?:[^"\\]|\\.)*"'
_IDS = (
    re.compile(rf'"(?:eval_id|evalId)"\s*:\s*({_STRING})'),
    re.compile(rf'"name"\s*:\s*({_STRING})'),  # in the old list format
)


def case_lines(path: Path, sha256: str) -> dict[str, int]:
    """The 1-based line of each case's id.

    Empty if the file is not there any more, or is not the one that was run.
    """
    try:
        data = files.read_bytes(path)
    except (OSError, ValueError):
        return {}
    if hashlib.sha256(data).hexdigest() != sha256:
        return {}
    text = data.decode("utf-8-sig", "replace")
    return next(filter(None, (_lines(text, pattern) for pattern in _IDS)), {})


def _lines(text: str, pattern: re.Pattern[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    line, position = 1, 0
    for match in pattern.finditer(text):
        line += text.count("\n", position, match.start(1))
        position = match.start(1)
        try:
            found.setdefault(json.loads(match[1]), line)
        except ValueError:
            continue  # a string with a line break in it, say, which the reader of eval sets refused
    return found
