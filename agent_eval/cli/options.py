"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

JsonFlag = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout, everything else on stderr.")
]
DebugFlag = Annotated[bool, typer.Option("--debug", help="Show the traceback of a bug in agent-eval.")]
DetailsFlag = Annotated[bool, typer.Option("--print_detailed_results", help="Show every turn of every run.")]

REPORTS = "Reports (`-` for FILE is stdout)"
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

NoCustomCode = Annotated[
    bool,
    typer.Option(
        "--no_custom_code",
        metavar="",
        help="Import no code that configs or cases name: refuse those that do.",
    ),
]

JUDGES = "Judges"
"""The part of --help about the models behind judged metrics."""

JudgeParallelism = Annotated[
    int,
    typer.Option(
        "--judge_parallelism", min=1, metavar="N", help="Judge calls at once.", rich_help_panel=JUDGES
    ),
]
MaxJudgeCalls = Annotated[
    int | None,
    typer.Option(
        "--max_judge_calls",
        min=0,
        metavar="N",
        help="Judge calls in all; what is left is not evaluated.",
        rich_help_panel=JUDGES,
    ),
]
JudgeCacheFlag = Annotated[
    bool,
    typer.Option(
        "--judge_cache/--no_judge_cache",
        metavar="",
        show_default=False,
        help="Ask no judge again what it has answered; the default.",
        rich_help_panel=JUDGES,
    ),
]
NoPreflight = Annotated[
    bool,
    typer.Option(
        "--no_preflight",
        metavar="",
        help="Do not ask each judge one tiny question before anything else.",
        rich_help_panel=JUDGES,
    ),
]
