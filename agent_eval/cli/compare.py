"""`agent-eval compare`: what changed between two results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_eval.cli.options import DebugFlag, HtmlFile, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.cli.reports import write_comparison_page
from agent_eval.errors import ExitCode

EPILOG = """Examples:

agent-eval compare before.json after.json

agent-eval compare before.json after.json --json | jq '.cases[] | select(.change == "regressed")'"""


def compare(
    baseline: Annotated[
        str,
        typer.Argument(help="The result to compare with: a summary, a journal, or a result file of ADK."),
    ],
    candidate: Annotated[str, typer.Argument(help="The result that may be better or worse.")],
    exit_zero: Annotated[
        bool, typer.Option("--exit_zero", help="Only look: exit 0 on a regression.")
    ] = False,
    html: HtmlFile = None,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Compare two results: regressions first, and what else differs before any score."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.compare.comparison import compare as compared
        from agent_eval.report.comparison import print_comparison
        from agent_eval.stored import read_stored

        comparison = compared(read_stored(Path(baseline)).result, read_stored(Path(candidate)).result)
        code = ExitCode.FAILED if comparison.has_regressed and not exit_zero else ExitCode.PASSED
        if json_output:
            out.json({"exit_code": int(code), **comparison.model_dump(mode="json", by_alias=False)})
        print_comparison(out.report, comparison)
        if html:
            write_comparison_page([comparison], Path(html))
        out.exit(code)
