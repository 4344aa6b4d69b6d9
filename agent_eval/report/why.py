"""Why a case did not pass, in plain text: what every report says of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_eval.report.text import against, ranges
from agent_eval.schema.result import CaseResult, Cause
from agent_eval.schema.trace import EvalStatus


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that kept a case from passing, and what may be behind it."""

    text: str
    causes: tuple[Cause, ...] = ()


def findings(case: CaseResult) -> list[Finding]:
    """What to say of a case: reasons, crashes, metrics without a score, metrics that failed."""
    found = [Finding(reason) for reason in case.reasons]
    crashed = list(crashes(case))
    found += [Finding(line) for line in crashed[:-1]]
    found += [Finding(line, tuple(case.causes)) for line in crashed[-1:]]
    for metric in case.metrics:
        causes = () if metric.causes == case.causes else tuple(metric.causes)
        if metric.status is EvalStatus.NOT_EVALUATED and case.crashed < case.attempts:
            found.append(Finding(f"{metric.metric_name}: {metric.reason}", causes))
        elif metric.status is EvalStatus.FAILED:
            found.append(Finding(f"{metric.metric_name}  {against(metric.score, metric.threshold)}", causes))
    return found


def headline(case: CaseResult) -> str:
    """The most likely cause, or else the first thing there is to say; empty if there is nothing."""
    found = findings(case)
    causes = [cause for finding in found for cause in finding.causes]
    if causes:
        return f"{causes[0].code}: {causes[0].seen}"
    return found[0].text if found else ""


def crashes(case: CaseResult) -> Iterator[str]:
    """Each error once, with the runs it ended."""
    runs: dict[tuple[str, str], list[int]] = {}
    for run in case.runs:
        if run.error:
            runs.setdefault((run.error.type, run.error.message), []).append(run.run_index + 1)
    for (kind, message), numbers in runs.items():
        which = f"{'runs' if len(numbers) > 1 else 'run'} {ranges(numbers)}"
        yield f"{which if case.attempts > 1 else 'the run'} crashed: {kind}: {message}"


def seen_in(cause: Cause, attempts: int) -> str:
    """The runs a cause was seen in, `runs 2-3 of 5`; empty where that is all of them."""
    if not cause.runs or len(cause.runs) >= attempts:
        return ""
    numbers = [index + 1 for index in cause.runs]
    return f"{'runs' if len(numbers) > 1 else 'run'} {ranges(numbers)} of {attempts}"
