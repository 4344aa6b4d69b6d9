"""What happened in the cases that did not pass, and every turn where that is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent_eval.report.causes import causes_table
from agent_eval.report.console import STYLES, marks, plain
from agent_eval.report.text import (
    against,
    call_lines,
    call_text,
    content_text,
    count,
    duration,
    number,
    printable,
)
from agent_eval.report.why import crashes
from agent_eval.schema.result import (
    CaseResult,
    Cause,
    EvalResult,
    ExpectedTurn,
    InvocationScore,
    MetricResult,
    RunRecord,
    RunStatus,
)
from agent_eval.schema.trace import EvalStatus, Invocation, get_all_tool_calls

MAX_LISTED_TURNS = 3
"""Turns of a failed metric that are set out side by side; the others are counted."""
MAX_RATIONALE = 600
"""Characters of a judge's reasons that are shown of a failed turn; the record has all of them."""

DURATION = "invocation_duration_v1"
"""The metric in seconds."""

MAX_CAUSES = 2
"""Causes shown of each metric; `agent-eval explain` shows all of them."""


def print_failures(console: Console, result: EvalResult, records: Iterable[RunRecord]) -> None:
    """For each case that did not pass or had a crash: what was expected, and what happened."""
    unpassed = [case for case in result.cases if case.verdict is not EvalStatus.PASSED or case.crashed]
    telling = [case for case in unpassed if not _said_by_stop(result, case)]
    telling = telling or [case for case in unpassed if case.crashed][:1]  # one tells why all were stopped
    failed = {case.eval_id: case for case in telling}
    first: dict[str, RunRecord] = {}
    for record in records:
        if record.eval_id in failed:
            kept = first.get(record.eval_id)
            if kept is None or _tells_more(record, kept):
                first[record.eval_id] = record
    if result.causes:
        console.print()
        console.print(Text("all cases", "bold"))
        console.print(_indented(causes_table(result.causes[:MAX_CAUSES])))
    for eval_id, case in failed.items():
        console.print()
        case = case.model_copy(update={"reasons": [one for one in case.reasons if one != result.stopped]})
        console.print(_failure(console, case, first.get(eval_id)))
    code = next(_codes(failed.values()), None)
    if code:
        console.print()
        console.print(Text(f"agent-eval explain {code} tells more of that cause", "dim"))


def _codes(cases: Iterable[CaseResult]) -> Iterator[str]:
    """The codes of the causes shown."""
    for case in cases:
        yield from (cause.code for cause in case.causes)
        yield from (cause.code for metric in case.metrics for cause in metric.causes)


def failure_text(result: EvalResult, records: Iterable[RunRecord], width: int = 80) -> str:
    """What `print_failures` shows, as plain text."""
    console = Console(
        file=StringIO(), width=width, color_system=None, highlight=False, markup=False, emoji=False
    )
    with console.capture() as shown:
        print_failures(console, result, records)
    return "\n".join(line.rstrip() for line in shown.get().strip("\n").splitlines())


def _said_by_stop(result: EvalResult, case: CaseResult) -> bool:
    """Whether the reason why the evaluation ended is all there is to say of a case."""
    unscored = any(metric.status is EvalStatus.NOT_EVALUATED for metric in case.metrics)
    only_missing = case.scored == 0 or not (case.crashed or unscored)
    return result.stopped is not None and case.verdict is EvalStatus.NOT_EVALUATED and only_missing


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
    lines += [_indented(plain(crash, "red")) for crash in crashes(case)]
    lines += [_indented(block) for block in _causes(case.causes, case)]
    if case.crashed < case.attempts:
        for unscored in case.metrics:
            if unscored.status is EvalStatus.NOT_EVALUATED:
                lines.append(_indented(plain(f"{unscored.metric_name}: {unscored.reason}", "yellow")))
                lines += [_indented(block, 4) for block in _causes(unscored.causes, case)]
    shown = record.metrics if record and record.status is RunStatus.COMPLETED else []
    turns = {metric.metric_name: metric for metric in shown if metric.status is EvalStatus.FAILED}
    for failed in case.metrics:
        if record and (metric := turns.pop(failed.metric_name, None)):
            lines += [_indented(block) for block in _failed_metric(metric, record)]
            lines += [_indented(block, 4) for block in _causes(failed.causes, case)]
        elif failed.status is EvalStatus.FAILED:
            lines.append(_indented(_metric_line(failed.metric_name, failed.score, failed.threshold)))
            lines += [_indented(block, 4) for block in _causes(failed.causes, case)]
    return Group(*lines)


def _causes(causes: list[Cause], case: CaseResult) -> Iterator[RenderableType]:
    if causes:
        yield causes_table(causes[:MAX_CAUSES], case.attempts)


