"""Results as Markdown, for summaries of CI jobs and comments on pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_eval.printable import printable
from agent_eval.report.console import warnings
from agent_eval.report.text import against, count, duration, number
from agent_eval.report.why import findings, seen_in
from agent_eval.schema.result import CaseResult, EvalResult
from agent_eval.schema.trace import EvalStatus

MAX_LENGTH = 60_000
"""Characters of a document: what a comment on a pull request can hold. What did not fit is counted."""
MAX_LINE = 600
"""Characters of one text in it."""
MAX_CAUSES = 2
"""Causes of one finding."""

SIGNS = {EvalStatus.PASSED: "✅", EvalStatus.FAILED: "❌", EvalStatus.NOT_EVALUATED: "⚠️"}
MARKS = {EvalStatus.PASSED: "✓", EvalStatus.FAILED: "✗", EvalStatus.NOT_EVALUATED: "?"}

_SPECIAL = re.compile(r"[\\`*\[\]#~]|(?<![^\W_])_|_(?![^\W_])|^[ ]*(?:[-+=]|\d+[.)])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"})
_REFERENCE = re.compile(r"@(?=\w)|(?<=#)(?=\d)|(?<=\bGH-)(?=\d)|(?<=://)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_NOTHING = "\u200b"


def escaped(text: str) -> str:
    """Text from outside on one line: no markup, no cell of a table, nobody mentioned, nothing linked.

    Where a name or a number would notify someone, a character without width breaks it: forges look for
    those after they have read the markup, so that no escape would do.
    """
    line = " ".join(printable(text).split())
    if len(line) > MAX_LINE:
        line = line[:MAX_LINE] + "…"
    line = _REFERENCE.sub(lambda match: match[0] + _NOTHING, line)
    return _SPECIAL.sub(lambda match: match[0][:-1] + "\\" + match[0][-1], line).translate(_ENTITIES)


def markdown(results: Sequence[EvalResult], limit: int = MAX_LENGTH) -> str:
    """The document: of each result the totals, then what did not pass and why, then what passed."""
    heads = ["\n".join(_head(result)) for result in results]
    room = limit - sum(len(head) for head in heads) - 500 * len(results)
    parts = []
    for head, result in zip(heads, results, strict=True):
        body = _body(result, room)
        room -= len(body)
        parts.append(f"{head}\n\n{body}".rstrip())
    return "\n\n".join(parts) + "\n"


def _head(result: EvalResult) -> Iterator[str]:
    totals = result.totals
    fine = totals.passed == totals.cases
    worst = EvalStatus.FAILED if totals.failed else EvalStatus.NOT_EVALUATED
    sign = SIGNS[EvalStatus.PASSED if fine else worst]
    name = escaped(result.eval_set.eval_set_id)
    yield f"## {sign} {name}: {totals.passed} of {count(totals.cases, 'case')} passed"
    yield ""
    told = [f"{totals.failed} failed", f"{totals.not_evaluated} not evaluated"]
    told += [f"{totals.flaky} flaky"] if totals.flaky else []
    told += [count(totals.crashed_runs, "crashed run")] if totals.crashed_runs else []
    yield f"{', '.join(told)}; agent {escaped(result.agent.name)}; {duration(totals.duration_seconds)}"
    for warning in warnings(result):
        yield f"\n{SIGNS[EvalStatus.NOT_EVALUATED]} {escaped(warning)}"
    if result.stopped:
        yield f"\n{SIGNS[EvalStatus.NOT_EVALUATED]} {escaped(result.stopped)}"
    for cause in result.causes[:MAX_CAUSES]:
        yield f"\n**All cases:** {cause.code}: {escaped(cause.seen)}  \n**Change:** {escaped(cause.change)}"


def _body(result: EvalResult, room: int) -> str:
    failed = [case for case in result.cases if case.verdict is not EvalStatus.PASSED]
    passed = [case for case in result.cases if case.verdict is EvalStatus.PASSED]
    told, left_out = _fitting(("\n".join(_why(case)) for case in failed), room)
    room -= sum(map(len, told))
    parts = [*told]
    if left_out:
        parts.append(f"_{count(left_out, 'more case')} that did not pass not listed here._")
    rows, left_out = _fitting((_row(case) for case in passed), room)
    if rows:
        parts.append(f"<details><summary>{count(len(passed), 'case')} passed</summary>")
        parts.append("\n".join(["| Case | Runs | Scores |", "|---|---|---|", *rows]))
        if left_out:
            parts.append(f"_{left_out} more._")
        parts.append("</details>")
    return "\n\n".join(parts)


def _fitting(pieces: Iterator[str], room: int) -> tuple[list[str], int]:
    """As many pieces as there is room for, and how many are left."""
    taken: list[str] = []
    for piece in pieces:
        room -= len(piece) + 2
        if room < 0:
            return taken, 1 + sum(1 for _ in pieces)
        taken.append(piece)
    return taken, 0


def _why(case: CaseResult) -> Iterator[str]:
    runs = f" {_runs(case)}" if case.attempts > 1 else ""
    yield f"### {SIGNS[case.verdict]} {escaped(case.eval_id)}{runs}"
    yield ""
    for finding in findings(case):
        yield f"- **{escaped(finding.text)}**"
        for cause in finding.causes[:MAX_CAUSES]:
            runs = seen_in(cause, case.attempts)
            yield f"  - {cause.code}: {escaped(cause.seen)}" + (f" ({runs})" if runs else "")
            yield f"    <br>Change: {escaped(cause.change)}"


def _row(case: CaseResult) -> str:
    scores = ", ".join(
        f"{MARKS[metric.status]} {against(metric.score, metric.threshold)} {escaped(metric.metric_name)}"
        for metric in case.metrics
        if metric.status is not EvalStatus.INFORMATIONAL
    )
    return f"| {escaped(case.eval_id)} | {_runs(case)} | {scores} |"


def _runs(case: CaseResult) -> str:
    """How many of the scored runs passed, and how sure that is."""
    told = f"{case.passed}/{case.scored}"
    if case.attempts > 1 and case.interval:
        told += f" (95 %: {number(case.interval[0])} to {number(case.interval[1])})"
    told += f", {case.crashed} crashed" if case.crashed else ""
    return told + (", flaky" if case.flaky else "")
