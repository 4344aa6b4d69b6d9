"""Results as tables and as one JSON document, for every command that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_eval.errors import ExitCode

if TYPE_CHECKING:
    from agent_eval.cli.output import Output
    from agent_eval.schema.result import RunRecord
    from agent_eval.stored import Stored


@dataclass(frozen=True, slots=True)
class View:
    """How much is shown."""

    quiet: bool = False
    json: bool = False
    detailed: bool = False


def exit_code(results: Sequence[Stored]) -> ExitCode:
    """What the verdicts mean for the caller."""
    totals = [one.result.totals for one in results]
    if any(one.failed for one in totals):
        return ExitCode.FAILED
    return ExitCode.NOT_EVALUATED if any(one.not_evaluated for one in totals) else ExitCode.PASSED


def show(results: Sequence[Stored], view: View, code: ExitCode, out: Output) -> None:
    """The JSON document, if it is wanted, and the report."""
    if view.json:
        out.json(document(results, code))
    _report(results, view, out)


def _report(results: Sequence[Stored], view: View, out: Output) -> None:
    from agent_eval.report import console as report

    console = out.report
    if view.quiet:
        report.print_totals(console, [one.result for one in results])
        return
    for one in results:
        report.print_result(console, one.result)
        failed = one.result.totals.passed < one.result.totals.cases or one.result.totals.crashed_runs
        if view.detailed or failed:
            from agent_eval.report import failures

            if view.detailed:
                failures.print_details(console, one.records())
            if failed:
                failures.print_failures(console, one.result, _unpassed(one))
        report.print_line(console, f"Result: {one.path}", "dim")
        for path in one.adk_results:
            if path != one.path:
                report.print_line(console, f"ADK result: {path}", "dim")
    if len(results) > 1:
        console.print()
        report.print_totals(console, [one.result for one in results])


def _unpassed(one: Stored) -> Iterable[RunRecord]:
    """Records of the cases that did not pass or had a crash, one at a time from the journal."""
    from agent_eval.schema.trace import EvalStatus

    wanted = {
        case.eval_id for case in one.result.cases if case.verdict is not EvalStatus.PASSED or case.crashed
    }
    return (record for record in one.records() if record.eval_id in wanted)


def document(results: Sequence[Stored], code: ExitCode) -> dict[str, Any]:
    """All results as one document: what each eval set was, and the cases of all."""
    found = [one.result.model_dump(mode="json", by_alias=False) for one in results]
    cases = [case for result in found for case in result.pop("cases")]
    for one, result in zip(results, found, strict=True):
        result["files"] = _files(one)
    return {
        "exit_code": int(code),
        "totals": _sum([result["totals"] for result in found]),
        "results": found,
        "cases": cases,
    }


def _files(one: Stored) -> dict[str, Any]:
    """The files of a result by what they are: those there are."""
    files: dict[str, Any] = {}
    if one.path not in (one.journal, *one.adk_results):
        files["summary"] = str(one.path)
    if one.journal:
        files["journal"] = str(one.journal)
    if one.adk_results:
        files["adk_results"] = [str(path) for path in one.adk_results]
    return files


def _sum(totals: list[dict[str, Any]]) -> dict[str, Any]:
    keys = ("cases", "passed", "failed", "not_evaluated", "flaky", "crashed_runs", "retries", "saved_runs")
    return {key: sum(one[key] for one in totals) for key in keys}
