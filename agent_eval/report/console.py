"""The terminal report: a table of cases, then what happened in those that did not pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_eval.aggregate.statistics import WEAK_HALF_WIDTH, runs_for_half_width
from agent_eval.report.text import (
    against,
    count,
    duration,
    printable,
)
from agent_eval.schema.result import (
    CaseMetric,
    CaseResult,
    EvalResult,
    JudgeTotals,
    SimulatorTotals,
    StoppedBy,
    Totals,
)
from agent_eval.schema.trace import EvalStatus

STYLES = {
    EvalStatus.PASSED: "green",
    EvalStatus.FAILED: "bold red",
    EvalStatus.NOT_EVALUATED: "yellow",
    EvalStatus.INFORMATIONAL: "dim",
}

MAX_NAMED_METRICS = 2
"""A warning about more metrics counts them."""
MAX_ROWS = 200
"""A longer result lists only the cases that did not pass or are flaky."""


def plain(text: str, style: str = "") -> Text:
    """Text from outside: no markup, no control codes."""
    return Text(printable(text), style=style)


def print_line(console: Console, text: str, style: str = "") -> None:
    """A line that is whole in a pipe, where programs read it, and wrapped between words on a terminal."""
    console.print(plain(text, style), soft_wrap=not console.is_terminal)


def glyph(console: Console, symbol: str, ascii_symbol: str) -> str:
    """`symbol`, or its stand-in where the stream cannot encode it."""
    try:
        symbol.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return ascii_symbol
    return symbol


def marks(console: Console) -> dict[EvalStatus, str]:
    """One sign a status."""
    return {
        EvalStatus.PASSED: glyph(console, "✓", "+"),
        EvalStatus.FAILED: glyph(console, "✗", "x"),
        EvalStatus.NOT_EVALUATED: "?",
        EvalStatus.INFORMATIONAL: " ",
    }


def print_result(console: Console, result: EvalResult) -> None:
    """The table of one eval set, and its totals."""
    console.print()
    agent = plain(f"  agent {result.agent.name}")
    console.print(Text.assemble(plain(result.eval_set.eval_set_id, "bold"), agent))
    console.print(_table(console, result))
    if any(case.attempts > 1 for case in result.cases):
        print_evidence(console, result.cases)
    hidden = len(result.cases) - len(_listed(result))
    if hidden:
        console.print(Text(f"{count(hidden, 'passed case')} not listed", "dim"))
    console.print(_totals_line(result.totals))
    for warning in warnings(result):
        console.print(plain(warning, "yellow"))
    if result.stopped:
        console.print(plain(result.stopped, "yellow"))


def warnings(result: EvalResult) -> Iterator[str]:
    """What to know of a result besides its verdicts."""
    yield from _warnings(result)
    yield from _ends(result)


def _warnings(result: EvalResult) -> Iterator[str]:
    """What to know of scores: each warning once, with the metrics and the number of cases it is about."""
    metrics: dict[str, dict[str, None]] = {}
    cases: Counter[str] = Counter()
    for case in result.cases:
        told = [(warning, metric.metric_name) for metric in case.metrics for warning in metric.warnings]
        cases.update({warning for warning, _ in told})
        for warning, name in told:
            metrics.setdefault(warning, {})[name] = None
    for warning, names in metrics.items():
        which = ", ".join(names) if len(names) <= MAX_NAMED_METRICS else count(len(names), "metric")
        yield f"warning: {warning} ({which}; {count(cases[warning], 'case')})"


_EARLY_ENDS = {
    StoppedBy.TURN_LIMIT: "were ended by the turn limit, not by the user",
    StoppedBy.NO_TURN_FITS: "ended as no turn of the script fits the agent's last answer",
}


def _ends(result: EvalResult) -> Iterator[str]:
    """Conversations that the user might have gone on with, and in which cases."""
    simulated = [(case, run.stopped_by) for case in result.cases for run in case.runs if run.stopped_by]
    for end, told in _EARLY_ENDS.items():
        cases = [case.eval_id for case, stopped_by in simulated if stopped_by is end]
        if cases:
            names = ", ".join(dict.fromkeys(cases))
            yield f"warning: {len(cases)} of {len(simulated)} conversations {told}: {names}"


def _table(console: Console, result: EvalResult) -> Table:
    gating = (one for case in result.cases for one in case.metrics if one.threshold is not None)
    names = list(dict.fromkeys(metric.metric_name for metric in gating))
    signs = marks(console)
    repeated = any(case.attempts > 1 for case in result.cases)
    verdict_width = max(len(case.verdict) for case in result.cases)
    widths = [10, max(len("Verdict"), verdict_width), *([11] if repeated else []), 6]
    widths += [_column_width(name) for name in names]
    room = console.width - sum(widths[1:]) - _GAP * (len(widths) - 1)
    in_columns = room >= widths[0]
    if not in_columns:  # one below the other, each with its name
        widths[-len(names) :] = [len("? 0.00 / 0.00 ") + max(map(len, names))]
        room = console.width - sum(widths[1:]) - _GAP * (len(widths) - 1)
    case_width = max(room, widths[0] if in_columns else console.width // 4)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("Case", overflow="fold", ratio=1, min_width=10)
    table.add_column("Verdict", no_wrap=True, min_width=verdict_width)
    if repeated:
        table.add_column("Runs", no_wrap=True)
    for header in map(_header, map(printable, names)) if in_columns else ["Scores / thresholds"]:
        table.add_column(header, no_wrap=in_columns, overflow="fold")
    table.add_column("Time", justify="right", no_wrap=True, min_width=6)
    for case in _listed(result):
        metrics = {metric.metric_name: metric for metric in case.metrics}
        shown = {name: _score(signs, metrics[name]) for name in names if name in metrics}
        scores = [shown.get(name, Text()) for name in names]
        if not in_columns:
            scores = [Text("\n").join(Text(" ").join((one, plain(name))) for name, one in shown.items())]
        seconds = sum(run.seconds for run in case.runs)
        table.add_row(
            plain(broken(case.eval_id, case_width)),
            Text(case.verdict.value, STYLES[case.verdict]),
            *([_runs(case)] if repeated else []),
            *scores,
            duration(seconds),
        )
    return table


def _listed(result: EvalResult) -> list[CaseResult]:
    """The cases with a row: all of them, or in a long result those that want looking at."""
    if len(result.cases) <= MAX_ROWS:
        return result.cases
    return [case for case in result.cases if case.verdict is not EvalStatus.PASSED or case.flaky]


def _header(name: str) -> str:
    """A metric's name over two lines where it is long."""
    words = name.split("_")
    if len(name) <= _NARROW or len(words) < 2:
        return name
    half = min(
        range(1, len(words)), key=lambda i: max(len("_".join(words[:i])) + 1, len("_".join(words[i:])))
    )
    return "_".join(words[:half]) + "_\n" + "_".join(words[half:])


