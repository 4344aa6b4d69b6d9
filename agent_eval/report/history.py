"""Results over time: verdicts, pass rates, and a sparkline for each case."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_eval.report.console import STYLES, glyph, plain
from agent_eval.report.text import count, number
from agent_eval.schema.result import EvalResult
from agent_eval.schema.trace import EvalStatus

LEVELS = "▁▂▃▄▅▆▇█"
ASCII_LEVELS = "_.:-=+*#"
ABSENT, ASCII_ABSENT = "·", " "
"""Where a case was not run, or has no rate."""


def print_history(console: Console, results: Sequence[EvalResult]) -> None:
    """The results of one eval set, oldest first."""
    first = results[0]
    console.print()
    console.print(
        Text.assemble(
            (plain(first.eval_set.eval_set_id, "bold")),
            f"  {count(len(results), 'result')}  ",
            sparkline(console, [_rate(result) for result in results]),
        )
    )
    console.print(_results(results))
    console.print()
    console.print(_cases(console, results))


def sparkline(console: Console, rates: Sequence[float | None]) -> str:
    """A block a rate, the higher the better; plain characters where the stream has no others."""
    levels = LEVELS if glyph(console, LEVELS, "") else ASCII_LEVELS
    absent = glyph(console, ABSENT, ASCII_ABSENT)
    return "".join(absent if rate is None else levels[min(int(rate * 8), 7)] for rate in rates)


def _rate(result: EvalResult) -> float | None:
    """The share of cases that passed."""
    return result.totals.passed / result.totals.cases if result.totals.cases else None


def _results(results: Sequence[EvalResult]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("When (UTC)", no_wrap=True)
    for header in ("Cases", "Passed", "Failed", "Not eval.", "Pass rate"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("Commit", no_wrap=True)
    for result in results:
        totals, origin = result.totals, result.provenance
        table.add_row(
            result.created[:19].replace("T", " "),
            str(totals.cases),
            str(totals.passed),
            Text(str(totals.failed), STYLES[EvalStatus.FAILED] if totals.failed else "dim"),
            Text(
                str(totals.not_evaluated), STYLES[EvalStatus.NOT_EVALUATED] if totals.not_evaluated else "dim"
            ),
            number(_rate(result)),
            (origin.git_commit or "")[:7] + ("+" if origin.git_dirty else ""),
        )
    return table


def _cases(console: Console, results: Sequence[EvalResult]) -> Table:
    """Each case with its runs' pass rates over time."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("Case", overflow="fold")
    table.add_column("Last verdict", no_wrap=True)
    table.add_column("Results passed", justify="right", no_wrap=True)
    table.add_column("Runs passed", no_wrap=True)
    by_result = [{case.eval_id: case for case in result.cases} for result in results]
    for eval_id in dict.fromkeys(eval_id for cases in reversed(by_result) for eval_id in cases):
        found = [cases.get(eval_id) for cases in by_result]
        there = [case for case in found if case]
        passed = sum(case.verdict is EvalStatus.PASSED for case in there)
        table.add_row(
            plain(eval_id),
            Text(there[-1].verdict.value, STYLES[there[-1].verdict]),
            f"{passed}/{len(there)}",
            sparkline(console, [case.pass_rate if case else None for case in found]),
        )
    return table
