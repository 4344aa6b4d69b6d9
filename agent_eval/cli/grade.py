"""`agent-eval grade`: stored runs scored again, without running the agent."""

from __future__ import annotations

import asyncio
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from agent_eval.cli.options import (
    DebugFlag,
    DetailsFlag,
    JsonFlag,
    JudgeCacheFlag,
    JudgeParallelism,
    MaxJudgeCalls,
    NoCustomCode,
    NoPreflight,
)
from agent_eval.cli.output import Output, command_line
from agent_eval.cli.results import View, exit_code, show
from agent_eval.errors import ExitCode, InputError, Problem
from agent_eval.garbage import collect_less_garbage

if TYPE_CHECKING:
    from agent_eval.grading import Graded, Grading

EPILOG = """Examples:

agent-eval grade latest --config new.json

agent-eval grade my_agent/.adk/eval_history/orders_1796053710.97.evalset_result.json --config new.json

agent-eval grade traces.json --config new.json --evalset orders.evalset.json

The result is one like those of `run`, so that `agent-eval compare previous latest` tells what changed."""


def grade(
    result: Annotated[
        str,
        typer.Argument(
            help="The runs: a summary or journal, a result file of ADK, traces of "
            "`agents-cli eval generate`, or a name that `compare` knows."
        ),
    ],
    config: Annotated[
        str, typer.Option("--config", "--config_file_path", help="The eval config to score by.")
    ],
    evalset: Annotated[
        str | None,
        typer.Option(
            "--evalset",
            help="The eval set to score by; without it, what was expected when the runs were made.",
        ),
    ] = None,
    parallelism: Annotated[int, typer.Option("--parallelism", min=1, help="Runs scored at once.")] = 4,
    metric_timeout: Annotated[
        float, typer.Option("--metric_timeout", min=0.001, help="Seconds a metric may take for one run.")
    ] = 120.0,
    env_file: Annotated[
        str | None, typer.Option("--env_file", help="Environment for judges; what is set already wins.")
    ] = None,
    judge_parallelism: JudgeParallelism = 16,
    max_judge_calls: MaxJudgeCalls = None,
    judge_cache: JudgeCacheFlag = True,
    no_preflight: NoPreflight = False,
    no_custom_code: NoCustomCode = False,
    output: Annotated[
        str | None, typer.Option("--output", help="Folder for results, else .agent_eval/results.")
    ] = None,
    print_detailed_results: DetailsFlag = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line with the totals.")] = False,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Score stored runs again by another config, without running the agent."""
    view = View(quiet=quiet, json=json_output, detailed=print_detailed_results)
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.grading import GradeOptions, plan_grading
        from agent_eval.options import JudgeOptions
        from agent_eval.references import resolved

        found = resolved(result, folder=output)
        if len(found) > 1:
            names = ", ".join(str(one.path) for one in found)
            raise InputError(Problem(f"`{result}` names {len(found)} results", hint=f"name one: {names}"))
        options = GradeOptions(
            config=config,
            eval_set=evalset,
            parallelism=parallelism,
            metric_timeout=metric_timeout,
            env_file=env_file,
            judges=JudgeOptions(
                parallelism=judge_parallelism,
                max_calls=max_judge_calls,
                cache=judge_cache,
                preflight=not no_preflight,
            ),
            custom_code=not no_custom_code,
            output=output,
            command=command_line(sys.argv),
        )
        with redirect_stdout(sys.stderr):  # code that is imported may print
            grading = plan_grading(found[0], options)
        out.exit(_grade(grading, view, out))


def _grade(grading: Grading, view: View, out: Output) -> ExitCode:
    from agent_eval.cli.progress import watched
    from agent_eval.grading import grade as graded
    from agent_eval.stored import Stored

    for warning in grading.warnings:
        out.note(f"warning: {warning}")
    finished: list[Graded] = []
    collect_less_garbage()

    async def main() -> None:  # returns nothing: asyncio.run spells out what its main task returned
        finished.append(await graded(grading, progress))

    with watched(out.stderr, grading.runs, quiet=view.quiet) as progress, redirect_stdout(sys.stderr):
        asyncio.run(main())
    for warning in grading.judges.warnings:
        out.note(f"warning: {warning}")
    results = [Stored(one.result, one.summary, one.journal) for one in finished]
    code = exit_code(results)
    show(results, view, code, out)
    return code
