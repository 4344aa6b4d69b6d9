"""The commands and their names."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from agent_eval.cli import (
    baseline,
    cache,
    compare,
    explain,
    grade,
    history,
    init,
    judge,
    lint,
    merge,
    metrics,
    record,
    report,
    run,
    scenario,
    schema,
)
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode

HELP = """Run evaluation sets against AI agents: did it pass, how sure are we, why did it fail.

Exit codes: 0 every case passed; 1 a case failed; 2 wrong usage or input, nothing was run;
3 nothing failed, but something could not be evaluated; 4 a bug in agent-eval; 130 interrupted.
"""


def _with_underscores(name: str) -> str:
    """`--num-runs` and `--num_runs` are the same option."""
    return name.replace("-", "_")


SETTINGS = {"help_option_names": ["-h", "--help"], "token_normalize_func": _with_underscores}

app = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)
EVAL_HELP = "The same commands under the name agents-cli gives them."
eval_app = typer.Typer(help=EVAL_HELP, no_args_is_help=True)
for commands in (app, eval_app):
    commands.command("run", epilog=run.EPILOG, context_settings=SETTINGS)(run.run)
    commands.command("compare", epilog=compare.EPILOG, context_settings=SETTINGS)(compare.compare)
    commands.command("grade", epilog=grade.EPILOG, context_settings=SETTINGS)(grade.grade)
    commands.command("explain", epilog=explain.EPILOG, context_settings=SETTINGS)(explain.explain)
    commands.command("lint", epilog=lint.EPILOG, context_settings=SETTINGS)(lint.lint)
    commands.command("report", epilog=report.EPILOG, context_settings=SETTINGS)(report.report)
    commands.command("merge", epilog=merge.EPILOG, context_settings=SETTINGS)(merge.merge)
    commands.command("metrics", epilog=metrics.EPILOG, context_settings=SETTINGS)(metrics.metrics)
    commands.command("init", epilog=init.EPILOG, context_settings=SETTINGS)(init.init)
    commands.command("record", epilog=record.EPILOG, context_settings=SETTINGS)(record.record)
    commands.command("history", epilog=history.EPILOG, context_settings=SETTINGS)(history.history)
    commands.command("schema", epilog=schema.EPILOG, context_settings=SETTINGS)(schema.schema)
judge_app = typer.Typer(help="What judges are asked, and how good they are.", no_args_is_help=True)
judge_app.command("show", epilog=judge.SHOW_EPILOG, context_settings=SETTINGS)(judge.show)
judge_app.command("check", epilog=judge.CHECK_EPILOG, context_settings=SETTINGS)(judge.check)
cache_app = typer.Typer(
    help="The judge cache: answers that need not be asked for again.", no_args_is_help=True
)
cache_app.command("stats", context_settings=SETTINGS)(cache.stats)
cache_app.command("clear", context_settings=SETTINGS)(cache.clear)
baseline_app = typer.Typer(help="The results that a project compares with.", no_args_is_help=True)
baseline_app.command("set", epilog=baseline.SET_EPILOG, context_settings=SETTINGS)(baseline.set_)
baseline_app.command("show", context_settings=SETTINGS)(baseline.show)
scenario_app = typer.Typer(help="Cases that a simulated user plays.", no_args_is_help=True)
scenario_app.command("add", epilog=scenario.ADD_EPILOG, context_settings=SETTINGS)(scenario.add)
scenario_app.command("generate", epilog=scenario.GENERATE_EPILOG, context_settings=SETTINGS)(
    scenario.generate
)
for commands in (app, eval_app):
    commands.add_typer(baseline_app, name="baseline")
    commands.add_typer(judge_app, name="judge")
    commands.add_typer(scenario_app, name="scenario")
    commands.add_typer(cache_app, name="cache")


def _may_mean_eval() -> bool:
    """Whether the commands of `eval` may be asked for: making all commands twice would slow each start."""
    return "eval" in sys.argv or any(name.endswith("_COMPLETE") for name in os.environ)


app.add_typer(eval_app if _may_mean_eval() else typer.Typer(help=EVAL_HELP), name="eval")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"agent-eval {installed('adk-agent-eval')}")
        raise typer.Exit


def main() -> None:
    """The console script."""
    try:
        app(prog_name="agent-eval")
    except SystemExit as end:
        if end.code == ExitCode.USAGE and "--json" in sys.argv and not Output.has_document:
            Output().json({"exit_code": int(end.code), "errors": [{"message": "wrong usage, see stderr"}]})
        raise
