"""What the engine costs: makespan against the ideal, time, bytes and memory a run."""

from __future__ import annotations

import tempfile
from pathlib import Path

from measure import Command, adk_python, arguments, interleaved, print_samples, print_table, print_target
from workload import PARALLELISM, Workload

CASES = 1000
ADK_CASES = 200
SECONDS = 0.05
NUM_RUNS = (100, 1000, 10_000)

ONE = "one case"
MANY = f"{CASES} cases"
SLOW = f"{CASES} cases of {SECONDS:g} s, {PARALLELISM} at once"
ADK_ONE = "adk eval, one case"
ADK_MANY = f"adk eval, {ADK_CASES} cases"


def repeated(runs: int) -> str:
    return f"one case, {runs} runs"


def commands(work: Workload, adk: str | None) -> list[Command]:
    def command(name: str, argv: list[str], seconds: float = 0.0) -> Command:
        return Command(name, argv, work.folder, {"BENCHMARK_AGENT_SECONDS": str(seconds)})

    ours = [
        command(ONE, work.agent_eval(1)),
        command(MANY, work.agent_eval(CASES)),
        command(SLOW, work.agent_eval(CASES), SECONDS),
        *(command(repeated(runs), work.agent_eval(1, num_runs=runs)) for runs in NUM_RUNS),
    ]
    if not adk:
        return ours
    return [
        *ours,
        command(ADK_ONE, work.adk_eval(adk, 1)),
        command(ADK_MANY, work.adk_eval(adk, ADK_CASES)),
    ]


def main() -> None:
    options = arguments(__doc__, rounds=5).parse_args()
    adk = adk_python(options.adk)
    with tempfile.TemporaryDirectory() as name:
        work = Workload(Path(name))
        samples = interleaved(commands(work, adk), options.rounds)
        size_of_one, size_of_many = work.result_bytes(1), work.result_bytes(CASES)
        adk_size = work.adk_result_bytes(ADK_CASES) if adk else 0
    print_samples(samples, ONE)

    start = samples[ONE].median
    own_ms = (samples[MANY].median - start) / (CASES - 1) * 1000
    rows = [["agent-eval", f"{own_ms:.2f}", f"{size_of_many / CASES:.0f}"]]
    if adk:
        adk_ms = (samples[ADK_MANY].median - samples[ADK_ONE].median) / (ADK_CASES - 1) * 1000
        rows.append(["adk eval", f"{adk_ms:.2f}", f"{adk_size / ADK_CASES:.0f}"])
    print_table(["of its own, a case", "ms", "bytes of result"], rows)
    print(f"bytes of a result with one run: {size_of_one}")
    least, middle, most = (samples[repeated(runs)].memory for runs in NUM_RUNS)
    growth_kb = (most - least) * 1024 / (NUM_RUNS[-1] - NUM_RUNS[0])
    print(f"peak MB at {', '.join(map(str, NUM_RUNS))} runs: {least:.1f}, {middle:.1f}, {most:.1f}; ", end="")
    print(f"growth {growth_kb:.2f} KB a run\n")

    ideal = CASES * SECONDS / PARALLELISM
    makespan = samples[SLOW].median - start
    print_target(f"makespan without start-up / ideal of {ideal:.2f} s", makespan / ideal, 1.1)
    whole = samples[SLOW].median / (ideal + start)
    print(f"        the whole process / (ideal + start-up): {whole:.2f}")
    print_target("engine's own time a case", own_ms, 1.0, " ms")
    print_target(f"result size a run at {CASES} cases", size_of_many / CASES, 3072, " bytes")


if __name__ == "__main__":
    main()
