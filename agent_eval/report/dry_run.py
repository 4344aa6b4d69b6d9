"""What an evaluation would do, for `--dry_run`."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
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
            if metric["threshold"] is not None:
                limit = f"{'<=' if metric['better'] == 'lower' else '>='} {number(metric['threshold'])}"
                judge = f", judged by {metric['judge_model']}" if metric["needs_judge"] else ""
                _line(console, "metric", f"{metric['metric_name']} {limit}{judge}")
        told = [metric["metric_name"] for metric in one["metrics"] if metric["threshold"] is None]
        if told:
            _line(console, "also", f"{', '.join(told)} (informational)")
        console.print()
    most = "as many as goes well" if plan["parallelism"] == "auto" else plan["parallelism"]
    console.print(f"{count(plan['runs'], 'run')} would be made, {most} at once; nothing was run.")


def _line(console: Console, label: str, text: str) -> None:
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(width=8)
    row.add_column(overflow="fold")
    row.add_row(Text(f"  {label}", "dim"), printable(text))
    console.print(row)
