"""`agent-eval report`: a stored result as `run` showed it."""

from __future__ import annotations

from typing import Annotated

import typer

from agent_eval.cli.completion import complete_results
from agent_eval.cli.options import (
    CodeQualityFile,
    DebugFlag,
    DetailsFlag,
    HtmlFile,
    JsonFlag,
    JunitFile,
    MarkdownFile,
)
from agent_eval.cli.output import Output
from agent_eval.cli.reports import STDOUT, ReportFiles, write_reports
from agent_eval.cli.results import View, show
from agent_eval.errors import ExitCode

EPILOG = """Examples:

agent-eval report latest

agent-eval report .agent_eval/results/orders/20260131T093000250Z-1a2b3c4d.json

agent-eval report my_agent/.adk/eval_history/my_agent_orders_1796053710.97.evalset_result.json

agent-eval report result.json --html result.html --junit-xml junit.xml

The exit code is 0 for every result that can be read, whatever it says."""


def report(
    result: Annotated[
        str,
        typer.Argument(
            help="A summary, a journal, a result file of ADK, a folder of results, `latest`, `previous`, "
            "`baseline` or `git:REF`.",
            autocompletion=complete_results,
        ),
    ],
    html: HtmlFile = None,
    junit_xml: JunitFile = None,
    markdown: MarkdownFile = None,
    codequality: CodeQualityFile = None,
    print_detailed_results: DetailsFlag = False,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Show a stored result: the tables that `run` prints."""
    reports = {"html": html, "junit_xml": junit_xml, "markdown": markdown, "codequality": codequality}
    with Output(json=json_output, stdout_taken=STDOUT in reports.values(), debug=debug) as out:
        from agent_eval.references import resolved

        view = View(json=json_output, detailed=print_detailed_results)
        files = ReportFiles.of(json=json_output, **reports)
        results = resolved(result, folder=None)
        files = files.prepared()
        for stored in results:
            if stored.journal is None and not stored.kept:
                out.note(f"{stored.path}: its journal is not beside it, so there are no turns to show")
        show(results, view, ExitCode.PASSED, out)
        for error in write_reports(results, files):
            raise error
        out.exit(ExitCode.PASSED)
