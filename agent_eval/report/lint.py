"""What lint found, for a terminal: file by file, line by line."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_eval.report.console import plain
from agent_eval.report.text import count

MAX_ALIKE = 5
"""Findings of one code in one file that are listed; --json has all."""

_STYLES = {"error": "bold red", "warning": "yellow"}


def print_findings(console: Console, document: dict[str, Any]) -> None:
    """Every finding below its file, then how many there are."""
    for finding in document["fixed"]:
        console.print(plain(f"fixed  {_where(finding)}: {finding['code']} {finding['message']}", "green"))
    for file, findings in groupby(document["findings"], key=lambda finding: str(finding["file"])):
        console.print(plain(file, "bold"), soft_wrap=True)
        listed = list(findings)
        shown, seen = [], Counter[str]()
        for finding in listed:
            seen[finding["code"]] += 1
            if seen[finding["code"]] <= MAX_ALIKE:
                shown.append(finding)
        console.print(_table(shown))
        if len(shown) < len(listed):
            console.print(Text(f"      and {len(listed) - len(shown)} more like these", "dim"))
    totals = document["totals"]
    said = [
        Text(count(totals[f"{kind}s"], kind), _STYLES[kind] if totals[f"{kind}s"] else "dim")
        for kind in _STYLES
    ]
    line = Text.assemble(count(totals["files"], "file"), ": ", Text(", ").join(said))
    if totals["fixable"]:
        line.append(f"; --fix puts {totals['fixable']} right", "dim")
    console.print(line)


def _where(finding: dict[str, Any]) -> str:
    return str(finding["file"]) + (f":{finding['line']}" if finding["line"] else "")


def _table(findings: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("", justify="right", no_wrap=True, style="dim", min_width=4)
    table.add_column("", no_wrap=True, min_width=7)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold", ratio=1)
    for finding in findings:
        told = plain(f"{finding['path']}: " if finding["path"] else "", "dim")
        told.append_text(plain(finding["message"]))
        if finding["hint"]:
            told.append_text(plain(f" ({finding['hint']})", "dim"))
        severity = finding["severity"]
        line = str(finding["line"] or "")
        table.add_row(line, Text(severity, _STYLES[severity]), finding["code"], told)
    return table
