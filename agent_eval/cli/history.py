"""`agent-eval history`: verdicts and pass rates over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_eval.cli.completion import complete_kept
from agent_eval.cli.options import DebugFlag, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode, InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from agent_eval.schema.result import EvalResult

EPILOG = """Examples:

agent-eval history

agent-eval history orders --last 5

agent-eval history orders.evalset.json --json | jq '.history[].results[].totals.passed'

The sparkline has a block for each result: how many of the scored runs passed."""


def history(
    eval_set: Annotated[
        str | None,
        typer.Argument(
            metavar="[EVALSET]",
            help="Its id or its file. Without: every eval set with results.",
            show_default=False,
            autocompletion=complete_kept,
        ),
    ] = None,
    last: Annotated[int, typer.Option("--last", min=1, metavar="N", help="Results to show of each.")] = 20,
    output: Annotated[
        str | None, typer.Option("--output", help="Folder of the results, else .agent_eval/results.")
    ] = None,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Show verdicts and pass rates of earlier results, oldest first."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.report.history import print_history

        found = _found(eval_set, output, last, out)
        if json_output:
            out.json({"history": [_document(results) for results in found]})
        for results in found:
            print_history(out.report, results)
        out.exit(ExitCode.PASSED)


def _found(eval_set: str | None, output: str | None, last: int, out: Output) -> list[list[EvalResult]]:
    """The results of each eval set, oldest first. A file that cannot be read is told and passed over.

    Raises:
        InputError: there is none.
    """
    from agent_eval.store.history import homes, summaries
    from agent_eval.store.results import read_result
    from agent_eval.store.summary import DEFAULT_FOLDER, safe_name

    folder = Path(output or DEFAULT_FOLDER)
    kept = homes(folder)
    wanted = safe_name(_eval_set_id(eval_set)) if eval_set else None
    found = []
    for name, home in kept.items():
        results = []
        for path in summaries(home)[-last:] if wanted in (None, name) else []:
            try:
                results.append(read_result(path))
            except InputError as error:
                out.note(f"passed over: {error}")
        if results:
            found.append(results)
    if not found:
        what = f"no result of `{wanted}` in {folder}" if wanted else f"no result in {folder}"
        hint = did_you_mean(wanted, kept) if wanted else "`agent-eval run` leaves them"
        raise InputError(Problem(f"there is {what}", hint=hint))
    return found


def _eval_set_id(named: str) -> str:
    if not Path(named).is_file():
        return named
    from agent_eval.inputs.evalsets import load_eval_set

    return load_eval_set(Path(named)).eval_set.eval_set_id


def _document(results: list[EvalResult]) -> dict[str, Any]:
    return {
        "eval_set_id": results[0].eval_set.eval_set_id,
        "results": [
            {
                "result_id": result.result_id,
                "created": result.created,
                "git_commit": result.provenance.git_commit,
                "totals": result.totals.model_dump(mode="json", by_alias=False),
                "cases": [
                    {
                        "eval_id": case.eval_id,
                        "verdict": case.verdict.value,
                        "pass_rate": case.pass_rate,
                        "interval": case.interval,
                    }
                    for case in result.cases
                ],
            }
            for result in results
        ],
    }
