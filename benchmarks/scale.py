"""How cost grows from 100 to 100 000 runs: in this process, in workers, on a Ray cluster, and in `adk eval`.

    python benchmarks/scale.py [--draw]

With --draw the tables and plots of docs/performance.md are renewed. Ray has rows where it is installed.
"""

from __future__ import annotations

import importlib.util
import io
import os
import platform
import re
import tempfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from measure import Command, Samples, adk_python, arguments, interleaved, print_table
from plot import Axes, plot
from workload import PARALLELISM, Workload

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "performance.md"

SIZES = (100, 1000, 10_000, 100_000)
CASES = 100
RAY_SIZES = (100, 1000, 10_000)
ADK_SIZES = (100, 1000)
SECONDS = 0.05
WAITING_SIZES = (100, 1000, 10_000)
WORK, WORKING_RUNS = 1_000_000, 500
CORES = os.cpu_count() or 1

RAY = "Ray"
Executors = dict[str, list[str]]
"""Options of `run` by a name."""

EXECUTORS: Executors = {
    "in process": [],
    f"{CORES} workers": [f"--workers={CORES}"],
    RAY: ["--executor=ray", f"--workers={CORES}"],
}
ADK = "adk eval"


@dataclass(frozen=True, slots=True)
class Grown:
    """What one executor costs at one size."""

    seconds: float
    ms: float
    """Of its own, a run: less what one run takes, over the others. Below 0 where start-up varies by more."""
    peak_mb: float
    journal_mb: float


def executors_here() -> Executors:
    """Those that there are here."""
    if importlib.util.find_spec("ray"):
        return EXECUTORS
    print("No Ray rows: ray is not installed here.\n")
    return {name: options for name, options in EXECUTORS.items() if name != RAY}


