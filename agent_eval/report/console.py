"""The terminal report: a table of cases, then what happened in those that did not pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent_eval.aggregate.statistics import WEAK_HALF_WIDTH, runs_for_half_width
from agent_eval.report.text import (
    against,
    call_lines,
    call_text,
    content_text,
    count,
    duration,
    number,
    printable,
    ranges,
)
from agent_eval.schema.result import (
    CaseMetric,
    CaseResult,
    EvalResult,
    ExpectedTurn,
    MetricResult,
    RunRecord,
    RunStatus,
    Totals,
)
from agent_eval.schema.trace import EvalStatus, Invocation, get_all_tool_calls

STYLES = {
    EvalStatus.PASSED: "green",
    EvalStatus.FAILED: "bold red",
    EvalStatus.NOT_EVALUATED: "yellow",
    EvalStatus.INFORMATIONAL: "dim",
}

MAX_ROWS = 200
"""A longer result lists only the cases that did not pass or are flaky."""

MAX_LISTED_TURNS = 3
"""Turns of a failed metric that are set out side by side; the others are counted."""


def plain(text: str, style: str = "") -> Text:
    """Text from outside: no markup, no control codes."""
    return Text(printable(text), style=style)


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
    console.print(
        Text.assemble((printable(result.eval_set.eval_set_id), "bold"), f"  agent {result.agent.name}")
    )
    console.print(_table(console, result))
    if any(case.attempts > 1 for case in result.cases):
        print_evidence(console, result.cases)
    hidden = len(result.cases) - len(_listed(result))
    if hidden:
        console.print(Text(f"{count(hidden, 'passed case')} not listed", "dim"))
    console.print(_totals_line(result.totals))
    if result.stopped:
        console.print(plain(result.stopped, "yellow"))


def _table(console: Console, result: EvalResult) -> Table:
    names = [metric.metric_name for metric in result.cases[0].metrics if metric.threshold is not None]
    signs = marks(console)
    repeated = any(case.attempts > 1 for case in result.cases)
    verdict_width = max(len(case.verdict) for case in result.cases)
    others = 12 + verdict_width + 8 + (14 if repeated else 0)
    in_columns = others + sum(_column_width(name) + 2 for name in names) <= console.width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("Case", overflow="fold", ratio=1, min_width=10)
    table.add_column("Verdict", no_wrap=True, min_width=verdict_width)
    if repeated:
        table.add_column("Runs", no_wrap=True)
    for header in map(_header, names) if in_columns else ["Scores / thresholds"]:
        table.add_column(header, no_wrap=in_columns, overflow="fold")
    table.add_column("Time", justify="right", no_wrap=True, min_width=6)
    for case in _listed(result):
        metrics = {metric.metric_name: metric for metric in case.metrics}
        scores = [_score(signs, metrics[name]) for name in names if name in metrics]
        if not in_columns:
            labelled = [
                Text(" ").join((score, plain(name))) for name, score in zip(names, scores, strict=True)
            ]
            scores = [Text("\n").join(labelled)]
        seconds = sum(run.seconds for run in case.runs)
        table.add_row(
            plain(case.eval_id),
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


_NARROW = 14


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
    return Text.assemble(*parts, Text(tail + ")", "dim"))


def print_evidence(console: Console, cases: Sequence[CaseResult]) -> None:
    """What the rates are worth: a line for each rate there is, and the cases that have it."""
    rates: dict[tuple[int, int, int], list[CaseResult]] = {}
    for case in cases:
        if case.scored:
            rates.setdefault((case.passed, case.scored, case.crashed), []).append(case)
    console.print()
    for (passed, scored, crashed), alike in sorted(rates.items()):
        low, high = alike[0].interval or (0.0, 1.0)
        who = printable(alike[0].eval_id) if len(alike) == 1 else count(len(alike), "case")
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


def print_failures(console: Console, result: EvalResult, records: Iterable[RunRecord]) -> None:
    """For each case that did not pass or had a crash: what was expected, and what happened."""
    failed = {
        case.eval_id: case
        for case in result.cases
        if (case.verdict is not EvalStatus.PASSED or case.crashed) and not _said_by_stop(result, case)
    }
    first: dict[str, RunRecord] = {}
    for record in records:
        if record.eval_id in failed:
            kept = first.get(record.eval_id)
            if kept is None or _tells_more(record, kept):
                first[record.eval_id] = record
    for eval_id, case in failed.items():
        console.print()
        console.print(_failure(console, case, first.get(eval_id)))


def _said_by_stop(result: EvalResult, case: CaseResult) -> bool:
    """Whether the reason why the evaluation ended is all there is to say of a case."""
    return result.stopped is not None and case.scored == 0 and case.verdict is EvalStatus.NOT_EVALUATED


def _tells_more(record: RunRecord, than: RunRecord) -> bool:
    """The run to show of a case: the earliest that did not pass."""

    def rank(run: RunRecord) -> tuple[bool, int]:
        passed = run.status is RunStatus.COMPLETED and all(
            metric.status in (EvalStatus.PASSED, EvalStatus.INFORMATIONAL) for metric in run.metrics
        )
        return passed, run.run_index

    return rank(record) < rank(than)


def _failure(console: Console, case: CaseResult, record: RunRecord | None) -> RenderableType:
    signs = marks(console)
    title = Text.assemble(
        (f"{signs[case.verdict]} ", STYLES[case.verdict]),
        (printable(case.eval_id), "bold"),
        ("  " + case.verdict.value, STYLES[case.verdict]),
    )
    if record and case.attempts > 1:
        title.append(f"  (run {record.run_index + 1} of {case.attempts})", "dim")
    lines: list[RenderableType] = [title]
    lines += [_indented(plain(reason, "red")) for reason in case.reasons]
    lines += [_indented(plain(crash, "red")) for crash in _crashes(case)]
    lines += [
        _indented(plain(f"{metric.metric_name}: {metric.reason}", "yellow"))
        for metric in case.metrics
        if metric.status is EvalStatus.NOT_EVALUATED and case.crashed < case.attempts
    ]
    if record and record.status is RunStatus.COMPLETED:
        for metric in record.metrics:
            if metric.status is EvalStatus.FAILED:
                lines += [_indented(block) for block in _failed_metric(metric, record)]
    return Group(*lines)


def _indented(block: RenderableType, by: int = 2) -> Padding:
    return Padding(block, (0, 0, 0, by), expand=False)


def _crashes(case: CaseResult) -> Iterator[str]:
    """Each error once, with the runs it ended."""
    runs: dict[tuple[str, str], list[int]] = {}
    for run in case.runs:
        if run.error:
            runs.setdefault((run.error.type, run.error.message), []).append(run.run_index + 1)
    for (kind, message), numbers in runs.items():
        which = f"{'runs' if len(numbers) > 1 else 'run'} {ranges(numbers)}"
        yield f"{which if case.attempts > 1 else 'the run'} crashed: {kind}: {message}"


def _failed_metric(metric: MetricResult, record: RunRecord) -> Iterator[RenderableType]:
    yield plain(f"{metric.metric_name}  {against(metric.score, metric.threshold)}", "red")
    expected = record.expected or []
    wrong = [index for index, turn in enumerate(metric.per_invocation) if turn.status is EvalStatus.FAILED]
    for index in wrong[:MAX_LISTED_TURNS]:
        if index >= len(record.invocations):
            break  # a metric gave more rows than there are turns
        actual = record.invocations[index]
        wanted = expected[index] if index < len(expected) else None
        yield Padding(
            _turn_title(index, actual, metric.per_invocation[index].score), (0, 0, 0, 2), expand=False
        )
        if wanted is not None:
            yield _indented(_side_by_side(metric.metric_name, wanted, actual), 4)
    if len(wrong) > MAX_LISTED_TURNS:
        yield Padding(
            Text(f"and {count(len(wrong) - MAX_LISTED_TURNS, 'more turn')}", "dim"),
            (0, 0, 0, 2),
            expand=False,
        )


def _turn_title(index: int, actual: Invocation, score: float | None) -> Text:
    asked = " ".join(content_text(actual.user_content).split())
    if len(asked) > 50:
        asked = asked[:47] + "..."
    return plain(f'turn {index + 1} "{asked}"  {number(score)}', "dim")


def _side_by_side(metric_name: str, expected: ExpectedTurn, actual: Invocation) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=False)
    table.add_column("")
    table.add_column("expected", overflow="fold", ratio=1)
    table.add_column("actual", overflow="fold", ratio=1)
    if metric_name == "tool_trajectory_avg_score":
        _call_rows(table, expected, actual)
    else:
        table.add_row("", _said(expected), _said(actual))
    return table


def _said(invocation: Invocation | ExpectedTurn) -> Text:
    said = content_text(invocation.final_response)
    return plain(said) if said else Text("(no final text)", "dim")


def _call_rows(table: Table, expected: ExpectedTurn, actual: Invocation) -> None:
    """Tool calls one argument a line, side by side; the first line that differs is marked."""
    left = [line for call in get_all_tool_calls(expected.intermediate_data) for line in call_lines(call)]
    right = [line for call in get_all_tool_calls(actual.intermediate_data) for line in call_lines(call)]
    differs = False
    for index in range(max(len(left), len(right), 1)):
        one = left[index] if index < len(left) else None
        other = right[index] if index < len(right) else None
        first = not differs and one != other
        differs = differs or first
        style = "red" if first else ""
        table.add_row(
            Text(">" if first else "", "red"),
            _cell(one, style, empty=not left and index == 0),
            _cell(other, style, empty=not right and index == 0),
        )


def _cell(line: str | None, style: str, *, empty: bool) -> Text:
    if line is None:
        return Text("(no tool calls)", "dim") if empty else Text("")
    return plain(line, style)


def print_details(console: Console, records: Iterable[RunRecord]) -> None:
    """Every turn of every run."""
    for record in sorted(records, key=lambda record: (record.eval_id, record.run_index)):
        console.print()
        console.print(
            Text.assemble(
                (printable(record.eval_id), "bold"),
                f"  run {record.run_index + 1}  {record.status.value}  {duration(record.seconds)}",
            )
        )
        for index, invocation in enumerate(record.invocations):
            console.print(_indented(_turn(index, invocation, record)))
        for metric in record.metrics:
            told = metric.error and metric.error.traceback
            if told:
                console.print(_indented(plain(told.rstrip(), "yellow")))
        if record.error:
            told = record.error.traceback or f"{record.error.type}: {record.error.message}"
            console.print(_indented(plain(told.rstrip(), "red")))


def _turn(index: int, invocation: Invocation, record: RunRecord) -> Group:
    lines: list[RenderableType] = [
        Text.assemble((f"{index + 1}. user: ", "bold"), plain(content_text(invocation.user_content)))
    ]
    lines += [
        Text.assemble("   call: ", plain(call_text(call)))
        for call in get_all_tool_calls(invocation.intermediate_data)
    ]
    lines.append(Text.assemble("   agent: ", _said(invocation)))
    scores = [
        f"{metric.metric_name} {number(metric.per_invocation[index].score)}"
        for metric in record.metrics
        if index < len(metric.per_invocation) and metric.per_invocation[index].score is not None
    ]
    if scores:
        lines.append(plain("   " + ", ".join(scores), "dim"))
    return Group(*lines)


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
