"""Many runs at once, never more than the parallelism allows, each in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from agent_eval.engine.progress import Progress
from agent_eval.plan import RunSpec
from agent_eval.schema.result import RunRecord


async def run_all(
    specs: Iterable[RunSpec],
    execute: Callable[[RunSpec], Awaitable[RunRecord]],
    keep: Callable[[RunSpec, RunRecord], None],
    *,
    parallelism: int,
    progress: Progress,
) -> None:
    """Makes every run, in order, `parallelism` at a time.

    Args:
        specs: the runs to make; drawn one by one, as places become free.
        execute: makes one.
        keep: takes each record the moment its run is done, in order of completion.
        parallelism: how many runs are under way at once.
        progress: who watches.

    Raises:
        Exception: what `keep` raised; a run's own failure is in its record.
    """
    free = asyncio.Semaphore(parallelism)

    async def one(spec: RunSpec) -> None:
        try:
            progress.started(spec)
            record = await execute(spec)
            keep(spec, record)
            progress.finished(record)
        finally:
            free.release()

    try:
        async with asyncio.TaskGroup() as group:
            drawn = iter(specs)
            while True:
                await free.acquire()  # first, so that what is drawn is decided by all that finished
                if (spec := next(drawn, None)) is None:
                    break
                group.create_task(one(spec))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
