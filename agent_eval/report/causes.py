"""Causes shown: why something did not pass, and what to change."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent_eval.report.console import STYLES, marks, plain
from agent_eval.report.text import against, printable
from agent_eval.report.why import seen_in
from agent_eval.schema.result import CaseMetric, CaseResult, Cause, EvalResult
from agent_eval.schema.trace import EvalStatus


def causes_table(causes: Sequence[Cause], attempts: int = 1) -> Table:
    """The causes one below the other: what was seen, and what to change."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("", no_wrap=True, style="dim")
    table.add_column("", overflow="fold", ratio=1)
    for index, cause in enumerate(causes):
        runs = seen_in(cause, attempts)
        seen = f"{cause.code}: {cause.seen}" + (f"  ({runs})" if runs else "")
        table.add_row("or" if index else "why", plain(seen))
        table.add_row("change", plain(cause.change))
    return table


def print_explanation(console: Console, result: EvalResult, cases: Sequence[CaseResult]) -> None:
    """Every cause of what did not pass, by case and metric."""
    console.print()
    console.print(Text(printable(result.eval_set.eval_set_id), "bold"))
    if result.causes:
        console.print()
        console.print(Text("all cases", "bold"))
        console.print(_indented(causes_table(result.causes), 2))
    for case in cases:
        console.print()
        for block in _case(console, case):
            console.print(block)
    if not cases:
        console.print("Every case passed: there is nothing to explain.")


def _case(console: Console, case: CaseResult) -> list[RenderableType]:
    style = STYLES[case.verdict]
    title = Text.assemble((f"{marks(console)[case.verdict]} ", style), (printable(case.eval_id), "bold"))
    blocks: list[RenderableType] = [title.append(f"  {case.verdict.value}", style)]
    blocks += [_indented(plain(reason, "red"), 2) for reason in case.reasons]
    blocks += [_indented(block, 2) for block in _causes(case.causes, case.attempts)]
    for metric in case.metrics:
        if metric.causes and metric.causes != case.causes:
            blocks.append(_indented(_metric_line(metric), 2))
            blocks += [_indented(block, 4) for block in _causes(metric.causes, case.attempts)]
    return blocks


def _indented(block: RenderableType, by: int) -> Padding:
    return Padding(block, (0, 0, 0, by), expand=False)


def _causes(causes: Sequence[Cause], attempts: int) -> list[RenderableType]:
    return [causes_table(causes, attempts)] if causes else []


def _metric_line(metric: CaseMetric) -> Text:
    if metric.status is EvalStatus.NOT_EVALUATED:
        return plain(f"{metric.metric_name}  not evaluated", "yellow")
    return plain(f"{metric.metric_name}  {against(metric.score, metric.threshold)}", "red")


def print_long_form(console: Console, text: str) -> None:
    """The long form of a code."""
    from rich.markdown import Markdown  # takes as long to import as all else that is printed

    console.print(Markdown(printable(text)))


def print_topics(console: Console, topics: Sequence[tuple[str, str, str]]) -> None:
    """Every code with its short name and title."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column("", no_wrap=True, style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold", ratio=1)
    for topic in topics:
        table.add_row(*topic)
    console.print(table)
