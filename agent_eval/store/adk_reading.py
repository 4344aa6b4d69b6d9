"""ADK's result files -> run records, whatever version of ADK wrote them.

What a version does not have may be missing, and what this project does not know is passed over.
What has ADK's names and other values, as the files of tools that followed ADK have, is refused.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from agent_eval import clock, serde
from agent_eval.errors import InputError, Problem
from agent_eval.schema.base import Value
from agent_eval.schema.config import BaseCriterion
from agent_eval.schema.result import (
    ErrorInfo,
    ExpectedTurn,
    InvocationScore,
    MetricResult,
    RunRecord,
    RunStatus,
    SessionRecord,
)
from agent_eval.schema.trace import EvalStatus, Invocation
from agent_eval.store.adk_form import (
    AdkCaseResult,
    AdkEvalSetResult,
    AdkMetric,
    AdkRow,
    AdkSession,
    Origin,
)
from agent_eval.store.summary import safe_name


class AdkCase(Value):
    """One case of an ADK result."""

    eval_id: str
    runs: list[RunRecord]
    """One a case result that has this id."""
    counted_as: list[EvalStatus]
    """What ADK counted each run as."""


class AdkResult(Value):
    """An ADK result as this project's values."""

    result_id: str
    eval_set_id: str
    created: str
    """UTC, ISO 8601."""
    agent: str | None
    """The name of its folder, if it can be told."""
    criteria: dict[str, BaseCriterion | None]
    """Of each metric that passes or fails; None where the file gives no threshold."""
    custom_metrics: dict[str, str]
    """Dotted path of each metric of the user's own."""
    origin: Origin | None
    """In a file that agent-eval wrote, what ADK's form has no place for."""
    cases: list[AdkCase]


def read_adk_result(text: str | bytes, file: str) -> AdkResult:
    """Reads an ADK `EvalSetResult`, also one that was encoded twice, as older versions did.

    Args:
        text: the file's content.
        file: its name, for errors.

    Raises:
        InputError: it is something else.
    """
    try:
        document = serde.from_json(text)
        if isinstance(document, str):
            text, document = document, serde.from_json(document)
    except serde.DocumentError as error:
        raise InputError(Problem(str(error), file, line=error.line)) from None
    try:
        return _converted(AdkEvalSetResult.model_validate_json(text, extra="ignore"))
    except ValidationError as error:
        raise InputError(_problem(error, text, document, file)) from None


def _problem(error: ValidationError, text: str | bytes, document: Any, file: str) -> Problem:
    """The first thing that is not as ADK writes it."""
    first = error.errors(include_url=False)[0]
    path = _path_in(document, first["loc"])
    reason = "required, but not there" if first["type"] == "missing" else first["msg"]
    text = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return Problem(
        f"is not a result of ADK: {reason}",
        file,
        serde.path_text(path) or None,
        serde.line_of(text, path),
        hint="results of ADK itself are read; other tools have files of that name, too",
    )


def _path_in(document: Any, loc: tuple[int | str, ...]) -> list[int | str]:
    """A place in the document: `loc` without the steps that name a model, a missing key at its end."""
    path: list[int | str] = []
    node = document
    for index, step in enumerate(loc):
        in_list = isinstance(node, list) and isinstance(step, int) and step < len(node)
        if in_list or (isinstance(node, dict) and step in node):
            node = node[step]
            path.append(step)
        elif index == len(loc) - 1:
            path.append(step)
    return path


