"""The page of results: an index that is read at once, and what each case holds, read when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_eval.aggregate.verdict import merge_statuses
from agent_eval.printable import printable
from agent_eval.report.console import warnings
from agent_eval.report.html.page import block, embedded, page
from agent_eval.report.html.runs import Data, clipped, rules_of, run_data
from agent_eval.schema.result import (
    CaseMetric,
    CaseResult,
    Cause,
    EvalResult,
    RunRecord,
    RunStatus,
    RunSummary,
)
from agent_eval.schema.trace import EvalStatus

MAX_RUNS = 24_000_000
"""Characters of all runs in a page. Runs of cases that did not pass come first; the page says which are
left out, and that the journal has them."""
BINS = 20
"""Bars of a distribution."""

CRASHED = "CRASHED"
"""Beside the statuses: a square of a run that crashed."""


@dataclass(frozen=True, slots=True)
class Source:
    """A result to show, and its run records."""

    result: EvalResult
    records: Callable[[], Iterable[RunRecord]]
    """Gives them one at a time, anew at each call."""
    path: str
    """The file that has everything, for what the page leaves out."""


def result_page(sources: Sequence[Source]) -> bytes:
    """One page with every case of these results."""
    cases = [(number, case) for number, source in enumerate(sources) for case in source.result.cases]
    runs = _runs(sources)
    index = {
        "results": [_result(source) for source in sources],
        "cases": [_case_row(number, case) for number, case in cases],
    }
    blocks = [block("index", embedded(index))]
    blocks += [
        block(f"case-{place}", _case_block(case, runs.get((number, case.eval_id), {})))
        for place, (number, case) in enumerate(cases)
    ]
    names = ", ".join(source.result.eval_set.eval_set_id for source in sources)
    return page(f"{names}: agent-eval", blocks, "result.js")


def _runs(sources: Sequence[Source]) -> dict[tuple[int, str], dict[int, str]]:
    """The runs of each case as embedded JSON, until the page is full."""
    found: dict[tuple[int, str], dict[int, str]] = {}
    room = MAX_RUNS
    for of_passed in (False, True):
        for number, source in enumerate(sources):
            wanted = {case.eval_id for case in source.result.cases if _is_fine(case) is of_passed}
            rules = rules_of(source.result.config.criteria)
            for record in source.records() if wanted else ():
                if record.eval_id not in wanted:
                    continue
                text = embedded(run_data(record, rules))
                if len(text) > room:
                    return found
                room -= len(text)
                found.setdefault((number, record.eval_id), {})[record.run_index] = text
    return found


def _is_fine(case: CaseResult) -> bool:
    return case.verdict is EvalStatus.PASSED and not case.flaky and not case.crashed


def _result(source: Source) -> Data:
    result = source.result
    return {
        "id": printable(result.result_id),
        "created": result.created,
        "evalSet": printable(result.eval_set.eval_set_id),
        "agent": printable(result.agent.name),
        "path": printable(source.path),
        "totals": result.totals.model_dump(mode="json"),
        "stopped": clipped(result.stopped) if result.stopped else None,
        "warnings": [clipped(warning) for warning in warnings(result)],
        "causes": _causes(result.causes),
        "facts": _facts(result),
        "distributions": _distributions(result.cases),
    }


def _facts(result: EvalResult) -> list[tuple[str, str]]:
    """What is needed to run the same again, by name; what is not known is left out."""
    provenance = result.provenance
    commit = provenance.git_commit
    facts = [
        ("Result", result.result_id),
        ("Eval set", result.eval_set.path),
        ("Agent", result.agent.reference),
        ("Config", result.config.path or "default config"),
        ("Command", provenance.command),
        ("Commit", f"{commit} with changes" if commit and provenance.git_dirty else commit),
        ("Seed", str(provenance.seed)),
        ("Packages", ", ".join(f"{name} {version}" for name, version in provenance.packages.items())),
    ]
    return [(name, printable(text)) for name, text in facts if text]


def _distributions(cases: Sequence[CaseResult]) -> list[Data]:
    """For each metric that gates: how many runs have which score."""
    names = dict.fromkeys(
        metric.metric_name
        for case in cases
        for metric in case.metrics
        if metric.status is not EvalStatus.INFORMATIONAL
    )
    return [found for name in names if (found := _distribution(name, cases))]


def _distribution(name: str, cases: Sequence[CaseResult]) -> Data | None:
    scores = [
        (run.metrics[name].score, run.metrics[name].status)
        for case in cases
        for run in case.runs
        if name in run.metrics
    ]
    known = [(score, status) for score, status in scores if score is not None]
    if not known:
        return None
    low = min(0.0, *(score for score, _ in known))
    high = max(1.0, *(score for score, _ in known))
    bins = [{"passed": 0, "failed": 0} for _ in range(BINS)]
    for score, status in known:
        at = min(int((score - low) / (high - low) * BINS), BINS - 1)
        bins[at]["passed" if status is EvalStatus.PASSED else "failed"] += 1
    thresholds = {
        metric.threshold for case in cases for metric in case.metrics if metric.metric_name == name
    } - {None}
    return {
        "name": printable(name),
        "low": low,
        "high": high,
        "bins": bins,
        "threshold": thresholds.pop() if len(thresholds) == 1 else None,
        "scored": len(known),
        "unscored": len(scores) - len(known),
    }


def _case_row(number: int, case: CaseResult) -> Data:
    """What the list shows of a case."""
    return {
        "result": number,
        "id": printable(case.eval_id),
        "verdict": case.verdict.value,
        "flaky": case.flaky,
        "attempts": case.attempts,
        "scored": case.scored,
        "passed": case.passed,
        "crashed": case.crashed,
        "rate": case.pass_rate,
        "interval": case.interval,
        "seconds": sum(run.seconds for run in case.runs),
        "runs": [[run.run_index, _square(run)] for run in case.runs],
        "metrics": [
            [printable(metric.metric_name), metric.score, metric.threshold, metric.status.value]
            for metric in case.metrics
            if metric.status is not EvalStatus.INFORMATIONAL
        ],
    }


def _square(run: RunSummary) -> str:
    if run.status is RunStatus.CRASHED:
        return CRASHED
    return merge_statuses(score.status for score in run.metrics.values()).value


def _case_block(case: CaseResult, runs: dict[int, str]) -> str:
    told: Data = {
        "reasons": [clipped(reason) for reason in case.reasons],
        "causes": _causes(case.causes),
        "metrics": [_case_metric(metric, case) for metric in case.metrics],
        "passAtK": case.pass_at_k,
        "passHatK": case.pass_hat_k,
        "requiredPassRate": case.required_pass_rate,
        "saved": case.saved,
        "retries": case.retries,
        "errors": {
            run.run_index: {"type": printable(run.error.type), "message": clipped(run.error.message)}
            for run in case.runs
            if run.error
        },
    }
    shown = ",".join(f'"{index}":{text}' for index, text in sorted(runs.items()))
    return f'{{"case":{embedded(told)},"runs":{{{shown}}}}}'


def _case_metric(metric: CaseMetric, case: CaseResult) -> Data:
    return {
        "name": printable(metric.metric_name),
        "method": metric.method,
        "score": metric.score,
        "threshold": metric.threshold,
        "status": metric.status.value,
        "passed": metric.passed,
        "scored": metric.scored,
        "interval": metric.interval,
        "perRun": metric.per_run,
        "reason": clipped(metric.reason) if metric.reason else None,
        "warnings": [clipped(warning) for warning in metric.warnings],
        "causes": [] if metric.causes == case.causes else _causes(metric.causes),
    }


def _causes(causes: Sequence[Cause]) -> list[dict[str, Any]]:
    return [
        {
            "code": cause.code,
            "seen": clipped(cause.seen),
            "change": clipped(cause.change),
            "runs": [index + 1 for index in cause.runs],
        }
        for cause in causes
    ]
