"""Many runs at once, never more than the parallelism allows, each in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

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
    parallelism: int,
    one_by_one: bool,
    progress: Progress,
) -> None:
    """Makes every run, in order, `parallelism` at a time. While one is scored, the next is played.

    Args:
        due: the runs to make; drawn one by one, as places become free.
        play: has the conversation of one.
        score: makes the record of one that was played.
        keep: takes each record the moment its run is done, in order of completion.
        parallelism: how many runs are played at once.
        one_by_one: a place becomes free only when its run is scored and kept, so that the next
            one is drawn with that in mind.
        progress: who watches.

    Raises:
        Exception: what `keep` raised; a run's own failure is in its record.
    """
    places = asyncio.Semaphore(parallelism)
    unfinished = asyncio.Semaphore(parallelism if one_by_one else 2 * parallelism)

    async def one(spec: Due) -> None:
        try:
            try:
                played = await play(spec)
            finally:
                places.release()
            record = await score(played)
            keep(spec, record)
            progress.finished(record)
        finally:
            unfinished.release()

    try:
        async with asyncio.TaskGroup() as group:
            drawn = iter(due)
            while True:
                await unfinished.acquire()
                await places.acquire()  # first, so that what is drawn is decided by all that finished
                if (spec := next(drawn, None)) is None:
                    break
                group.create_task(one(spec))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
