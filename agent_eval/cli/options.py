"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

JsonFlag = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout, everything else on stderr.")
]
DebugFlag = Annotated[bool, typer.Option("--debug", help="Show the traceback of a bug in agent-eval.")]
DetailsFlag = Annotated[bool, typer.Option("--print_detailed_results", help="Show every turn of every run.")]

REPORTS = "Reports"
"""The part of --help about files with the result in other forms."""
HtmlFile = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE", help="Write one HTML page.", rich_help_panel=REPORTS),
]
JunitFile = Annotated[
    str | None,
    typer.Option("--junit_xml", metavar="FILE", help="Write JUnit XML.", rich_help_panel=REPORTS),
]
MarkdownFile = Annotated[
    str | None,
    typer.Option("--markdown", metavar="FILE", help="Write Markdown.", rich_help_panel=REPORTS),
]
CodeQualityFile = Annotated[
    str | None,
    typer.Option(
        "--codequality", metavar="FILE", help="Write GitLab's code quality JSON.", rich_help_panel=REPORTS
    ),
]
