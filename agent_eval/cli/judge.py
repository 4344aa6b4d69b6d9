"""`agent-eval judge`: what a judge is asked, and how far it agrees with people."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_eval.cli.completion import complete_eval_sets, complete_judged_metrics
from agent_eval.cli.options import DebugFlag, JsonFlag, NoCustomCode
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode

if TYPE_CHECKING:
    from agent_eval.judging import Checked, Rated, Shown

SHOW_EPILOG = """Examples:

agent-eval judge show orders.evalset.json --case refund

agent-eval judge show orders.evalset.json --case refund --result RESULT.json"""

CHECK_EPILOG = """Examples:

agent-eval judge check orders.evalset.json --labels labels.json

agent-eval judge check orders.evalset.json --labels labels.jsonl --result RESULT.json --json

A label is {"eval_id": "refund", "response": "It is on its way.", "label": "fail"}; without a response, it is
about the run of that case in the result, run_index 0 unless it says otherwise."""

EvalSetArgument = Annotated[
    str, typer.Argument(metavar="EVALSET", help="The eval set.", autocompletion=complete_eval_sets)
]
ConfigOption = Annotated[
    str | None, typer.Option("--config", help="The eval config, else the one beside the eval set.")
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="One judged metric; without it, all of them.",
        autocompletion=complete_judged_metrics,
    ),
]
ResultOption = Annotated[str | None, typer.Option("--result", help="A result whose runs are meant.")]


def show(
    eval_set: EvalSetArgument,
    case: Annotated[str, typer.Option("--case", help="The case.")],
    config: ConfigOption = None,
    metric: MetricOption = None,
    result: ResultOption = None,
    run: Annotated[int, typer.Option("--run", min=0, help="Which run of the result, from 0.")] = 0,
    no_custom_code: NoCustomCode = False,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Print the exact prompts that judges get for a case. Nothing is sent.

    Without a result, the agent is taken to do and say what the case expects.
    """
    with Output(json=json_output, debug=debug) as out:
        from agent_eval import judging
        from agent_eval.options import JudgeOptions

        options = JudgeOptions(cache=False, preflight=False)
        with redirect_stdout(sys.stderr):  # code that is imported may print
            judged = judging.JudgedSet(eval_set, config, metric, options, custom_code=not no_custom_code)
        wanted = judged.case(case)
        if result:
            context = judging.recorded_run(wanted, judging.recorded_runs(Path(result)), run)
        else:
            context = judging.expected_run(wanted)
        found = judging.shown(judged, context)
        if out.is_json:
            out.json({"metrics": [_shown(one) for one in found]})
        else:
            from agent_eval.report.judges import print_requests

            print_requests(out.report, [_shown(one) for one in found])
        out.exit(ExitCode.PASSED)


def _shown(one: Shown) -> dict[str, Any]:
    return {
        "metric_name": one.metric_name,
        "judge_model": one.judge_model,
        "num_samples": one.num_samples,
        "requests": [
            {
                "system": request.system,
                "contents": [
                    content.model_dump(mode="json", exclude_none=True) for content in request.contents
                ],
                "schema": request.schema,
            }
            for request in one.requests
        ],
    }


def check(
    eval_set: EvalSetArgument,
    labels: Annotated[str, typer.Option("--labels", help="What people say: JSON, or JSON Lines.")],
    config: ConfigOption = None,
    metric: MetricOption = None,
    result: ResultOption = None,
    env_file: Annotated[
        str | None, typer.Option("--env_file", help="Keys of judges; what is set already wins.")
    ] = None,
    judge_parallelism: Annotated[
        int, typer.Option("--judge_parallelism", min=1, metavar="N", help="At once.")
    ] = 16,
    judge_cache: Annotated[
        bool,
        typer.Option(
            "--judge_cache/--no_judge_cache",
            metavar="",
            show_default=False,
            help="Ask no judge again what it has answered; the default.",
        ),
    ] = True,
    no_custom_code: NoCustomCode = False,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Measure judges against people: agreement, Cohen's kappa, and what they pass that people fail."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval import judging
        from agent_eval.agents.environment import load_env_file
        from agent_eval.options import JudgeOptions

        if env_file:
            load_env_file(Path(env_file))
        options = JudgeOptions(parallelism=judge_parallelism, cache=judge_cache)
        with redirect_stdout(sys.stderr):  # code that is imported may print
            judged = judging.JudgedSet(eval_set, config, metric, options, custom_code=not no_custom_code)
            checked = judging.check(judged, Path(labels), Path(result) if result else None)
        code = ExitCode.NOT_EVALUATED if any(one.unscored for one in checked) else ExitCode.PASSED
        if out.is_json:
            out.json({"exit_code": int(code), "metrics": [_checked(one) for one in checked]})
        from agent_eval.report.judges import print_agreement

        print_agreement(out.report, [_checked(one) for one in checked])
        out.exit(code)


def _checked(one: Checked) -> dict[str, Any]:
    from agent_eval.aggregate.statistics import wilson_interval

    found = one.agreement
    return {
        "metric_name": one.metric_name,
        "judge_model": one.judge_model,
        "labels": found.total + len(one.unscored),
        "agreement": _rate(found.agreed, found.total),
        "agreement_interval": wilson_interval(found.agreed, found.total),
        "kappa": found.kappa,
        "false_pass_rate": _rate(found.false_pass, found.failed_by_people),
        "false_pass_interval": wilson_interval(found.false_pass, found.failed_by_people),
        "false_fail_rate": _rate(found.false_fail, found.passed_by_people),
        "counts": {
            "both_pass": found.both_pass,
            "both_fail": found.both_fail,
            "false_pass": found.false_pass,
            "false_fail": found.false_fail,
            "unscored": len(one.unscored),
        },
        "disagreed": [_rated(rated) for rated in one.disagreed],
        "unscored": [_rated(rated) for rated in one.unscored],
    }


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _rated(one: Rated) -> dict[str, Any]:
    said = [row.rationale for row in one.result.per_invocation if row.rationale]
    said += [
        rubric.rationale
        for row in one.result.per_invocation
        for rubric in row.rubric_scores or ()
        if rubric.rationale and not rubric.score
    ]
    return {
        "eval_id": one.label.eval_id,
        "response": one.label.response,
        "run_index": one.label.run_index if one.label.response is None else None,
        "people": one.label.label.value,
        "judge": one.result.status.value,
        "score": one.result.score,
        "note": one.label.note,
        "rationales": said,
        "reason": one.result.reason,
    }
