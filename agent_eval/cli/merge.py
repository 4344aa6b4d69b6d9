"""`agent-eval merge`: the results of shards as one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from agent_eval.cli.options import (
    CodeQualityFile,
    DebugFlag,
    DetailsFlag,
    HtmlFile,
    JsonFlag,
    JunitFile,
    MarkdownFile,
)
from agent_eval.cli.output import Output, command_line
from agent_eval.cli.reports import STDOUT, ReportFiles, tell_ci, write_reports
from agent_eval.cli.results import View, exit_code, show
from agent_eval.errors import ExitCode

EPILOG = """Examples:

agent-eval merge shard-1 shard-2 shard-3

agent-eval merge artifacts --output merged --junit-xml junit.xml

The exit code is that of `run` with all the cases; 3 at best where some are missing."""


def merge(
    results: Annotated[
        list[str],
        typer.Argument(help="Results made with `run --shard`: summaries, or folders that hold them."),
    ],
    allow_missing: Annotated[
        bool, typer.Option("--allow_missing", help="Merge what is there, even if a shard is not.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("--output", help="Folder for results, else .agent_eval/results.")
    ] = None,
    html: HtmlFile = None,
    junit_xml: JunitFile = None,
    markdown: MarkdownFile = None,
    codequality: CodeQualityFile = None,
    print_detailed_results: DetailsFlag = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line with the totals.")] = False,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Join the results of shards: one result an eval set, as one evaluation would have it."""
    view = View(quiet=quiet, json=json_output, detailed=print_detailed_results)
    reports = {"html": html, "junit_xml": junit_xml, "markdown": markdown, "codequality": codequality}
    with Output(json=json_output, stdout_taken=STDOUT in reports.values(), debug=debug) as out:
        from agent_eval.merging import merge as merged
        from agent_eval.merging import plan_merge

        files = ReportFiles.of(json=json_output, **reports).prepared()
        plan = plan_merge(results, allow_missing=allow_missing)
        for warning in plan.warnings:
            out.note(f"warning: {warning}")
        found = merged(plan, output=output, command=command_line(sys.argv))
        code = exit_code(found)
        if plan.missing and code is ExitCode.PASSED:
            code = ExitCode.NOT_EVALUATED
        show(found, view, code, out)
        for unwritten in [*write_reports(found, files), *tell_ci(found, files, out)]:
            out.note(f"error: a report cannot be written: {unwritten}; the result is kept")
        out.exit(code)
