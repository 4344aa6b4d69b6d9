"""`agent-eval run`: plan, run, report, exit."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent_eval.cli.adk_export import agent_folders, make_history_folders, with_adk_results
from agent_eval.cli.completion import complete_cases, complete_eval_sets, complete_targets
from agent_eval.cli.interrupts import interrupts
from agent_eval.cli.options import (
    CodeQualityFile,
    DebugFlag,
    DetailsFlag,
    HtmlFile,
    JsonFlag,
    JudgeCacheFlag,
    JudgeParallelism,
    JunitFile,
    MarkdownFile,
    MaxJudgeCalls,
    NoCustomCode,
    NoPreflight,
)
from agent_eval.cli.output import Output, command_line
from agent_eval.cli.reports import STDOUT, ReportFiles, tell_ci, write_reports
from agent_eval.cli.rerun import again
from agent_eval.cli.results import View, exit_code, show
from agent_eval.cli.resume import going_on
from agent_eval.errors import ExitCode, InputError, Problem
from agent_eval.garbage import collect_less_garbage

if TYPE_CHECKING:
    from agent_eval.pipeline import Finished
    from agent_eval.preparation import Evaluation, PlannedSet
    from agent_eval.schema.result import EvalResult

EPILOG = """Examples:

agent-eval run --all

agent-eval run my_agent orders.evalset.json

agent-eval run my_agent orders.evalset.json:refund,cancel --print_detailed_results

agent-eval run --evalset orders.evalset.json --config strict.json --json > result.json