def broken(name: str, width: int) -> str:
    """A name over several lines where it is longer than `width`, broken between its words."""
    lines = [""]
    for word in re.findall(r"[^_\-./: ]*[_\-./: ]?", name):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


_NARROW = 14
_GAP = 3
"""Columns between two columns."""


def _column_width(name: str) -> int:
    return max(13, *(len(line) for line in _header(name).splitlines()))


def _score(signs: dict[EvalStatus, str], metric: CaseMetric) -> Text:
    return Text(
        f"{signs[metric.status]} {against(metric.score, metric.threshold)}", style=STYLES[metric.status]
    )


def _runs(case: CaseResult) -> Text:
    """How many of the scored runs passed, and what else there is to know of them."""
    text = Text(f"{case.passed}/{case.scored}")
    if case.flaky:
        text.append(" FLAKY", "magenta")
    if case.crashed:
        text.append(f"\n+{case.crashed} crashed", "red")
    if case.retries:
        text.append(f"\n{count(case.retries, 'retry', 'retries')}", "yellow")
    if case.saved:
        text.append(f"\n{case.saved} saved", "dim")
    return text


def _totals_line(totals: Totals) -> Text:
    parts = [
        Text(count(totals.cases, "case") + ": "),
        Text(f"{totals.passed} passed", STYLES[EvalStatus.PASSED] if totals.passed else "dim"),
        Text(", "),
        Text(f"{totals.failed} failed", STYLES[EvalStatus.FAILED] if totals.failed else "dim"),
        Text(", "),
        Text(
            f"{totals.not_evaluated} not evaluated",
            STYLES[EvalStatus.NOT_EVALUATED] if totals.not_evaluated else "dim",
        ),
    ]
    for amount, said, style in (
        (totals.flaky, f"{totals.flaky} flaky", "magenta"),
        (totals.crashed_runs, count(totals.crashed_runs, "crashed run"), "red"),
        (totals.retries, count(totals.retries, "retry", "retries"), "yellow"),
        (totals.saved_runs, count(totals.saved_runs, "saved run"), "dim"),
    ):
        if amount:
            parts += [Text(", "), Text(said, style)]
    tail = f"  ({duration(totals.duration_seconds)}"
    if totals.tokens["total"]:
        tail += f", {totals.tokens['total']} tokens"
    text = Text.assemble(*parts, Text(tail + ")", "dim"))
    for judge in totals.judges:
        text.append(f"\n{_model_line('judge', judge, cached=judge.cached)}", "dim")
    if totals.simulator:
        text.append(f"\n{_model_line('simulated user', totals.simulator)}", "dim")
    return text


