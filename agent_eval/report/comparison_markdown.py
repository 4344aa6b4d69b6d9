"""A comparison as Markdown, for pull requests and summaries of CI jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_eval.compare.comparison import CaseChange, Change, Comparison
from agent_eval.report.comparison import (
    MAX_GOALPOST,
    conditions,
    listed_cases,
    noise_texts,
    runs_text,
    score_line,
    suite_lines,
)
from agent_eval.report.markdown import escaped
from agent_eval.report.text import count, shortened

ARROW = "→"


def comparison_markdown(comparisons: Sequence[Comparison]) -> str:
    """All comparisons, one after the other."""
    return "\n\n".join("\n".join(_lines(comparison)) for comparison in comparisons) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"### {escaped(comparison.eval_set_id)}: {_counts(comparison)}"
    yield ""
    yield f"{escaped(comparison.baseline)} {ARROW} {escaped(comparison.candidate)}"
    if comparison.goalposts:
        yield ""
        yield "| goalpost | before | after |"
        yield "|---|---|---|"
        for change in comparison.goalposts:
            yield _row(change.what, *(shortened(one, MAX_GOALPOST) for one in (change.before, change.after)))
    told = list(conditions(comparison))
    if told:
        yield ""
        yield from (escaped(line) for line in told)
    listed = listed_cases(comparison)
    if listed:
        yield ""
        yield "| change | case | verdict | runs | scores |"
        yield "|---|---|---|---|---|"
        yield from map(_case, listed)
    hidden = len(comparison.cases) - len(listed)
    if hidden:
        yield ""
        yield f"{count(hidden, 'unchanged case')} not listed"
    for line in suite_lines(comparison.suite, ARROW):
        yield ""
        yield escaped(line)


def _counts(comparison: Comparison) -> str:
    said = [f"{amount} {change.value}" for change, amount in comparison.counts.items() if amount]
    return ", ".join(said) or f"0 {Change.UNCHANGED.value}"


def _case(case: CaseChange) -> str:
    verdicts = dict.fromkeys(verdict.value for verdict in (case.before, case.after) if verdict)
    runs = ", ".join([runs_text(case, ARROW), *noise_texts(case)])
    scores = "; ".join(
        [*([case.note] if case.note else []), *(score_line(one, ARROW) for one in case.scores)]
    )
    change = f"**{case.change.value}**" if case.change is Change.REGRESSED else case.change.value
    return f"| {change} {_row(case.eval_id, f' {ARROW} '.join(verdicts), runs, scores)}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"
