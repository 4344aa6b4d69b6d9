"""A response cut into sentences, by rules: the same text always gives the same ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(
    r"""
    (?<=[.!?…])["'”’»)\]*_]*\s+(?=["'“‘«(\[*_¿¡]*[^\s\W_a-z0-9])   # before a space and no small letter
    | (?<=\D[.!?…])["'”’»)\]*_]*\s+(?=\d)                         # a number begins, and none has ended
    | (?<=[。！？｡])["'”’」』）]*\s*(?=\S)                          # without a space
    | (?<=[।؟۔])\s+
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'])(?:(?:[^\W\d_]\.)*[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|St|No|Nr|vs|etc|approx)\.$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+")
_WORD = re.compile(r"\w")


def sentences_of(text: str) -> list[str]:
    """The sentences, as they stand in the text.

    Each line is at least one, with its bullet or number; a table and a block of code are one each.
    Lines without a letter or digit are none.
    """
    found = []
    for block in _blocks(text):
        if "\n" in block or block.startswith("|"):
            found.append(block)
        else:
            found += _in_line(block)
    return [sentence for sentence in found if _WORD.search(sentence)]


def _blocks(text: str) -> Iterator[str]:
    """Lines; those of a table or a block of code together."""
    held: list[str] = []
    fence = ""
    for line in text.splitlines():
        stripped = line.strip()
        if fence:
            held.append(line)
            if stripped.startswith(fence):
                yield "\n".join(held)
                held, fence = [], ""
            continue
        is_row = stripped.startswith("|")
        if held and not is_row:
            yield "\n".join(held)
            held = []
        if stripped.startswith(("```", "~~~")):
            fence = stripped[:3]
        if fence or is_row:
            held.append(line.strip() if is_row else line)
        elif stripped:
            yield stripped
    if held:
        yield "\n".join(held)


def _in_line(line: str) -> Iterator[str]:
    bullet = _BULLET.match(line)
    start = 0
    for end in _END.finditer(line, bullet.end() if bullet else 0):
        is_quoted = not line[end.start()].isspace()
        if is_quoted or not _ABBREVIATION.search(line[start : end.start()]):
            yield line[start : end.end()].strip()
            start = end.end()
    yield line[start:].strip()
