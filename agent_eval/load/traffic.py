"""Model calls on their way: held up by limits and pauses, and made again after a refusal."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent_eval import clock
from agent_eval.load.backoff import backoff
from agent_eval.load.pace import Limits
from agent_eval.load.pauses import FIRST_SECONDS, MAX_SECONDS, Pauses
from agent_eval.load.refusals import EVERYWHERE, Refusal

TRIES = 8
"""How often a call is made, or a run, that is refused each time: over about two minutes."""

Listener = Callable[[str, float, bool], None]
"""Is told of each refusal: the place, the seconds for which it is left alone, whether that is a new pause."""


class Traffic:
    """The model calls of all runs of this process."""

    def __init__(self, limits: Limits | None = None, *, tries: int = TRIES) -> None:
        """Takes what calls have to keep, and how often one is made that is refused each time."""
        self.limits = limits or Limits()
        self.tries = tries
        self.pauses = Pauses()
        self.refusals: Counter[str] = Counter()
        """How often each place refused a call."""
        self.listeners: list[Listener] = []
        self._places: dict[str, set[str]] = {}
        """Where each agent is known to call: hosts that refused runs of it."""

    def refused(self, refusal: Refusal) -> None:
        """A call was refused: all that go to the same place pause."""
        place, asked = refusal.place, refusal.asked
        if asked is not None and asked > MAX_SECONDS:
            asked = None  # whoever can wait no longer gives up; others find out for themselves
        is_new = self.pauses.begin(place, asked)
        self.refusals[place] += 1
        for listener in self.listeners:
            listener(place, self.pauses.left(place), is_new)

    def places(self, agent: str) -> set[str]:
        """Where an agent is known to call."""
        return self._places.setdefault(agent, set())

    @property
    def waiting(self) -> float:
        """Seconds until nothing is left alone any more."""
        return self.pauses.longest_left

    @property
    def told(self) -> str | None:
        """How often it was refused what it asked, and by whom; None if never."""
        if not self.refusals:
            return None
        places = ", ".join(sorted(place for place in self.refusals if place))
        count = self.refusals.total()
        return (
            f"{count} call{'s' * (count != 1)} refused as too many (429)"
            + (f" by {places}" if places else "")
            + ", and made again after a pause"
        )


class RunTraffic:
    """The model calls of one run, and how long they were held up: none of that time is the agent's."""

    def __init__(self, traffic: Traffic | None = None, agent: str = "") -> None:
        """Takes what all runs have in common, and the agent's reference."""
        self._traffic = traffic or Traffic()
        self._places = self._traffic.places(agent)
        self._waiters = 0
        self._since = 0.0
        self._left: float | None = None
        """Seconds that the limit had left when its clock was stopped."""
        self.waited = 0.0
        """Seconds."""
        self.limit: asyncio.Timeout | None = None
        """What ends the attempt under way; it stands still meanwhile."""
        self.has_given_up = False
        """A call was refused so often that trying the whole run again is of no use."""

    async def begin(self) -> None:
        """Waits until the run may begin."""
        self.has_given_up = False
        await self._over(*self._places)

    def succeeded(self) -> None:
        """The run came to its end."""
        for place in (EVERYWHERE, *self._places):
            self._traffic.pauses.answered(place)

    async def before_call(self, place: str | None) -> float:
        """Waits until a model may be called; the tokens for which the call is booked.

        Args:
            place: where it is; None if only the agent knows.
        """
        limits, pauses = self._traffic.limits, self._traffic.pauses
        places = self._places if place is None else {place}
        await self._over(*places)
        if not limits:
            return 0.0
        while True:
            wait, booked = limits.book()
            if wait:
                with self._waiting():
                    await asyncio.sleep(wait)
            if not pauses.left(*places):
                return booked
            await self._over(*places)

    def after_call(self, place: str | None, booked: float, tokens: int) -> None:
        """A model has answered, and took so many tokens."""
        for one in (EVERYWHERE, *self._places) if place is None else (place,):
            self._traffic.pauses.answered(one)
        if self._traffic.limits:
            self._traffic.limits.report(tokens, booked)

    async def may_reach(self, place: str) -> None:
        """Waits until a place may be asked, where calls behind it cannot be counted."""
        await self._over(place)

    async def again(self, refusal: Refusal, tried: int) -> bool:
        """Waits until what was refused may be tried again; False, at once, if that is of no use.

        Args:
            refusal: what was said.
            tried: how often it has been tried.
        """
        if self.has_given_up:
            return False
        self._places.add(refusal.place)
        self._traffic.refused(refusal)
        if tried >= self._traffic.tries or (refusal.asked or 0.0) > MAX_SECONDS:
            self.has_given_up = True
            return False
        with self._waiting():
            await asyncio.sleep(_wait(refusal, tried))
        await self._over(refusal.place)
        return True

    async def _over(self, *places: str) -> None:
        if self._traffic.pauses.left(*places):
            with self._waiting():
                await self._traffic.pauses.over(*places)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Stops the clock of the run; several calls at once stop it once."""
        loop = asyncio.get_running_loop()
        if not self._waiters:
            self._since = clock.monotonic()
            self._left = self._reschedule(None)
        self._waiters += 1
        try:
            yield
        finally:
            self._waiters -= 1
            if not self._waiters:
                self.waited += clock.monotonic() - self._since
                self._reschedule(None if self._left is None else loop.time() + self._left)

    def _reschedule(self, when: float | None) -> float | None:
        """Sets when the limit ends the run; the seconds it had left."""
        if self.limit is None or self.limit.expired():
            return None
        before = self.limit.when()
        self.limit.reschedule(when)
        return None if before is None else max(0.0, before - asyncio.get_running_loop().time())


def _wait(refusal: Refusal, tried: int) -> float:
    """The seconds asked for; where it was told before, longer each time, as others are told the same."""
    if refusal.asked is None:
        return backoff(tried, first=FIRST_SECONDS, longest=MAX_SECONDS)
    if tried == 1:
        return refusal.asked
    return max(refusal.asked, backoff(tried - 1, first=FIRST_SECONDS, longest=MAX_SECONDS))
