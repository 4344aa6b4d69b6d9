"""What a rule is: a code, a long form, and a pure function from evidence to clues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_eval.diagnose.evidence import Evidence


class Kind(Enum):
    """What kind of failure there is to explain."""

    CALLS = "the tool calls are not the expected ones"
    WORDS = "the answer does not have the expected words"
    MEANING = "a judge found that the answer does not say what is expected"
    JUDGED = "a judge was not satisfied otherwise"
    TEXT_CHECK = "the answer does not have what a check asks for"
    TOOL_CHECK = "the tool calls are not what a check asks for"
    LIMIT = "a limit was exceeded"
    STATE = "the final state is not the expected one"
    OTHER = "a metric that nothing is known of failed"
    UNSCORED = "a metric has no score"
    CRASH = "the run crashed"
    USER = "the simulated user failed, and so the run crashed"


class Level(IntEnum):
    """How far a clue explains the failure; lower comes first."""

    WHOLE = 0
    """Nothing else is wrong."""
    PART = 1
    """It may be all, or there is more."""
    ASIDE = 2
    """True, but rather not the reason."""
    REST = 3
    """What can be said where nothing else can."""


@dataclass(frozen=True, slots=True)
class Clue:
    """What a rule saw in a run."""

    seen: str
    """With the values, in a sentence that begins small."""
    change: str
    """What to change."""
    level: Level = Level.PART
    turn: int | None = None
    """Number of the turn, from 1; None where it concerns the whole run."""
    subject: str = ""
    """What it is about, where a rule may see several things (the rubric's id)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A cause of failures, and how it is noticed in a run. What the code means is in `codes`.

    A rule states facts of the record only. What it suggests may not apply; what it says was seen
    was there.
    """

    code: str
    kinds: frozenset[Kind]
    """The failures it may explain."""
    find: Callable[[Evidence], Iterator[Clue]]
