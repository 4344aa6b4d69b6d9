"""`EVALSET[:case1,case2]` as scripts write it, also with drive letters and blanks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_eval.errors import InputError, Problem

_DRIVE = re.compile(r"[A-Za-z]:(?=[\\/])")
_JSON = re.compile(r"(?P<file>.*?\.json):(?P<cases>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Selector:
    """An eval set and the cases wanted of it; none named means all."""

    file: str
    case_ids: tuple[str, ...] = ()


def parse_selector(argument: str) -> Selector:
    """What an argument selects.

    Raises:
        InputError: a colon without a case id behind it.
    """
    drive = _DRIVE.match(argument)
    head, rest = (drive.group(), argument[drive.end() :]) if drive else ("", argument)
    if found := _JSON.fullmatch(rest):
        file, cases = found["file"], found["cases"]
    else:
        file, colon, cases = rest.rpartition(":")
        if not colon:
            return Selector(argument)
    case_ids = tuple(case.strip() for case in cases.split(","))
    if not file or not all(case_ids):
        raise InputError(
            Problem(f"empty selector in `{argument}`", hint="write EVALSET or EVALSET:case1,case2")
        )
    return Selector(head + file, case_ids)
