"""Who has said that it was asked too much, and how long it is left alone for that."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from agent_eval import clock
from agent_eval.load.backoff import backoff
from agent_eval.load.refusals import EVERYWHERE

FIRST_SECONDS = 1.0
"""Of the first pause, if the endpoint does not say how long; it doubles with each, up to a limit."""
MAX_SECONDS = 60.0
"""An endpoint that asks for more is not waited for."""

SPREAD_SECONDS = 5.0
"""Over about so long at most those who waited come back one after the other."""


@dataclass(slots=True)
class _Pause:
    until: float = 0.0
    seconds: float = 0.0
    """How long it was made."""
    in_a_row: int = 0
    """Pauses since the place last did what it was asked."""


class Pauses:
    """One pause a place, for everybody who goes there; one of nowhere in particular is for all."""

    def __init__(self) -> None:
        self._pauses: dict[str, _Pause] = {}

    def begin(self, place: str, asked: float | None = None) -> bool:
        """A place refuses a call; whether that begins a pause.

        What was under way when the pause began may be refused as well: that makes it longer only if the
        place asks for more.
        """
        pause = self._pauses.setdefault(place, _Pause())
        now = clock.monotonic()
        is_new = now >= pause.until
        if is_new:
            pause.in_a_row += 1
            pause.seconds = backoff(pause.in_a_row, first=FIRST_SECONDS, longest=MAX_SECONDS)
            pause.until = now + (pause.seconds if asked is None else 0.0)
        if asked is not None:
            self.hold(place, asked)
        return is_new

    def hold(self, place: str, seconds: float) -> None:
        """The place is left alone for so long at least."""
        pause = self._pauses.setdefault(place, _Pause())
        until = clock.monotonic() + seconds
        if until > pause.until:
            pause.until, pause.seconds = until, seconds

    def answered(self, place: str) -> None:
        """The place did what it was asked: the next pause is short again. One under way goes on."""
        if pause := self._pauses.get(place):
            pause.in_a_row = 0

    def left(self, *places: str) -> float:
        """Seconds until all of these places may be asked again."""
        if not self._pauses:
            return 0.0
        until = max(pause.until for pause in self._of(places))
        return max(0.0, until - clock.monotonic())

    @property
    def longest_left(self) -> float:
        """Seconds until every place may be asked again."""
        return self.left(*self._pauses)

    async def over(self, *places: str) -> None:
        """Waits until these places may be asked again, and then a little, so that not all come at once."""
        while left := self.left(*places):
            longest = max(pause.seconds for pause in self._of(places))
            await asyncio.sleep(left + clock.jittered(min(longest / 4, SPREAD_SECONDS)))

    def _of(self, places: tuple[str, ...]) -> list[_Pause]:
        found = [self._pauses.get(place) for place in (EVERYWHERE, *places)]
        return [pause for pause in found if pause] or [_Pause()]
