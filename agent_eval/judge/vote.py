"""Votes of a judge that is asked several times: the majority decides, and no vote is asked for in vain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from agent_eval.judge.base import Failure, ModelError

T = TypeVar("T")


class Vote(Enum):
    """What one sample says of one question."""

    YES = "yes"
    NO = "no"
    NEITHER = "neither"
    """The judge answered, but not this."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one answer says of one question."""

    holds: bool | None
    """None where it says neither yes nor no."""
    rationale: str | None = None
    label: str | None = None
    """The verdict as the judge worded it, where there are more than two."""

    @property
    def vote(self) -> Vote:
        """The finding as a vote."""
        if self.holds is None:
            return Vote.NEITHER
        return Vote.YES if self.holds else Vote.NO


Findings = Mapping[str, Finding]
"""Question -> finding. A judge may be asked several things at once."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes on one question so far. As in ADK, a tie is a no, and NEITHER counts for nobody."""

    yes: int = 0
    no: int = 0
    open: int = 0
    """Samples that could have gone either way: lost ones, and those not asked for yet."""

    @property
    def verdict(self) -> bool | None:
        """What the votes say however the open ones go; None if that cannot be said, or nobody voted."""
        if self.yes > self.no + self.open:
            return True
        return False if self.no and self.no >= self.yes + self.open else None

    @property
    def needed(self) -> int:
        """How many of the open votes it takes at least to decide; 0 if no vote can change anything."""
        for_yes = (self.no + self.open - self.yes) // 2 + 1
        for_no = (self.yes + self.open - self.no + 1) // 2
        return max(min(for_yes, for_no), 0)


def tally_of(votes: Sequence[Vote], open_votes: int = 0) -> Tally:
    """The votes on one question, counted."""
    return Tally(votes.count(Vote.YES), votes.count(Vote.NO), open_votes)


def majority(samples: Iterable[Iterable[tuple[str, Vote, T]]], lost: int = 0) -> dict[str, T]:
    """What each question is answered by: the first of the votes that have the majority.

    A question that every sample says neither to has the first of these. One that lost samples
    could have decided either way is left out.

    Args:
        samples: each one's votes, as (question, vote, what it said).
        lost: samples that were asked for, and never came.
    """
    votes: dict[str, list[tuple[Vote, T]]] = {}
    for sample in samples:
        for question, vote, said in sample:
            votes.setdefault(question, []).append((vote, said))
    chosen = {}
    for question, cast in votes.items():
        tally = tally_of([vote for vote, _ in cast], lost)
        if tally.verdict is not None:
            wanted = Vote.YES if tally.verdict else Vote.NO
            chosen[question] = next(said for vote, said in cast if vote is wanted)
        elif not tally.yes and not tally.no and not lost:
            chosen[question] = cast[0][1]
    return chosen


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the samples of one request say together."""

    findings: Findings
    """Of the questions that are decided."""
    reason: str | None = None
    """Why a question is not decided; None if all are."""
    samples: int = 0
    """How many were asked for."""


async def poll(
    ask: Callable[[int], Awaitable[Findings]], questions: Sequence[str], num_samples: int
) -> Ruling:
    """Asks for samples until the majority on every question is certain, or one can no longer be had.

    Each round asks, at once, for as many samples as it takes at least to decide every question. So
    which samples are asked for depends on what they say, and never on when they come.

    Args:
        ask: gives the sample of a number, from 0, with a finding on each question; raises
            `ModelError` where none came.
        questions: what is voted on.
        num_samples: how many samples there may be.
    """
    answers: list[Findings | ModelError] = []
    while count := _missing(answers, questions, num_samples):
        numbers = range(len(answers), len(answers) + count)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_sample(ask, number)) for number in numbers]
        answers += [task.result() for task in tasks]
    usable = [answer for answer in answers if not isinstance(answer, ModelError)]
    ballots = [[(name, one.vote, one) for name, one in answer.items()] for answer in usable]
    findings = majority(ballots, _lost(answers))
    decided = {name: finding for name, finding in findings.items() if finding.holds is not None}
    missing = [name for name in questions if name not in decided]
    return Ruling(decided, _reason(answers, num_samples) if missing else None, len(answers))


async def _sample(ask: Callable[[int], Awaitable[Findings]], number: int) -> Findings | ModelError:
    try:
        return await ask(number)
    except ModelError as error:
        return error


def _missing(answers: Sequence[Findings | ModelError], questions: Sequence[str], num_samples: int) -> int:
    """How many samples to ask for next; 0 if all is decided, or something can no longer be."""
    remaining = num_samples - len(answers)
    usable = [answer for answer in answers if not isinstance(answer, ModelError)]
    needed = max(
        tally_of([answer[name].vote for answer in usable], remaining + _lost(answers)).needed
        for name in questions
    )
    return needed if needed <= remaining else 0


def _lost(answers: Sequence[Findings | ModelError]) -> int:
    """Samples that never came. One that came and could not be read says neither."""
    return sum(
        isinstance(answer, ModelError) and answer.failure is not Failure.UNUSABLE for answer in answers
    )


def _reason(answers: Sequence[Findings | ModelError], num_samples: int) -> str:
    """Why there is no verdict: the first cause, and how many samples had one."""
    failed = [answer for answer in answers if isinstance(answer, ModelError)]
    if not failed:
        return "the judge says neither yes nor no"
    if num_samples == 1:
        return str(failed[0])
    return f"{len(failed)} of {len(answers)} samples gave no verdict: {failed[0]}"
