"""The list of metrics, for `agent-eval metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from agent_eval.report.text import printable


def print_metrics(console: Console, metrics: Sequence[dict[str, Any]]) -> None:
    """Each metric over two or three lines: its name and what is known of it, then what it says."""
    for metric in metrics:
        facts = [_range(metric), *([metric["source"]] if metric["source"] != "built in" else [])]
        console.print(Text.assemble((printable(metric["metric_name"]), "bold"), f"  {', '.join(facts)}"))
        console.print(_indented(Text(printable(metric["description"] or ""))))
        more = [f"{key}: {', '.join(metric[key])}" for key in ("needs", "options") if metric[key]]
        if more:
            console.print(_indented(Text("; ".join(more), "dim")))


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 4), expand=False)


def _range(metric: dict[str, Any]) -> str:
    if not metric["requires_threshold"]:
        return "informational"
    interval = metric["metric_value_info"]["interval"]
    said = f"{interval['min_value']:g} to {interval['max_value']:g}" if interval else "any number"
    return f"{said}, {metric['better']} is better" if metric["better"] else said
