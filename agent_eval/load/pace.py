"""Limits a minute, kept evenly: no stretch of time, however short or long, has more than its share.

One of 60 lets a call pass each second rather than 60 at once, as endpoints that count by the minute
mostly watch shorter stretches too, and as the next evaluation may begin within the same minute.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from agent_eval import clock

MINUTE = 60.0


class Number(Protocol):
    """A number that several may change, one at a time; those of `multiprocessing` do."""

    value: float

    def get_lock(self) -> AbstractContextManager[Any]:
        """Keeps others away."""
        ...


@dataclass(slots=True)
class OwnNumber:
    """One that nobody else has."""

    value: float = 0.0

    def get_lock(self) -> AbstractContextManager[Any]:
        """Nobody is to be kept away."""
        return nullcontext()


class Pace:
    """So many units a minute."""

    def __init__(self, per_minute: int, free_at: Number) -> None:
        """Takes the limit, and what holds when the next may pass: processes may have it in common."""
        self._seconds = MINUTE / per_minute
        """Of one unit."""
        self._free_at = free_at

    def take(self, units: float = 1.0) -> float:
        """Books units; the seconds after which they may be used."""
        now = clock.monotonic()
        with self._free_at.get_lock():
            at = max(now, self._free_at.value)
            self._free_at.value = at + units * self._seconds
        return at - now

    def correct(self, units: float) -> None:
        """It was so many more than were booked, or fewer."""
        with self._free_at.get_lock():
            self._free_at.value += units * self._seconds

    @property
    def wait(self) -> float:
        """Seconds that the next one would have to wait."""
        return max(0.0, self._free_at.value - clock.monotonic())


class Limits:
    """Model calls a minute, and tokens a minute.

    How many tokens a call takes is known when it is over: until then it is booked as one that takes as
    many as the calls before it did on average, the first ones as none.
    """

    def __init__(
        self, rpm: int | None = None, tpm: int | None = None, number: Callable[[], Number] = OwnNumber
    ) -> None:
        """Takes the limits, None for none, and what makes the numbers that keep them."""
        self._calls = Pace(rpm, number()) if rpm else None
        self._tokens = Pace(tpm, number()) if tpm else None
        self._typical = 0.0
        """Tokens of a call."""
        self._reported = 0

    def __bool__(self) -> bool:
        return bool(self._paces)

    def book(self) -> tuple[float, float]:
        """Books a call; the seconds after which it may be made, and the tokens that it is taken for."""
        waits = [self._calls.take()] if self._calls else []
        if self._tokens:
            waits.append(self._tokens.take(self._typical))
        return max(waits, default=0.0), self._typical

    def report(self, tokens: int, booked: float) -> None:
        """A call took so many tokens, and was taken for so many."""
        self._reported += 1
        self._typical += (tokens - self._typical) / self._reported
        if self._tokens:
            self._tokens.correct(tokens - booked)

    @property
    def are_reached(self) -> bool:
        """Whether calls are held up by the limits more than by anything else."""
        return any(pace.wait > 1.0 for pace in self._paces)

    @property
    def _paces(self) -> list[Pace]:
        return [pace for pace in (self._calls, self._tokens) if pace]
