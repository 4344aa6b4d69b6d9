"""Where the time of 1000 waits, 32 at once, goes: the phases of one process, beside asyncio alone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from statistics import median
from timeit import default_timer
from typing import Any

from measure import arguments, print_table
from workload import PARALLELISM, Workload

CASES = 1000
SECONDS = 0.05

PHASES = {
    "read and check the files": ("agent_eval.preparation", "plan_evaluation"),
    "play, score and keep the runs": ("agent_eval.pipeline", "run_all"),
    "verdicts and summary": ("agent_eval.pipeline", "Underway.finish"),
    "show": ("agent_eval.cli.run", "show"),
}


def timed(call: Callable[..., Any], seconds: dict[str, float], phase: str) -> Callable[..., Any]:
    """The same function, noting how long it takes."""

    async def awaited(result: Any, start: float) -> Any:
        try:
            return await result
        finally:
            seconds[phase] = default_timer() - start

    def timed_call(*args: Any, **options: Any) -> Any:
        start = default_timer()
        result = call(*args, **options)
        if asyncio.iscoroutine(result):
            return awaited(result, start)
        seconds[phase] = default_timer() - start
        return result

    return timed_call


def phases(work: Workload) -> dict[str, float]:
    """Seconds of each phase, of a run in this process."""
    from agent_eval.cli import app

    seconds: dict[str, float] = {}
    originals = {}
    for phase, (module, path) in PHASES.items():
        owner, name = _owner(module, path)
        originals[phase] = getattr(owner, name)
        setattr(owner, name, timed(originals[phase], seconds, phase))
    sys.argv = [*work.agent_eval(CASES), "--quiet"]
    try:
        app.main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        for phase, (module, path) in PHASES.items():
            setattr(*_owner(module, path), originals[phase])
    return seconds


def _owner(module: str, path: str) -> tuple[Any, str]:
    """What has a name like `function` or `Class.method` in a module, and the name's last part."""
    __import__(module)
    *classes, name = path.split(".")
    owner: Any = sys.modules[module]
    for one in classes:
        owner = getattr(owner, one)
    return owner, name


async def asyncio_alone() -> None:
    """The same waits in tasks that do nothing else."""
    places = asyncio.Semaphore(PARALLELISM)

    async def wait() -> None:
        await asyncio.sleep(SECONDS)
        places.release()

    async with asyncio.TaskGroup() as group:
        for _ in range(CASES):
            await places.acquire()
            group.create_task(wait())


def once() -> None:
    """Prints the seconds of one round, measured in this process."""
    start = default_timer()
    asyncio.run(asyncio_alone())
    alone = default_timer() - start
    with tempfile.TemporaryDirectory() as name, redirect_stdout(sys.stderr):
        seconds = phases(Workload(Path(name)))
    print(json.dumps({**seconds, "asyncio alone": alone}))


def main() -> None:
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--once", action="store_true", help="measure one round in this process, only")
    options = parser.parse_args()
    if options.once:
        once()
        return
    env = {**os.environ, "BENCHMARK_AGENT_SECONDS": str(SECONDS)}
    samples = [
        json.loads(
            subprocess.check_output([sys.executable, __file__, "--once"], env=env, stderr=subprocess.DEVNULL)
        )
        for _ in range(options.rounds)
    ]
    ideal = CASES * SECONDS / PARALLELISM
    medians = {phase: median(sample[phase] for sample in samples) for phase in samples[0]}
    rows = [[phase, f"{seconds:.3f}", f"{seconds / ideal:.3f}"] for phase, seconds in medians.items()]
    print_table(["phase", "seconds", f"of the ideal {ideal:.3f} s"], rows)


if __name__ == "__main__":
    main()
