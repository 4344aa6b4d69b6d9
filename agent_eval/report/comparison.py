"""The terminal report of a comparison: the goalposts before any score, then regressions first."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_eval.compare.comparison import CaseChange, Change, Comparison, ScoreChange
from agent_eval.report.console import STYLES, glyph, plain
from agent_eval.report.text import count, number, printable

CHANGE_STYLES = {
    Change.REGRESSED: "bold red",
    Change.FIXED: "green",
    Change.NEW: "cyan",
    Change.GONE: "yellow",
    Change.UNCHANGED: "dim",
}

MAX_UNCHANGED = 20
"""More unchanged cases than these are counted, not listed, unless something in them moved."""


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Everything that changed, and how many cases did not."""
    arrow = glyph(console, "→", "->")
    console.print(Text(f"{comparison.baseline} {arrow} {comparison.candidate}", "bold"))
    for change in comparison.goalposts:
        console.print(
            Text.assemble(
                ("goalpost  ", "yellow"), printable(f"{change.what}: {change.before} {arrow} {change.after}")
            )
        )
    if comparison.goalposts:
        console.print(Text("The scores below were not taken under the same conditions.", "yellow"))
    console.print()
    listed = _listed(comparison)
    if listed:
        console.print(_table(listed, arrow))
    hidden = len(comparison.cases) - len(listed)
    if hidden:
        console.print(Text(f"{count(hidden, 'unchanged case')} not listed", "dim"))
    said = [
        Text(f"{amount} {change.value}", CHANGE_STYLES[change] if amount else "dim")
        for change, amount in comparison.counts.items()
    ]
    console.print(Text(", ").join(said))


def _listed(comparison: Comparison) -> list[CaseChange]:
    if comparison.counts[Change.UNCHANGED] <= MAX_UNCHANGED:
        return comparison.cases
    return [case for case in comparison.cases if case.change is not Change.UNCHANGED or case.scores]


def _table(cases: list[CaseChange], arrow: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("Change", no_wrap=True)
    table.add_column("Case", overflow="fold", ratio=1)
    table.add_column("Verdict", overflow="fold")
    table.add_column("Runs", no_wrap=True)
    table.add_column("Scores", overflow="fold", ratio=1)
    for case in cases:
        table.add_row(
            Text(case.change.value, CHANGE_STYLES[case.change]),
            plain(case.eval_id),
            _verdict(case, arrow),
            _runs(case, arrow),
            Text("\n").join(_score(score, arrow) for score in case.scores),
        )
    return table


def _verdict(case: CaseChange, arrow: str) -> Text:
    verdicts = [verdict for verdict in (case.before, case.after) if verdict]
    shown = verdicts[:1] if len(set(verdicts)) == 1 else verdicts
    return Text(f" {arrow}\n").join(Text(verdict.value, STYLES[verdict]) for verdict in shown)


def _runs(case: CaseChange, arrow: str) -> Text:
    runs = [run for run in (case.runs_before, case.runs_after) if run]
    text = Text(f" {arrow} ".join(dict.fromkeys(runs)))
    if case.within_noise:
        text.append("\nwithin noise", "magenta")
    return text


def _score(score: ScoreChange, arrow: str) -> Text:
    delta = "" if score.delta is None else f" ({score.delta:+.2f})"
    return plain(f"{score.metric_name} {number(score.before)} {arrow} {number(score.after)}{delta}")
