"""`agent-eval baseline`: the results that a project keeps beside its eval sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_eval.cli.options import DebugFlag, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode, InputError, Problem

if TYPE_CHECKING:
    from agent_eval.schema.result import EvalResult

SET_EPILOG = """Examples:

agent-eval baseline set latest

agent-eval baseline set .agent_eval/results/orders/20260131T093000250Z-1a2b3c4d.json

It is kept to be committed: orders.baseline.json beside orders.evalset.json. `agent-eval compare
baseline latest` compares with it."""


def set_(
    result: Annotated[
        str,
        typer.Argument(help="The result to keep, named as for `compare`; `latest` is that of each eval set."),
    ],
    evalset: Annotated[
        str | None,
        typer.Option(
            "--evalset", help="The eval set that it is kept beside, where the result does not tell."
        ),
    ] = None,
    results: Annotated[
        str | None, typer.Option("--results", help="Folder for results, else .agent_eval/results.")
    ] = None,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Keep a result as the baseline of its eval set."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.baselines import baseline_path, set_baseline
        from agent_eval.references import BASELINE, resolved
        from agent_eval.report.console import print_line

        if result == BASELINE:
            raise InputError(Problem("`baseline` is the baseline already", hint="name a result"))
        found = resolved(result, folder=results)
        if evalset and len(found) > 1:
            raise InputError(Problem(f"`{result}` names {len(found)} results, and --evalset is one eval set"))
        paths = [baseline_path(evalset or one.result.eval_set.path, str(one.path)) for one in found]
        for stored, path in zip(found, paths, strict=True):
            set_baseline(stored.result, path)
            print_line(out.report, _told(stored.result, path))
        if json_output:
            out.json({"exit_code": 0, "baselines": [str(path) for path in paths]})
        out.exit(ExitCode.PASSED)


def show(
    evalset: Annotated[
        str | None,
        typer.Argument(metavar="EVALSET", help="An eval set; without it, every baseline of the project."),
    ] = None,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Show the baselines that are kept, as the tables that `run` printed."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.baselines import baseline_path
        from agent_eval.cli.results import document
        from agent_eval.references import BASELINE, resolved
        from agent_eval.report.console import print_line, print_result

        name = str(baseline_path(evalset, evalset)) if evalset else BASELINE
        found = resolved(name, folder=None)
        if json_output:
            out.json(document(found, ExitCode.PASSED))
        for stored in found:
            print_result(out.report, stored.result)
            print_line(out.report, _told(stored.result, stored.path), "dim")
        out.exit(ExitCode.PASSED)


def _told(result: EvalResult, path: Path) -> str:
    """What a baseline is: where it is kept, and which result of which commit."""
    from agent_eval.report.text import printable

    commit = result.provenance.git_commit
    of = f" of commit {commit[:12]}" if commit else ""
    changed = " with uncommitted changes" if result.provenance.git_dirty else ""
    totals = result.totals
    said = f"{totals.passed} of {totals.cases} cases passed"
    return printable(f"{path}: result {result.result_id}{of}{changed}, {said}")
