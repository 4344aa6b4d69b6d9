"""How many runs are under way at once: a fixed number, or as many as the endpoints behind them bear."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from statistics import median

from agent_eval.schema.result import RunRecord, RunStatus

START = 4
"""Places that adaptive ones begin with."""
MOST = 256
"""And may become at most."""
SLOWER = 2.0
"""Runs that take this many times as long as they once took are slowed down by each other."""
SLACK_SECONDS = 0.05
"""On top of that: what a run of no length may take longer on a busy machine."""
WINDOW = 4
"""Runs at least that a typical time is taken from."""


class Places:
    """So many runs at once."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        """Conversations under way."""
        self._unfinished = 0
        """Those, and runs that wait for their score."""
        self._waiter: asyncio.Future[None] | None = None
        self._were_all_taken = False

    @property
    def most(self) -> int:
        """How many there may ever be."""
        return self.size

    async def take(self, *, for_each: int) -> None:
        """Waits for a free place, and until there are fewer unfinished runs than `for_each` a place."""
        while self.taken >= self.size or self._unfinished >= for_each * self.size:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        self.taken += 1
        self._unfinished += 1
        self._were_all_taken |= self.taken >= self.size

    def leave(self) -> None:
        """A conversation is over."""
        self.taken -= 1
        self._changed()

    def finish(self) -> None:
        """A run is finished, with or without a record."""
        self._unfinished -= 1
        self._changed()

    def learn(self, record: RunRecord) -> None:
        """A run has this record."""

    def refused(self) -> None:
        """An endpoint says that it is asked too much."""

    def _changed(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)


class AdaptivePlaces(Places):
    """Grow while runs take no longer than they did, and halve when an endpoint is asked too much.

    They double with each window of runs (as many as there are places) until the first sign of trouble,
    then grow by one: a slow start and a careful search, as TCP does it. A halving counts only once what
    was under way has come down to it, as more refusals are to be expected until then.
    """

    def __init__(self, is_held_up: Callable[[], bool] = lambda: False) -> None:
        """Takes what says that more runs would only wait."""
        super().__init__(START)
        self._is_held_up = is_held_up
        self._window: list[float] = []
        self._best: float | None = None
        self._is_start = True

    @property
    def most(self) -> int:
        """How many there may ever be."""
        return MOST

    def learn(self, record: RunRecord) -> None:
        """A run took its time; a crashed one says nothing of it."""
        if record.status is RunStatus.COMPLETED:
            self.took(record.seconds)

    def took(self, seconds: float) -> None:
        """A run took so long, without what it was held up."""
        self._window.append(seconds)
        if len(self._window) < max(WINDOW, self.size):
            return
        typical, were_needed = median(self._window), self._were_all_taken
        self._window.clear()
        self._were_all_taken = self.taken >= self.size
        best = self._best = typical if self._best is None else min(self._best, typical)
        if typical > best * SLOWER + SLACK_SECONDS:
            self._is_start = False
        elif were_needed and not self._is_held_up():
            self.size = min(MOST, self.size * 2 if self._is_start else self.size + 1)

    def refused(self) -> None:
        """An endpoint says that it is asked too much."""
        self._is_start = False
        self._window.clear()
        if self.taken <= self.size:
            self.size = max(1, self.taken // 2)