def _converted(found: AdkEvalSetResult) -> AdkResult:
    agent = _agent_of(found)
    cases: dict[str, list[AdkCaseResult]] = {}
    for result in found.eval_case_results:
        cases.setdefault(result.eval_id, []).append(result)
    return AdkResult(
        result_id=found.eval_set_result_id,
        eval_set_id=found.eval_set_id,
        created=clock.timestamp(found.creation_timestamp),
        agent=agent,
        criteria=_criteria(found.eval_case_results),
        custom_metrics={
            metric.metric_name: metric.custom_function_path
            for run in found.eval_case_results
            for metric in run.metrics
            if metric.custom_function_path
        },
        origin=found.agent_eval,
        cases=[
            AdkCase(
                eval_id=eval_id,
                runs=[_record(found, agent or "", index, run) for index, run in enumerate(runs)],
                counted_as=[run.final_eval_status for run in runs],
            )
            for eval_id, runs in cases.items()
        ],
    )


def _agent_of(found: AdkEvalSetResult) -> str | None:
    """The agent's name, from the result's id (`<agent>_<eval set>_<time>`) or a session."""
    for eval_set_id in (found.eval_set_id, safe_name(found.eval_set_id)):
        parts = re.fullmatch(rf"(.+)_{re.escape(eval_set_id)}_[\d.]+", found.eval_set_result_id)
        if parts:
            return parts[1]
    sessions = (run.session_details for run in found.eval_case_results)
    return next((session.app_name for session in sessions if session and session.app_name), None)


def _criteria(runs: list[AdkCaseResult]) -> dict[str, BaseCriterion | None]:
    criteria: dict[str, BaseCriterion | None] = {}
    for metric in (metric for run in runs for metric in run.metrics):
        if metric.status is not EvalStatus.INFORMATIONAL:
            criteria[metric.metric_name] = criteria.get(metric.metric_name) or metric.held_against()
    return criteria


def _record(found: AdkEvalSetResult, agent: str, run_index: int, run: AdkCaseResult) -> RunRecord:
    session = run.session_details or AdkSession(app_name=agent, user_id=run.user_id or "", id=run.session_id)
    turns = [row.actual_invocation for row in run.rows]
    begun = turns[0].creation_timestamp if turns else 0.0
    expected = [row.expected_invocation for row in run.rows]
    return RunRecord(
        eval_set_id=found.eval_set_id,
        eval_id=run.eval_id,
        run_index=run_index,
        seed=0,
        status=RunStatus.CRASHED if run.is_crashed else RunStatus.COMPLETED,
        started=clock.timestamp(begun if 0 < begun <= clock.LAST_MOMENT else found.creation_timestamp),
        seconds=round(sum(turn.duration or 0.0 for turn in turns), 6),
        error=_error(session) if run.is_crashed else None,
        session=SessionRecord(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id, state=session.state
        ),
        invocations=turns,
        expected=[_expected(turn) for turn in expected] if any(expected) else None,
        metrics=[_metric_result(metric, run.rows) for metric in run.metrics],
    )


def _error(session: AdkSession) -> ErrorInfo:
    """What ended a crashed run, from its session: ADK's form has no other place for it."""
    for event in reversed(session.events):
        if event.error_code or event.error_message:
            return ErrorInfo(type=event.error_code or "Error", message=event.error_message or "no message")
    return ErrorInfo(type="UnknownError", message="the file does not say why")


def _expected(turn: Invocation | None) -> ExpectedTurn:
    if turn is None:
        return ExpectedTurn()
    return ExpectedTurn(
        final_response=turn.final_response, intermediate_data=turn.intermediate_data, rubrics=turn.rubrics
    )


def _metric_result(metric: AdkMetric, rows: list[AdkRow]) -> MetricResult:
    scores = [row.score_of(metric.metric_name) for row in rows]
    overall, criterion = metric.of_turn(), metric.held_against()
    unscored = overall.status is EvalStatus.NOT_EVALUATED
    return MetricResult(
        metric_name=metric.metric_name,
        status=overall.status,
        score=overall.score,
        threshold=criterion.threshold if criterion else None,
        per_invocation=[score or InvocationScore() for score in scores] if any(scores) else [],
        rubric_scores=overall.rubric_scores,
        details=overall.details,
        reason="it was not evaluated, and the file does not say why" if unscored else None,
    )
