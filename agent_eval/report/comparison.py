"""The terminal report of a comparison: the goalposts before any score, then regressions first."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_eval.compare.comparison import CaseChange, Change, Comparison, ScoreChange, SuiteChange
from agent_eval.report.console import STYLES, glyph, plain
from agent_eval.report.text import count, number, p_value, printable, shortened

CHANGE_STYLES = {
    Change.REGRESSED: "bold red",
    Change.FIXED: "green",
    Change.MOVED: "magenta",
    Change.NEW: "cyan",
    Change.REMOVED: "yellow",
    Change.UNCHANGED: "dim",
}

MAX_UNCHANGED = 20
"""More unchanged cases than these are counted, not listed, unless something in them moved."""

MAX_GOALPOST = 60
"""Longer values of goalposts are cut; `--json` has them whole."""


def print_comparison(
    console: Console, comparison: Comparison, *, named: bool = False, first: bool = True
) -> None:
    """Everything that changed, and how many cases did not.

    Args:
        console: where to.
        comparison: what to show.
        named: say which eval set it is, as there are several.
        first: nothing is above it.
    """
    arrow = glyph(console, "→", "->")
    if not first:
        console.print()
    title = f"{comparison.baseline} {arrow} {comparison.candidate}"
    console.print(plain(f"{comparison.eval_set_id}  {title}" if named else title, "bold"))
    for change in comparison.goalposts:
        values = f"{_cut(change.before)} {arrow} {_cut(change.after)}"
        console.print(Text.assemble(("goalpost  ", "yellow"), printable(f"{change.what}: {values}")))
    for reason in conditions(comparison):
        console.print(plain(reason, "yellow"))
    console.print()
    listed = listed_cases(comparison)
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
    for line in suite_lines(comparison.suite, arrow):
        console.print(plain(line, "bold red" if comparison.suite.has_dropped else ""))


def _cut(value: str) -> str:
    return shortened(value, MAX_GOALPOST)


def conditions(comparison: Comparison) -> Iterator[str]:
    """What moved goalposts mean for the scores."""
    if comparison.goalposts:
        yield "The scores below were not taken under the same conditions."
    if comparison.incomparable:
        reasons = "; ".join(comparison.incomparable)
        yield f"Nothing can be called fixed, and no pass rates are held together: {reasons}."
        yield "`agent-eval grade` scores the runs of either side by the config of the other."


def listed_cases(comparison: Comparison) -> list[CaseChange]:
    """The cases with a row: all of them, or in a long comparison those in which something moved."""
    if comparison.counts[Change.UNCHANGED] <= MAX_UNCHANGED:
        return comparison.cases
    return [case for case in comparison.cases if _moved(case)]


def _moved(case: CaseChange) -> bool:
    return case.change is not Change.UNCHANGED or bool(case.scores) or case.flaky_before != case.flaky_after


def suite_lines(suite: SuiteChange, arrow: str) -> Iterator[str]:
    """All cases together."""
    if suite.p_value is not None:
        rates = f"{_percent(suite.pass_rate_before)} {arrow} {_percent(suite.pass_rate_after)}"
        yield f"{count(suite.cases, 'case')} together: {rates} of runs passed{_meaning(suite)}"
    for score in suite.scores:
        if score.before != score.after:
            yield f"{score.metric_name}: mean {score_text(score, arrow)}"


def _meaning(suite: SuiteChange) -> str:
    if suite.pass_rate_before == suite.pass_rate_after:
        return ""
    if not suite.within_noise:
        return f"; more than noise (p {p_value(suite.p_value)})"
    settle = f", about {suite.runs_to_settle} runs of each would settle it" if suite.runs_to_settle else ""
    return f"; within noise (p {p_value(suite.p_value)}){settle}"


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f} %"


def _table(cases: list[CaseChange], arrow: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("Change", no_wrap=True)
    table.add_column("Case", overflow="fold", ratio=1)
    table.add_column("Verdict", overflow="fold")
    table.add_column("Runs", no_wrap=True)
    table.add_column("Scores", overflow="fold", ratio=1)
    for case in cases:
        lines = [plain(score_line(score, arrow)) for score in case.scores]
        table.add_row(
            Text(case.change.value, CHANGE_STYLES[case.change]),
            plain(case.eval_id),
            _verdict(case, arrow),
            _runs(case, arrow),
            Text("\n").join([*([plain(case.note, "magenta")] if case.note else []), *lines]),
        )
    return table


def _verdict(case: CaseChange, arrow: str) -> Text:
    verdicts = [verdict for verdict in (case.before, case.after) if verdict]
    shown = verdicts[:1] if len(set(verdicts)) == 1 else verdicts
    return Text(f" {arrow}\n").join(Text(verdict.value, STYLES[verdict]) for verdict in shown)


def _runs(case: CaseChange, arrow: str) -> Text:
    text = Text(runs_text(case, arrow))
    for told in noise_texts(case):
        text.append(f"\n{told}", "magenta")
    return text


def runs_text(case: CaseChange, arrow: str) -> str:
    """Passed of scored runs on both sides; once where they are the same."""
    runs = [run for run in (case.runs_before, case.runs_after) if run]
    return f" {arrow} ".join(dict.fromkeys(runs))


def noise_texts(case: CaseChange) -> Iterator[str]:
    """What the runs are worth."""
    if case.within_noise:
        yield "within noise"
        if case.runs_to_settle:
            yield f"{case.runs_to_settle} runs settle"
    elif case.adjusted_p is not None and case.pass_rate_before != case.pass_rate_after:
        yield "beyond noise"
    if case.before and case.after and case.flaky_before != case.flaky_after:
        yield "flaky now" if case.flaky_after else "not flaky now"


def score_line(score: ScoreChange, arrow: str) -> str:
    """A metric and how its score changed."""
    return f"{score.metric_name} {score_text(score, arrow)}"


def score_text(score: ScoreChange, arrow: str) -> str:
    """How a score changed."""
    delta = "" if score.delta is None else f" ({score.delta:+.2f})"
    return f"{number(score.before)} {arrow} {number(score.after)}{delta}"
