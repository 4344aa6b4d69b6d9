"""What an evaluation would do, for `--dry_run`."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from agent_eval.report.text import count, number, printable


def print_plan(console: Console, plan: dict[str, Any]) -> None:
    """The eval sets, cases, runs, metrics, agent and config that would be used."""
    for one in plan["eval_sets"]:
        console.print(Text(printable(one["path"]), "bold"))
        cases = ", ".join(one["cases"])
        repeated = f" x {one['num_runs']} runs" if one["num_runs"] > 1 else ""
        _line(console, "cases", f"{len(one['cases'])}{repeated}: {cases}")
        _line(console, "agent", f"{', '.join(one['agent'])} ({one['agent_why']})")
        _line(
            console,
            "config",
            f"{one['config']} ({one['config_why']})" if one["config"] else one["config_why"],
        )
        if one["user_played_by"]:
            _line(console, "user", f"played by {one['user_played_by']}")
        for metric in one["metrics"]:
            said = metric["metric_name"]
            said += (
                " (informational)" if metric["threshold"] is None else f" >= {number(metric['threshold'])}"
            )
            _line(
                console,
                "metric",
                said + (f", judged by {metric['judge_model']}" if metric["needs_judge"] else ""),
            )
        console.print()
    most = "as many as goes well" if plan["parallelism"] == "auto" else plan["parallelism"]
    console.print(f"{count(plan['runs'], 'run')} would be made, {most} at once; nothing was run.")


def _line(console: Console, label: str, text: str) -> None:
    console.print(Text.assemble((f"  {label:<7}", "dim"), printable(text)), soft_wrap=True)