def _model_line(what: str, used: JudgeTotals | SimulatorTotals, cached: int = 0) -> str:
    """What a model was asked, and what it took."""
    parts = [count(used.requests, "request")]
    if cached:
        parts.append(f"{count(cached, 'answer')} from the cache")
    if tokens := used.input_tokens + used.output_tokens:
        parts.append(f"{tokens} tokens")
    if used.cost is not None:
        parts.append(f"cost {used.cost:.4f}")
    return f"{what} {printable(used.model)}: {', '.join(parts)}"


def print_evidence(console: Console, cases: Sequence[CaseResult]) -> None:
    """What the rates are worth: a line for each rate there is, and the cases that have it."""
    rates: dict[tuple[int, int, int], list[CaseResult]] = {}
    for case in cases:
        if case.scored:
            rates.setdefault((case.passed, case.scored, case.crashed), []).append(case)
    if rates:
        console.print()
    for (passed, scored, crashed), alike in sorted(rates.items()):
        low, high = alike[0].interval or (0.0, 1.0)
        who = printable(alike[0].eval_id) if len(alike) == 1 else f"each of {len(alike)} cases"
        text = Text.assemble(
            (who, "bold"), f": {passed} of {scored} runs passed, 95 % between {low:.2f} and {high:.2f}"
        )
        if crashed:
            text.append(f", {count(crashed, 'other')} crashed", "red")
        if alike[0].pass_hat_k is not None:
            text.append(f"; pass^{scored} {alike[0].pass_hat_k:.2f}, pass@{scored} {alike[0].pass_at_k:.2f}")
        if (high - low) / 2 > WEAK_HALF_WIDTH:
            needed = runs_for_half_width(passed / scored)
            plus_minus = glyph(console, "±", "+-")
            text.append(
                f"; weak, {needed} runs would narrow it to {plus_minus}{WEAK_HALF_WIDTH:.2f}", "yellow"
            )
        console.print(text)


def print_totals(console: Console, results: Sequence[EvalResult]) -> None:
    """One line over all eval sets."""
    every = [result.totals for result in results]
    verdicts = {
        "passed": sum(one.passed for one in every),
        "failed": sum(one.failed for one in every),
        "not evaluated": sum(one.not_evaluated for one in every),
    }
    said = ", ".join(f"{amount} {what}" for what, amount in verdicts.items())
    console.print(
        f"{count(len(every), 'eval set')}, {count(sum(one.cases for one in every), 'case')}: {said}"
    )