def own_cost(
    work: Workload, executors: Executors, sizes: tuple[int, ...], rounds: int
) -> dict[str, dict[int, Grown]]:
    """Agents that take no time: what is left is the evaluation's own."""
    found: dict[str, dict[int, Grown]] = {}
    for name, options in executors.items():
        mine = [size for size in sizes if size in RAY_SIZES or name != RAY]
        one = Command("1", work.agent_eval(1, options=options), work.folder)
        many = [
            Command(str(size), work.agent_eval(CASES, num_runs=size // CASES, options=options), work.folder)
            for size in mine
        ]
        samples = interleaved([one, *many], rounds, warm_up=[one])
        found[name] = {size: _grown(samples, size, work.journal_bytes(CASES, size // CASES)) for size in mine}
    return found


def _grown(samples: dict[str, Samples], size: int, journal: int) -> Grown:
    seconds = samples[str(size)].median
    ms = (seconds - samples["1"].median) / (size - 1) * 1000
    return Grown(seconds, ms, samples[str(size)].memory, journal / 1e6)


def cost_of_adk(work: Workload, python: str, rounds: int) -> dict[int, Grown]:
    """`adk eval` of as many cases, one run each, with an agent of ADK that takes no time."""
    sizes = [1, *ADK_SIZES]
    commands = [Command(str(n), work.adk_eval(python, n), work.folder) for n in sizes]
    samples = interleaved(commands, rounds, warm_up=commands[:1])
    return {size: _grown(samples, size, work.adk_result_bytes(size)) for size in ADK_SIZES}


def print_cost(costs: dict[str, dict[int, Grown]]) -> None:
    print_table(
        ["agents that take no time", "runs", "seconds", "ms a run", "peak MB", "file MB", "MB/s"],
        [
            [
                name,
                str(size),
                f"{one.seconds:.2f}",
                f"{one.ms:.2f}" if one.ms > 0 else "-",
                f"{one.peak_mb:.0f}",
                f"{one.journal_mb:.1f}",
                f"{one.journal_mb / one.seconds:.1f}",
            ]
            for name, grown in costs.items()
            for size, one in grown.items()
        ],
    )


def print_makespans(work: Workload, executors: Executors, rounds: int) -> None:
    """Agents that wait, and agents that compute, against what the waits or the cores allow."""
    rows = []
    for name, options in executors.items():
        waiting = {"BENCHMARK_AGENT_SECONDS": str(SECONDS)}
        commands = [Command("1", work.agent_eval(1, options=options), work.folder)]
        for size in WAITING_SIZES:
            argv = work.agent_eval(CASES, num_runs=size // CASES, options=options)
            commands.append(Command(str(size), argv, work.folder, waiting))
        samples = interleaved(commands, rounds, warm_up=commands[:1])
        for size in WAITING_SIZES:
            ideal = size * SECONDS / PARALLELISM
            seconds = samples[str(size)].median - samples["1"].median
            rows.append([name, str(size), f"{ideal:.2f}", f"{seconds:.2f}", f"{seconds / ideal:.2f}"])
    head = f"agents that wait {SECONDS:g} s, {PARALLELISM} at once"
    print_table([head, "runs", "ideal s", "s without start-up", "ratio"], rows)

    computing = {"BENCHMARK_AGENT_WORK": str(WORK)}
    rows = []
    for name, options in executors.items():
        argv = work.agent_eval(CASES, num_runs=WORKING_RUNS // CASES, options=options)
        one = Command("1", work.agent_eval(1, options=options), work.folder)
        samples = interleaved([one, Command("many", argv, work.folder, computing)], rounds, warm_up=[one])
        rows.append([name, str(WORKING_RUNS), f"{samples['many'].median - samples['1'].median:.2f}"])
    print_table(["agents that compute", "runs", "s without start-up"], rows)


def renew(page: Path, tables: str) -> None:
    """Puts the tables into the page."""
    block = f"<!-- scale.py -->\n```\n{tables.rstrip()}\n```\n"
    text = page.read_text(encoding="utf-8")
    page.write_text(
        re.sub(r"<!-- scale\.py -->\n```\n.*?^```\n", lambda _: block, text, flags=re.DOTALL | re.MULTILINE),
        encoding="utf-8",
    )


def draw(costs: dict[str, dict[int, Grown]]) -> None:
    """The plots of the page."""
    steps = [f"{size:,}".replace(",", " ") for size in SIZES]
    powers = {10.0**power: f"{10.0**power:g} ms" for power in range(-1, 2)}
    times = {
        name: [one.ms if one.ms > 0 else None for one in grown.values()] for name, grown in costs.items()
    }
    axes = Axes(steps, "runs", powers, is_log=True)
    (DOCS / "performance_time.svg").write_text(plot(times, axes), encoding="utf-8")
    memory = {name: [one.peak_mb for one in grown.values()] for name, grown in costs.items()}
    ticks = {float(mb): f"{mb} MB" for mb in (30, 100, 300, 1000)}
    axes = Axes(steps, "runs", ticks, is_log=True)
    (DOCS / "performance_memory.svg").write_text(plot(memory, axes), encoding="utf-8")


def main() -> None:
    parser = arguments(__doc__, rounds=1)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="runs (default: %(default)s)")
    parser.add_argument("--draw", action="store_true", help=f"renew {PAGE.name} and its plots")
    options = parser.parse_args()
    sizes = tuple(size for size in SIZES if size <= options.largest)
    executors = executors_here()
    shown = io.StringIO()
    with tempfile.TemporaryDirectory() as name:
        work = Workload(Path(name))
        costs = own_cost(work, executors, sizes, options.rounds)
        if adk := adk_python(options.adk):
            costs[ADK] = cost_of_adk(work, adk, options.rounds)
        with redirect_stdout(shown):
            print(f"{CORES} cores, Python {platform.python_version()}, {platform.system()}\n")
            print_cost(costs)
            print_makespans(work, executors, options.rounds)
    print(shown.getvalue())
    if options.draw:
        renew(PAGE, shown.getvalue())
        draw(costs)


if __name__ == "__main__":
    main()
