"""`agent-eval compare`: what changed between two results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_eval.cli.options import DebugFlag, HtmlFile, JsonFlag, MarkdownFile
from agent_eval.cli.output import Output
from agent_eval.cli.reports import STDOUT, ReportFiles, write_comparison
from agent_eval.compare.gate import Gate
from agent_eval.errors import ExitCode

if TYPE_CHECKING:
    from agent_eval.compare.comparison import Comparison

EPILOG = """Examples:

agent-eval compare previous latest

agent-eval compare baseline latest --fail-on noise-excluded

agent-eval compare git:main git:HEAD --markdown comparison.md

agent-eval compare before.json after.json --json | jq '.cases[] | select(.change == "regressed")'"""

REFERENCE = (
    "A result: a summary, a journal, a result file of ADK, a folder of results, `latest`, `previous`, "
    "`baseline`, or `git:REF` for the latest one made from that commit."
)


def compare(
    baseline: Annotated[str, typer.Argument(help=REFERENCE)],
    candidate: Annotated[
        str, typer.Argument(help="The result that may be better or worse, named in the same ways.")
    ] = "latest",
    fail_on: Annotated[
        Gate,
        typer.Option(
            "--fail_on",
            metavar="regression|any-drop|noise-excluded",
            help="Exit 1 on a regression, on anything that is worse, or on regressions beyond noise.",
        ),
    ] = Gate.REGRESSION,
    exit_zero: Annotated[
        bool, typer.Option("--exit_zero", help="Only look: exit 0 on a regression.")
    ] = False,
    evalset: Annotated[
        list[str] | None,
        typer.Option("--evalset", help="Of several eval sets only that with this id; may be repeated."),
    ] = None,
    results: Annotated[
        str | None, typer.Option("--results", help="Folder for results, else .agent_eval/results.")
    ] = None,
    markdown: MarkdownFile = None,
    html: HtmlFile = None,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Compare two results: what else changed, then regressions, and what of it is noise."""
    reports = {"html": html, "markdown": markdown}
    with Output(json=json_output, stdout_taken=STDOUT in reports.values(), debug=debug) as out:
        from agent_eval.compare.comparison import compare as compared
        from agent_eval.references import paired
        from agent_eval.report.comparison import print_comparison

        files = ReportFiles.of(json=json_output, **reports).prepared()
        found = paired(baseline, candidate, folder=results, eval_sets=evalset or ())
        for note in found.notes:
            out.note(f"note: {note}")
        comparisons = [compared(pair.baseline.result, pair.candidate.result) for pair in found.pairs]
        failed = any(comparison.fails(fail_on) for comparison in comparisons)
        code = ExitCode.FAILED if failed and not exit_zero else ExitCode.PASSED
        if json_output:
            out.json(_document(comparisons, code))
        for number, comparison in enumerate(comparisons):
            print_comparison(out.report, comparison, named=len(comparisons) > 1, first=number == 0)
        for error in write_comparison(comparisons, files):
            raise error
        out.exit(code)


def _document(comparisons: list[Comparison], code: ExitCode) -> dict[str, Any]:
    """All comparisons as one document: what each was of, and the cases of all."""
    found = [one.model_dump(mode="json", by_alias=False) for one in comparisons]
    cases = [
        {"eval_set_id": comparison["eval_set_id"], **case}
        for comparison in found
        for case in comparison.pop("cases")
    ]
    counts: dict[str, int] = {}
    for comparison in found:
        for change, amount in comparison["counts"].items():
            counts[change] = counts.get(change, 0) + amount
    return {"exit_code": int(code), "counts": counts, "comparisons": found, "cases": cases}
