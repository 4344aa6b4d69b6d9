"""What judges are asked, and how far they agree with people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent_eval.report.text import count, printable

VERDICTS = {"PASSED": "pass", "FAILED": "fail"}
"""What judges say, in the words of people's labels."""


def print_requests(console: Console, metrics: Sequence[dict[str, Any]]) -> None:
    """Every prompt in full, not wrapped, so that it can be copied."""
    for metric in metrics:
        requests = metric["requests"]
        samples = count(metric["num_samples"], "sample")
        told = f"{count(len(requests), 'question')}, up to {samples} of each"
        console.print(
            Text.assemble(
                (printable(metric["metric_name"]), "bold"),
                f", judged by {printable(metric['judge_model'])}: {told}",
            ),
            soft_wrap=True,
        )
        for number, request in enumerate(requests, 1):
            _heading(console, f"question {number}: instructions")
            console.print(Text(printable(request["system"] or "(none)")), soft_wrap=True)
            for content in request["contents"]:
                _heading(console, f"question {number}: {content.get('role', 'user')}")
                for part in content.get("parts", []):
                    console.print(Text(printable(_part(part))), soft_wrap=True)
        console.print()


def _heading(console: Console, text: str) -> None:
    console.print(Text(f"--- {text} ---", "cyan"))


def _part(part: dict[str, Any]) -> str:
    if "text" in part:
        return str(part["text"])
    medium = part.get("inline_data") or part.get("file_data") or {}
    return f"[{medium.get('mime_type', 'file')}]"


def print_agreement(console: Console, metrics: Sequence[dict[str, Any]]) -> None:
    """How far each metric agrees with people, and what they see differently."""
    for number, metric in enumerate(metrics):
        if number:
            console.print()
        judged = f", judged by {metric['judge_model']}: {count(metric['labels'], 'label')}"
        console.print(Text.assemble((printable(metric["metric_name"]), "bold"), printable(judged)))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        table.add_row("  agreement", _with_interval(metric["agreement"], metric["agreement_interval"]))
        table.add_row("  kappa", _rate(metric["kappa"]))
        table.add_row(
            "  false pass", _with_interval(metric["false_pass_rate"], metric["false_pass_interval"])
        )
        table.add_row("  false fail", _rate(metric["false_fail_rate"]))
        table.add_row("  unscored", str(metric["counts"]["unscored"]))
        console.print(table)
        _print_rated(console, "judge and people differ", metric["disagreed"])
        _print_rated(console, "the judge gave no verdict", metric["unscored"])


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _with_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    return (
        f"{_rate(value)}, 95 % between {interval[0]:.2f} and {interval[1]:.2f}" if interval else _rate(value)
    )


def _print_rated(console: Console, title: str, rated: Iterable[dict[str, Any]]) -> None:
    for number, one in enumerate(rated):
        if not number:
            console.print(Text(f"  {title}:"))
        where = "" if one["run_index"] is None else f", run {one['run_index']}"
        judge = VERDICTS.get(one["judge"], one["judge"])
        told_of = f"{one['eval_id']}{where}: people {one['people']}, judge {judge}"
        console.print(Padding(Text(printable(told_of)), (0, 0, 0, 4), expand=False))
        told = [("said", text) for text in one["response"] or ()]
        told += [("people", one["note"])] if one["note"] else []
        told += [("judge", text) for text in (*one["rationales"], one["reason"]) if text]
        for who, text in told:
            console.print(
                Padding(Text.assemble((f"{who}: ", "dim"), printable(text)), (0, 0, 0, 6), expand=False)
            )
