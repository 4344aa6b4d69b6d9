"""The codes, read from their long forms: `texts/AE101.md` begins with `# AE101 extra-calls`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NEAR = 3
"""So many codes are named where one is not known."""

_MISREAD = str.maketrans("OIL", "011")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a code stands for."""

    code: str
    """Stable: scripts may rely on it."""
    name: str
    """In two or three words, such as `extra-calls`."""
    title: str
    """In a sentence."""
    text: str
    """The long form, in Markdown: what it means, and what to do about it."""


@cache
def topics() -> tuple[Topic, ...]:
    """All of them, by their codes."""
    texts = files("agent_eval.codes").joinpath("texts").iterdir()
    found = [_topic(place.read_text(encoding="utf-8")) for place in texts if place.name.endswith(".md")]
    return tuple(sorted(found, key=lambda topic: topic.code))


def _topic(text: str) -> Topic:
    heading, title, _ = text.split("\n\n", 2)
    code, name = heading.removeprefix("# ").split()
    return Topic(code, name, title.replace("\n", " "), text)


def topic_of(name: str) -> Topic | None:
    """The topic of a code or a short name, in any case; None if there is none."""
    wanted = name.casefold()
    return next((topic for topic in topics() if wanted in (topic.code.casefold(), topic.name)), None)


def near_misses(name: str) -> list[str]:
    """Codes and short names that are nearly the given one."""
    known = [text for topic in topics() for text in (topic.code, topic.name)]
    is_code = name[:2].casefold() == "ae"
    folded = name.upper().translate(_MISREAD) if is_code else name.casefold()
    close = difflib.get_close_matches(folded, known, n=len(known), cutoff=0.6)
    return sorted(close, key=lambda text: (-_alike(text, folded), text))[:NEAR]


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
