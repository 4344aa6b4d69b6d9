"""`agent-eval explain`: why cases did not pass, and what a code means."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from agent_eval.cli.options import DebugFlag, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode, InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from agent_eval.schema.result import CaseResult, EvalResult
    from agent_eval.stored import Stored

EPILOG = """Examples:

agent-eval explain .agent_eval/results/orders/20260131T093000250Z-1a2b3c4d.json --case refund

agent-eval explain AE101

agent-eval explain

The exit code is 0 for every result that can be read, whatever it says."""


def explain(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[RESULT|CODE]",
            help="A summary, a journal or a result file of ADK; or a code such as AE101. "
            "Without: every code there is.",
            show_default=False,
        ),
    ] = None,
    case: Annotated[list[str] | None, typer.Option("--case", help="Only this case of the result.")] = None,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Tell why cases did not pass and what to change, or what a code means."""
    with Output(json=json_output, debug=debug) as out:
        if target is None:
            _all_codes(out)
        elif _is_code(target):
            _code(target, out)
        else:
            _result(target, case or [], out)


_CODE = re.compile(r"AE\w*|[a-z]+(-[a-z]+)*", re.IGNORECASE)


def _is_code(target: str) -> bool:
    """Whether an argument is a code or a short name, rather than a file."""
    return bool(_CODE.fullmatch(target)) and not Path(target).exists()


def _all_codes(out: Output) -> NoReturn:
    from agent_eval.codes.catalogue import topics
    from agent_eval.report.causes import print_topics

    rows = [(topic.code, topic.name, topic.title) for topic in topics()]
    if out.is_json:
        out.json({"codes": [dict(zip(("code", "name", "title"), row, strict=True)) for row in rows]})
    print_topics(out.report, rows)
    out.exit(ExitCode.PASSED)


def _code(name: str, out: Output) -> NoReturn:
    from agent_eval.codes.catalogue import near_misses, topic_of
    from agent_eval.report.causes import print_long_form

    topic = topic_of(name)
    if topic is None:
        near = near_misses(name)
        raise InputError(
            Problem(
                f"there is neither a code nor a result `{name}`",
                hint=f"did you mean {' or '.join(f'`{one}`' for one in near)}?"
                if near
                else "`agent-eval explain` lists the codes",
            )
        )
    if out.is_json:
        out.json(dataclasses.asdict(topic))
    print_long_form(out.report, topic.text)
    out.exit(ExitCode.PASSED)


def _result(target: str, wanted: list[str], out: Output) -> NoReturn:
    from agent_eval.report.causes import print_explanation
    from agent_eval.stored import read_stored

    stored = read_stored(Path(target))
    result = _explained(stored, out)
    cases = _selected(result, wanted, target)
    if out.is_json:
        out.json(_document(result, cases))
    print_explanation(out.report, result, cases)
    out.exit(ExitCode.PASSED)


def _explained(stored: Stored, out: Output) -> EvalResult:
    """The result with causes found anew, so that rules newer than the result have their say."""
    from agent_eval.diagnose.diagnosis import explained

    if stored.journal is None and not stored.kept:
        out.note("its journal is not beside it, so the causes are those found when it was run")
        return stored.result
    return explained(stored.result, stored.records())


def _selected(result: EvalResult, wanted: list[str], file: str) -> list[CaseResult]:
    """The cases named; without, those that have something to explain.

    Raises:
        InputError: the result has no such case.
    """
    known = [case.eval_id for case in result.cases]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InputError(
            *(Problem(f"there is no case `{name}`", file, hint=did_you_mean(name, known)) for name in unknown)
        )
    if wanted:
        return [case for case in result.cases if case.eval_id in wanted]
    return [case for case in result.cases if case.causes or any(metric.causes for metric in case.metrics)]


def _document(result: EvalResult, cases: list[CaseResult]) -> dict[str, Any]:
    return {
        "result_id": result.result_id,
        "causes": [cause.model_dump(by_alias=False) for cause in result.causes],
        "cases": [
            {
                "eval_id": case.eval_id,
                "verdict": case.verdict.value,
                "reasons": case.reasons,
                "causes": [cause.model_dump(by_alias=False) for cause in case.causes],
                "metrics": [
                    {
                        "metric_name": metric.metric_name,
                        "status": metric.status.value,
                        "score": metric.score,
                        "threshold": metric.threshold,
                        "causes": [cause.model_dump(by_alias=False) for cause in metric.causes],
                    }
                    for metric in case.metrics
                    if metric.causes
                ],
            }
            for case in cases
        ],
    }
