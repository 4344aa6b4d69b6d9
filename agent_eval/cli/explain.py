"""`agent-eval explain`: why cases did not pass, and what a code means."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from agent_eval.cli.completion import complete_results
from agent_eval.cli.options import DebugFlag, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode, InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from agent_eval.schema.result import CaseResult, Cause, EvalResult
    from agent_eval.stored import Stored

EPILOG = """Examples:

agent-eval explain latest --case refund

agent-eval explain AE101

agent-eval explain

The exit code is 0 for every result that can be read, whatever it says."""


def explain(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="RESULT|CODE",
            help="A summary, a journal, a result file of ADK, a folder of results, `latest`, `previous`, "
            "`baseline` or `git:REF`; or a code such as AE101. Without: every code there is.",
            show_default=False,
            autocompletion=complete_results,
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
    """Whether an argument is a code or a short name, rather than a file or a name of results."""
    from agent_eval.references import BASELINE, LATEST, PREVIOUS

    if target in (BASELINE, LATEST, PREVIOUS):
        return False
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


def _result(reference: str, wanted: list[str], out: Output) -> NoReturn:
    from agent_eval.references import resolved
    from agent_eval.report.causes import print_explanation

    results = [_explained(stored, out) for stored in resolved(reference, folder=None)]
    _refuse_unknown([case for result in results for case in result.cases], wanted, reference)
    chosen = [(result, cases) for result in results if (cases := _chosen(result, wanted)) or not wanted]
    if out.is_json:
        out.json(_document(chosen))
    for result, cases in chosen:
        print_explanation(out.report, result, cases)
    out.exit(ExitCode.PASSED)


def _explained(stored: Stored, out: Output) -> EvalResult:
    """The result with causes found anew, so that rules newer than the result have their say."""
    from agent_eval.diagnose.diagnosis import explained

    if stored.journal is None and not stored.kept:
        out.note(f"{stored.path}: its journal is not beside it, so the causes are those found at its time")
        return stored.result
    return explained(stored.result, stored.records())


def _refuse_unknown(cases: list[CaseResult], wanted: list[str], reference: str) -> None:
    """Refuses names of cases that there are not.

    Raises:
        InputError: there are some.
    """
    known = [case.eval_id for case in cases]
    problems = [
        Problem(f"there is no case `{name}`", reference, hint=did_you_mean(name, known))
        for name in wanted
        if name not in known
    ]
    if problems:
        raise InputError(*problems)


def _chosen(result: EvalResult, wanted: list[str]) -> list[CaseResult]:
    """The cases named; without, those that have something to explain."""
    if wanted:
        return [case for case in result.cases if case.eval_id in wanted]
    return [case for case in result.cases if case.causes or any(metric.causes for metric in case.metrics)]


def _document(chosen: list[tuple[EvalResult, list[CaseResult]]]) -> dict[str, Any]:
    """All results as one document: what each eval set was, and the cases of all."""
    return {
        "results": [
            {
                "result_id": result.result_id,
                "eval_set_id": result.eval_set.eval_set_id,
                "causes": _causes(result.causes),
            }
            for result, _ in chosen
        ],
        "cases": [_case(case) for _, cases in chosen for case in cases],
    }


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "eval_set_id": case.eval_set_id,
        "eval_id": case.eval_id,
        "verdict": case.verdict.value,
        "reasons": case.reasons,
        "causes": _causes(case.causes),
        "metrics": [
            {
                "metric_name": metric.metric_name,
                "status": metric.status.value,
                "score": metric.score,
                "threshold": metric.threshold,
                "causes": _causes(metric.causes),
            }
            for metric in case.metrics
            if metric.causes
        ],
    }


def _causes(causes: list[Cause]) -> list[dict[str, Any]]:
    return [cause.model_dump(by_alias=False) for cause in causes]
