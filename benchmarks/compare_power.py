"""How often `compare` cries wolf, and how often it finds what is there, by number of runs.

Simulated results of a suite of 20 cases: ten always pass, ten pass from 60 % to 95 % of their runs.
Each comparison is the real one, of two results whose runs are drawn from known pass rates.

    python benchmarks/compare_power.py [--draw]

With --draw the plot in docs/ is renewed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from measure import print_table
from plot import Axes, plot

from agent_eval.aggregate.outcome import MetricOutcome, RunOutcome
from agent_eval.aggregate.statistics import wilson_interval
from agent_eval.aggregate.verdict import case_result
from agent_eval.compare.comparison import compare
from agent_eval.compare.gate import Gate
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.result import (
    AgentRef,
    CaseResult,
    ConfigRef,
    EvalResult,
    EvalSetRef,
    Provenance,
    RunStatus,
    Totals,
)
from agent_eval.schema.trace import EvalStatus

PLOT = Path(__file__).parents[1] / "docs" / "compare_power.svg"
RUNS = (1, 2, 3, 5, 8, 12, 20)
STEADY = [1.0] * 10
FLAKY = [0.6, 0.65, 0.7, 0.75, 0.8, 0.8, 0.85, 0.85, 0.9, 0.95]
BASELINE = STEADY + FLAKY
METRIC = "tool_trajectory_avg_score"
ALARM = 0.05
"""The rate of false alarms that is promised."""

SCENARIOS: dict[str, list[float]] = {
    "nothing changed": BASELINE,
    "one case 100 % to 0 %": [0.0, *BASELINE[1:]],
    "one case 100 % to 50 %": [0.5, *BASELINE[1:]],
    "every case 10 points down": [rate - 0.1 for rate in BASELINE],
    "every case 20 points down": [rate - 0.2 for rate in BASELINE],
}
CONFIG = EvalConfig.model_validate(
    {
        "criteria": {METRIC: 1.0},
        "multi_run_config": {
            "cross_run_scoring_by_metric": {METRIC: {"method": "pass_rate", "threshold": 0.8}}
        },
    }
)


def _run(index: int, *, passed: bool) -> RunOutcome:
    status = EvalStatus.PASSED if passed else EvalStatus.FAILED
    metric = MetricOutcome(METRIC, status, float(passed), 1.0, (float(passed),), None)
    return RunOutcome(index, RunStatus.COMPLETED, None, 0.0, (metric,), 0, 0)


def _case(number: int, rate: float, runs: int, draw: random.Random, config: EvalConfig) -> CaseResult:
    outcomes = [_run(index, passed=draw.random() < rate) for index in range(runs)]
    return case_result("suite", f"case_{number}", "", config, outcomes)


def result(rates: Sequence[float], runs: int, draw: random.Random) -> EvalResult:
    """A result whose runs pass at these rates."""
    multi = CONFIG.multi_run_config.model_copy(update={"num_runs": runs})
    config = CONFIG.model_copy(update={"multi_run_config": multi})
    return EvalResult(
        result_id="simulated",
        created="2026-01-31T09:30:00.000Z",
        eval_set=EvalSetRef(eval_set_id="suite", path="", sha256=""),
        agent=AgentRef(name="agent", kind="", reference=""),
        config=ConfigRef(
            path=None,
            sha256="",
            criteria={METRIC: config.criterion(METRIC).model_dump()},
            multi_run_config=multi.model_dump(mode="json"),
        ),
        provenance=Provenance(command="", seed=0, git_commit=None, git_dirty=None, packages={}),
        totals=Totals(
            cases=0, passed=0, failed=0, not_evaluated=0, flaky=0, duration_seconds=0.0, tokens={"total": 0}
        ),
        cases=[_case(number, rate, runs, draw, config) for number, rate in enumerate(rates)],
    )


def failures(rates: Sequence[float], runs: int, repeats: int) -> dict[Gate, int]:
    """How many of so many comparisons each gate fails."""
    draw = random.Random(runs)
    failed = dict.fromkeys(Gate, 0)
    for _ in range(repeats):
        comparison = compare(result(BASELINE, runs, draw), result(rates, runs, draw))
        for gate in failed:
            failed[gate] += comparison.fails(gate)
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=1000, help="comparisons a point")
    parser.add_argument("--draw", action="store_true", help=f"write {PLOT.name}")
    options = parser.parse_args()
    counts = {
        name: [failures(rates, runs, options.repeats) for runs in RUNS] for name, rates in SCENARIOS.items()
    }

    def share(failed: int) -> str:
        return f"{100 * failed / options.repeats:.1f} %"

    for gate in (Gate.NOISE_EXCLUDED, Gate.REGRESSION):
        rows = [[name, *(share(one[gate]) for one in found)] for name, found in counts.items()]
        print_table([f"exit 1 with --fail-on {gate.value}; runs:", *map(str, RUNS)], rows)
    worst = max(found[Gate.NOISE_EXCLUDED] for found in counts["nothing changed"])
    low, _ = wilson_interval(worst, options.repeats) or (0.0, 0.0)
    print(f"most false alarms, noise excluded: {share(worst)} (at most {100 * ALARM:.0f} % are promised)")
    assert low <= ALARM, "more false alarms than promised"
    if options.draw:
        curves = {
            name: [one[Gate.NOISE_EXCLUDED] / options.repeats for one in found]
            for name, found in counts.items()
        }
        axes = Axes(
            steps=[str(runs) for runs in RUNS],
            across="runs of each case, on each side",
            ticks={tenths / 10: f"{10 * tenths} %" for tenths in range(0, 11, 2)},
            line=(ALARM, "5 %: the most false alarms"),
        )
        PLOT.write_text(plot(curves, axes), encoding="utf-8")


if __name__ == "__main__":
    main()
