"""Many runs at once, never more than there are places, each in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from agent_eval.engine.places import Places
from agent_eval.engine.progress import Progress
from agent_eval.schema.result import RunRecord

Due = TypeVar("Due")
"""A run to make, or to score again."""
Played = TypeVar("Played")


async def run_all(
    due: Iterable[Due],
    play: Callable[[Due], Awaitable[Played]],
    score: Callable[[Played], Awaitable[RunRecord]],
    keep: Callable[[Due, RunRecord], None],
    *,
    places: Places,
    one_by_one: bool,
    progress: Progress,
) -> None:
    """Makes every run, in order, one at each place. While one is scored, the next is played.

    Args:
        due: the runs to make; drawn one by one, as places become free.
        play: has the conversation of one.
        score: makes the record of one that was played.
        keep: takes each record the moment its run is done, in order of completion.
        places: how many runs are played at once; they learn from each record.
        one_by_one: a place becomes free only when its run is scored and kept, so that the next
            one is drawn with that in mind.
        progress: who watches.

    Raises:
        Exception: what `keep` raised; a run's own failure is in its record.
    """

    async def one(spec: Due) -> None:
        try:
            try:
                played = await play(spec)
            finally:
                places.leave()
            record = await score(played)
            keep(spec, record)
            places.learn(record)
            progress.finished(record)
        finally:
            places.finish()

    try:
        async with asyncio.TaskGroup() as group:
            drawn = iter(due)
            while True:
                # first, so that what is drawn is decided by all that finished
                await places.take(for_each=1 if one_by_one else 2)
                if (spec := next(drawn, None)) is None:
                    places.leave()
                    places.finish()
                    break
                group.create_task(one(spec))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
