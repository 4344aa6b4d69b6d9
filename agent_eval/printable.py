"""Texts from outside, made safe for a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def printable(text: str) -> str:
    """`text` with control codes and marks that turn the writing direction spelled out.

    What agents, judges and files say must not move the cursor, colour the terminal or hide.
    """
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