Option names take hyphens as well: --num-runs is --num_runs."""


LOAD = "Load"
"""The part of --help about how much is under way at once, and where."""
CASES = "Cases"
"""The part of --help about which cases run."""
AGENT = "Agent"
"""The part of --help about how the agent is reached."""


def _parallelism(given: str) -> int | Literal["auto"]:
    if given == "auto":
        return "auto"
    try:
        number = int(given)
    except ValueError:
        number = 0
    if number < 1:
        raise typer.BadParameter(f"{given!r} is neither `auto` nor a whole number from 1 on")
    return number


def run(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT] EVALSET[:CASE,...]",
            help="The agent (a folder, a .py file, package.module:attribute), then eval sets. "
            "Without an agent: the one in pyproject.toml, or the cases' app_name.",
            show_default=False,
            autocompletion=complete_targets,
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="The agent, when not named first.")] = None,
    evalset: Annotated[
        list[str] | None,
        typer.Option(
            "--evalset",
            help="An eval set; may be given several times.",
            autocompletion=complete_eval_sets,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every eval set of the project.")] = False,
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            help="Only this case; may be given several times.",
            rich_help_panel=CASES,
            autocompletion=complete_cases,
        ),
    ] = None,
    expression: Annotated[
        str | None,
        typer.Option(
            "-k",
            metavar="EXPR",
            help="Only cases whose names fit, as in pytest: 'refund and not slow'.",
            rich_help_panel=CASES,
        ),
    ] = None,
    last_failed: Annotated[
        bool,
        typer.Option(
            "--last_failed",
            "--lf",
            help="Only cases that did not pass when they last ran.",
            rich_help_panel=CASES,
        ),
    ] = False,
    failed_first: Annotated[
        bool, typer.Option("--failed_first", "--ff", help="Those come first.", rich_help_panel=CASES)
    ] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Only the Ith of N parts of the cases; `agent-eval merge` joins the results.",
            rich_help_panel=CASES,
        ),
    ] = None,
    rerun: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--rerun",
            metavar="errors|failed RESULT",
            help="Make these runs of a result again, and join them with its others.",
            rich_help_panel=CASES,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with an evaluation that was broken off: the newest, or that of the RESULT named.",
            rich_help_panel=CASES,
        ),
    ] = False,
    resume_anyway: Annotated[
        bool,
        typer.Option(
            "--resume_anyway",
            help="The same, though eval set, config or agent have changed since.",
            rich_help_panel=CASES,
        ),
    ] = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Run again when agent, eval sets or configs change.", rich_help_panel=CASES
        ),
    ] = False,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            "--config_file_path",
            help="The eval config. Without it: the one beside the eval set, else the default.",
        ),
    ] = None,
    num_runs: Annotated[
        int | None, typer.Option("--num_runs", min=1, help="Runs of each case; overrides the config.")
    ] = None,
    parallelism: Annotated[
        Any,
        typer.Option(
            "--parallelism",
            parser=_parallelism,
            metavar="N|auto",
            help="Runs at once; auto: more while they stay as fast, half as many on a 429.",
            rich_help_panel=LOAD,
        ),
    ] = "4",
    rpm: Annotated[
        int | None,
        typer.Option(
            "--rpm",
            min=1,
            help="Model calls a minute, of agents whose calls can be seen.",
            rich_help_panel=LOAD,
        ),
    ] = None,
    tpm: Annotated[
        int | None, typer.Option("--tpm", min=1, help="Tokens a minute of these calls.", rich_help_panel=LOAD)
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="Make the runs in this many processes, or actors of Ray, each with a share of them.",
            rich_help_panel=LOAD,
        ),
    ] = None,
    executor: Annotated[
        str,
        typer.Option(
            "--executor",
            metavar="local|ray",
            help="Make the runs on this machine, or on a Ray cluster.",
            rich_help_panel=LOAD,
        ),
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(
            "--ray_address",
            metavar="ADDRESS",
            help="The cluster's; else RAY_ADDRESS, or the one here.",
            rich_help_panel=LOAD,
        ),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.001, help="Seconds a run may take.")] = 300.0,
    metric_timeout: Annotated[
        float, typer.Option("--metric_timeout", min=0.001, help="Seconds a metric may take for one run.")
    ] = 120.0,
    seed: Annotated[
        int, typer.Option("--seed", help="The same seed gives `session.random` the same draws.")
    ] = 0,
    retry_crashed: Annotated[
        int, typer.Option("--retry_crashed", min=0, help="Try a crashed run again this often.")
    ] = 0,
    stop_when_decided: Annotated[
        bool,
        typer.Option("--stop_when_decided", help="Make no further runs of a case that has failed for good."),
    ] = False,
    fail_fast: Annotated[
        bool, typer.Option("--fail_fast", help="Make no further runs once a case has failed.")
    ] = False,
    circuit_breaker: Annotated[
        int,
        typer.Option(
            "--circuit_breaker",
            min=1,
            help="Stop when the first runs, this many or --parallelism if larger, crash alike.",
        ),
    ] = 5,
    no_circuit_breaker: Annotated[
        bool, typer.Option("--no_circuit_breaker", help="Go on, however the first runs crash.")
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", help="Talk to an ADK API server instead of importing an agent.", rich_help_panel=AGENT
        ),
    ] = None,
    app_name: Annotated[
        str | None, typer.Option("--app_name", help="The app served at --url.", rich_help_panel=AGENT)
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header", help="Sent to --url, as 'Key: value'; kept out of records.", rich_help_panel=AGENT
        ),
    ] = None,
    no_custom_code: NoCustomCode = False,
    env_file: Annotated[
        str | None,
        typer.Option(
            "--env_file", help="Environment for the agent; what is set already wins.", rich_help_panel=AGENT
        ),
    ] = None,
    share_agent: Annotated[
        bool,
        typer.Option("--share_agent", help="Keep one agent where a factory gives it.", rich_help_panel=AGENT),
    ] = False,
    record_inner_calls: Annotated[
        bool,
        typer.Option(
            "--record_inner_calls",
            help="Record what ADK agents inside an AgentTool do.",
            rich_help_panel=AGENT,
        ),
    ] = False,
    artifacts: Annotated[
        str | None,
        typer.Option(
            "--artifacts", help="Folder or gs://bucket for artifacts of ADK agents.", rich_help_panel=AGENT
        ),
    ] = None,
    judge_parallelism: JudgeParallelism = 16,
    max_judge_calls: MaxJudgeCalls = None,
    judge_cache: JudgeCacheFlag = True,
    no_preflight: NoPreflight = False,
    output: Annotated[
        str | None, typer.Option("--output", help="Folder for results, else .agent_eval/results.")
    ] = None,
    adk_results: Annotated[
        bool,
        typer.Option("--adk_results", help="Also write ADK's result files into the agent's folder."),
    ] = False,
    html: HtmlFile = None,
    junit_xml: JunitFile = None,
    markdown: MarkdownFile = None,
    codequality: CodeQualityFile = None,
    print_detailed_results: DetailsFlag = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line with the totals.")] = False,
    json_output: JsonFlag = False,
    dry_run: Annotated[bool, typer.Option("--dry_run", help="Show what would run; run nothing.")] = False,
    debug: DebugFlag = False,
) -> None:
    """Run eval sets against an agent, and say which cases passed."""
    resume = resume or resume_anyway
    named, eval_sets = _targets([] if resume else targets or [], url or agent)
    view = View(quiet=quiet, json=json_output, detailed=print_detailed_results)
    reports = {"html": html, "junit_xml": junit_xml, "markdown": markdown, "codequality": codequality}
    with Output(json=json_output, stdout_taken=STDOUT in reports.values(), debug=debug) as out:
        from agent_eval.agents.resolve import AgentOptions  # what runs is imported to run
        from agent_eval.inputs.choice import Choice
        from agent_eval.inputs.shards import parse_shard
        from agent_eval.options import JudgeOptions, Options, parse_place
        from agent_eval.preparation import plan_evaluation
        from agent_eval.selection import Given

        files = ReportFiles.of(json=json_output, **reports)
        options = Options(
            agent=None if url else named,
            eval_sets=(*eval_sets, *(evalset or ())),
            all=every,
            choice=Choice(tuple(case or ()), expression, last_failed, failed_first),
            shard=parse_shard(shard) if shard is not None else None,
            config=config,
            num_runs=num_runs,
            parallelism=parallelism,
            rpm=rpm,
            tpm=tpm,
            workers=workers,
            executor=parse_place(executor),
            ray_address=ray_address,
            timeout=timeout,
            metric_timeout=metric_timeout,
            seed=seed,
            retry_crashed=retry_crashed,
            stop_when_decided=stop_when_decided,
            fail_fast=fail_fast,
            circuit_breaker=None if no_circuit_breaker else circuit_breaker,
            url=url,
            app_name=app_name,
            headers=_headers(header or []),
            env_file=env_file,
            agents=AgentOptions(
                share=share_agent, record_inner_calls=record_inner_calls, artifacts=artifacts
            ),
            judges=JudgeOptions(
                parallelism=judge_parallelism,
                max_calls=max_judge_calls,
                cache=judge_cache,
                preflight=not no_preflight,
            ),
            custom_code=not no_custom_code,
            dry_run=dry_run,
            output=output,
            command=command_line(sys.argv),
        )
        if watch and not resume:
            from agent_eval.cli.watch import keep_running

            out.exit(keep_running(options, sys.argv[1:], out))
        if resume:
            planned = going_on(context, targets or [], options, anyway=resume_anyway)
        else:
            planned = again(rerun, options) if rerun else (options, Given())
        with redirect_stdout(sys.stderr):  # code that is imported may print, too
            evaluation = plan_evaluation(*planned)
        folders = agent_folders(evaluation) if adk_results else None
        out.exit(_dry_run(evaluation, out) if dry_run else _run(evaluation, view, out, folders, files))


def _headers(given: list[str]) -> tuple[tuple[str, str], ...]:
    pairs = [header.partition(":") for header in given]
    if any(not colon or not key.strip() for key, colon, _ in pairs):
        raise InputError(Problem("--header takes 'Key: value'"))
    return tuple((key.strip(), value.strip()) for key, _, value in pairs)


_EVAL_SET = re.compile(r".*\.json(:.*)?", re.DOTALL)


def _targets(targets: list[str], agent: str | None) -> tuple[str | None, tuple[str, ...]]:
    """The agent and the eval sets among the arguments: the first one is the agent if it names no .json."""
    if targets and agent is None and not _EVAL_SET.fullmatch(targets[0]):
        return targets[0], tuple(targets[1:])
    return agent, tuple(targets)


def _run(
    evaluation: Evaluation,
    view: View,
    out: Output,
    adk_folders: dict[str, Path] | None,
    files: ReportFiles,
) -> ExitCode:
    from agent_eval.cli.progress import Load, watched
    from agent_eval.pipeline import Underway
    from agent_eval.stored import Stored

    make_history_folders(adk_folders or {})
    files = files.prepared()
    if not view.quiet:
        for line in _chosen(evaluation):
            out.note(line)
    for warning in evaluation.warnings:
        out.note(f"warning: {warning}")
    finished: list[Finished] = []
    load = Load(evaluation.places, evaluation.traffic)
    is_cut_short = False
    collect_less_garbage()

    async def main() -> None:  # returns nothing: asyncio.run spells out what its main task returned
        nonlocal is_cut_short
        async with Underway(evaluation) as underway:
            with interrupts(underway.stop, out):
                await underway.make(progress=progress)
            is_cut_short = underway.is_cut_short
            finished.extend(underway.finish())

    # what agents print must not mix with the report, and the folder they change to is theirs
    with (
        watched(out.stderr, evaluation.runs, load, quiet=view.quiet) as progress,
        redirect_stdout(sys.stderr),
        chdir(Path.cwd()),
    ):
        try:
            asyncio.run(main())
        except OSError as error:  # such as a full disk: what had finished before is in the journals
            out.note(f"error: results cannot be written: {error}; finished runs are in the journal")
            out.note("when that is mended, `agent-eval run --resume` goes on")
            return ExitCode.NOT_EVALUATED
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
    for warning in evaluation.troubles:
        out.note(f"warning: {warning}")
    results = [Stored(one.result, one.summary, one.journal) for one in finished]
    if adk_folders:
        results = with_adk_results(results, evaluation, adk_folders, out)
    code = ExitCode.INTERRUPTED if is_cut_short else exit_code(results)
    show(results, view, code, out)
    if is_cut_short:
        out.note("interrupted; `agent-eval run --resume` makes the runs that are left")
    for unwritten in [*write_reports(results, files), *tell_ci(results, files, out)]:
        out.note(f"error: a report cannot be written: {unwritten}; the result is kept")
    if any(_was_given_up(one.result) for one in results):
        out.exit(code, abandon_threads=True)
    return code


def _was_given_up(result: EvalResult) -> bool:
    """Whether a run took too long: what it waited for may still be under way in a thread."""
    runs = (run for case in result.cases for run in case.runs)
    return any(run.error is not None and run.error.type == "RunTimeoutError" for run in runs)


def _chosen(evaluation: Evaluation) -> list[str]:
    """One line an eval set: what runs, on which agent, under which config, and why these."""
    from agent_eval.report.text import count

    lines = []
    for planned in evaluation.sets:
        agents = ", ".join(dict.fromkeys(case.agent for case in planned.cases))
        runs = f" x {planned.num_runs} runs" if planned.num_runs > 1 else ""
        config = (
            f"{planned.config.path} ({planned.config_why})" if planned.config.path else planned.config_why
        )
        lines.append(
            f"{planned.loaded.path}: {count(len(planned.cases), 'case')}{_of_all(planned)}{runs}; "
            f"agent {agents} ({planned.agent_why}); config {config}" + _models(planned)
        )
    return lines


def _of_all(planned: PlannedSet) -> str:
    shard = planned.shard
    return f" of {shard.cases} (shard {shard.index}/{shard.count})" if shard else ""


def _models(planned: PlannedSet) -> str:
    judges = dict.fromkeys(metric.judge_model for metric in planned.metrics if metric.judge_model)
    player = planned.players.simulated_by
    return (f"; judge {', '.join(judges)}" if judges else "") + (
        f"; user played by {player}" if player else ""
    )


def _dry_run(evaluation: Evaluation, out: Output) -> ExitCode:
    from agent_eval.report.dry_run import print_plan

    if out.is_json:
        out.json(_plan_document(evaluation))
    print_plan(out.report, _plan_document(evaluation))
    return ExitCode.PASSED


def _plan_document(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "runs": evaluation.runs,
        "parallelism": evaluation.options.parallelism,
        "eval_sets": [
            {
                "path": str(planned.loaded.path),
                "eval_set_id": planned.loaded.eval_set.eval_set_id,
                "cases": [case.case.eval_id for case in planned.cases],
                "num_runs": planned.num_runs,
                "agent": list(dict.fromkeys(case.agent for case in planned.cases)),
                "agent_why": planned.agent_why,
                "config": str(planned.config.path) if planned.config.path else None,
                "config_why": planned.config_why,
                "user_played_by": planned.players.simulated_by,
                "metrics": [
                    {
                        "metric_name": metric.name,
                        "threshold": metric.eval_metric.criterion and metric.eval_metric.criterion.threshold,
                        "better": metric.info.better.value if metric.info.better else None,
                        "needs_judge": metric.needs_judge,
                        "judge_model": metric.judge_model,
                    }
                    for metric in planned.metrics
                ],
            }
            for planned in evaluation.sets
        ],
        "warnings": list(evaluation.warnings),
    }