def _metric_line(name: str, score: float | None, threshold: float | None) -> Text:
    return plain(f"{name}  {against(score, threshold)}", "red")


def _indented(block: RenderableType, by: int = 2) -> Padding:
    return Padding(block, (0, 0, 0, by), expand=False)


def _failed_metric(metric: MetricResult, record: RunRecord) -> Iterator[RenderableType]:
    yield _metric_line(metric.metric_name, metric.score, metric.threshold)
    expected = record.expected or []
    wrong = [index for index, turn in enumerate(metric.per_invocation) if turn.status is EvalStatus.FAILED]
    for index in wrong[:MAX_LISTED_TURNS]:
        if index >= len(record.invocations):
            break  # a metric gave more rows than there are turns
        actual, row = record.invocations[index], metric.per_invocation[index]
        wanted = expected[index] if index < len(expected) else None
        yield _indented(_turn_title(index, actual, row.score))
        for incident in _incidents(actual):
            yield _indented(incident, 4)
        if row.rubric_scores:
            yield _indented(Text.assemble(("agent: ", "dim"), _said(actual)), 4)
        elif wanted is not None:
            yield _indented(_side_by_side(metric.metric_name, wanted, actual), 4)
        for reason in _reasons(row):
            told = reason if len(reason) <= MAX_RATIONALE else f"{reason[:MAX_RATIONALE]}..."
            yield _indented(plain(told, "italic"), 4)
    if len(wrong) > MAX_LISTED_TURNS:
        yield _indented(Text(f"and {count(len(wrong) - MAX_LISTED_TURNS, 'more turn')}", "dim"))


def _reasons(row: InvocationScore) -> list[str]:
    """The judge's reasons: for each rubric that failed, and for the turn as a whole."""
    rubrics = [
        f"{score.rubric_id}: {score.rationale or 'no reason given'}"
        for score in row.rubric_scores or ()
        if score.score is not None and score.score < 1
    ]
    return rubrics + ([row.rationale] if row.rationale else [])


def _turn_title(index: int, actual: Invocation, score: float | None) -> Text:
    asked = " ".join(content_text(actual.user_content).split())
    if len(asked) > 50:
        asked = asked[:47] + "..."
    return plain(f'turn {index + 1} "{asked}"  {number(score)}', "dim")


def _incidents(actual: Invocation) -> list[Text]:
    """What went wrong in the turn, a line each."""
    return [
        Text.assemble((f"{printable(incident.author)} reported ", "dim"), plain(incident.told, "yellow"))
        for incident in actual.incidents or ()
    ]


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
        for invocation in record.context:
            console.print(_indented(_talk("before", invocation)))
        for index, invocation in enumerate(record.invocations):
            console.print(_indented(_turn(index, invocation, record)))
        if record.stopped_by:
            console.print(_indented(Text(f"ended by: {record.stopped_by.value.replace('_', ' ')}", "dim")))
        for metric in record.metrics:
            told = metric.error and metric.error.traceback
            if told:
                console.print(_indented(plain(told.rstrip(), "yellow")))
        if record.error:
            told = record.error.traceback or f"{record.error.type}: {record.error.message}"
            console.print(_indented(plain(told.rstrip(), "red")))


def _talk(label: str, invocation: Invocation) -> Group:
    """What was said and done in a turn."""
    return Group(
        Text.assemble((f"{label} user: ", "bold"), plain(content_text(invocation.user_content))),
        *(
            _indented(Text.assemble("call: ", plain(call_text(call))), 3)
            for call in get_all_tool_calls(invocation.intermediate_data)
        ),
        *(_indented(incident, 3) for incident in _incidents(invocation)),
        _indented(Text.assemble("agent: ", _said(invocation)), 3),
    )


def _value(metric: MetricResult, score: float) -> str:
    """A score; of what is informational a number or a duration."""
    if metric.metric_name == DURATION:
        return duration(score)
    return f"{score:g}" if metric.status is EvalStatus.INFORMATIONAL else number(score)


def _turn(index: int, invocation: Invocation, record: RunRecord) -> Group:
    """A turn and its scores."""
    lines: list[RenderableType] = [_talk(f"{index + 1}.", invocation)]
    scores = Table.grid(padding=(0, 2, 0, 0))
    for metric in record.metrics:
        if index < len(metric.per_invocation) and (score := metric.per_invocation[index].score) is not None:
            scores.add_row(plain(metric.metric_name, "dim"), Text(_value(metric, score), "dim"))
    if scores.rows:
        lines.append(_indented(scores, 3))
    lines += [
        _indented(plain(f"{metric.metric_name}: {reason}", "dim"), 3)
        for metric in record.metrics
        if index < len(metric.per_invocation)
        for reason in _reasons(metric.per_invocation[index])
    ]
    return Group(*lines)
