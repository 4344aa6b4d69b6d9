"""Every rule and every code, with the long forms."""

from __future__ import annotations

import difflib
from functools import cache
from importlib.resources import files

from agent_eval.diagnose import across, answers, calls, checks, crashes, judged, unscored
from agent_eval.diagnose.base import Kind, Rule, Topic

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (rule for module in (calls, checks, answers, judged, crashes, unscored) for rule in module.RULES),
        key=lambda rule: rule.code,
    )
)

TOPICS: tuple[Topic, ...] = tuple(sorted((*RULES, *across.TOPICS), key=lambda topic: topic.code))

NEAR = 3
"""So many codes are named where one is not known."""


@cache
def rules_for(kind: Kind) -> tuple[Rule, ...]:
    """The rules that may explain a kind of failure, by their codes."""
    return tuple(rule for rule in RULES if kind in rule.kinds)


def topic_of(name: str) -> Topic | None:
    """The topic of a code or a short name, in any case; None if there is none."""
    wanted = name.casefold()
    return next((topic for topic in TOPICS if wanted in (topic.code.casefold(), topic.name)), None)


def near_misses(name: str) -> list[str]:
    """Codes and short names that are nearly the given one."""
    known = [text for topic in TOPICS for text in (topic.code, topic.name)]
    folded = name.upper() if name[:2].casefold() == "ae" else name.casefold()
    return difflib.get_close_matches(folded, known, n=NEAR, cutoff=0.6)


def long_form(topic: Topic) -> str:
    """What a code means and what to do about it, in Markdown."""
    return files("agent_eval.diagnose").joinpath("texts", f"{topic.code}.md").read_text(encoding="utf-8")


def title(topic: Topic) -> str:
    """The long form's first sentence."""
    return long_form(topic).split("\n\n")[1].replace("\n", " ")
