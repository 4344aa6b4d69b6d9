"""Result files in ADK's form, written beside the agent so that ADK and `adk web` show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent_eval import clock, serde
from agent_eval.schema.result import (
    ConfigRef,
    ErrorInfo,
    EvalResult,
    ExpectedTurn,
    InvocationScore,
    MetricResult,
    RunRecord,
    RunStatus,
)
from agent_eval.schema.trace import USER_AUTHOR, EvalStatus, Invocation, InvocationEvents
from agent_eval.store.adk_form import STATUS_NUMBERS
from agent_eval.store.summary import safe_name, write_whole

SUFFIX = ".evalset_result.json"
HISTORY = Path(".adk") / "eval_history"
"""Where ADK looks for results, below the agent's folder."""

DETAILS_KEYS = {"token_usage_v1": "token_usage_details", "invocation_duration_v1": "duration_details"}
"""Where ADK has the parts of a metric's value. Those of other metrics have no place in its form."""

StatusOf = Callable[[RunRecord], EvalStatus]
"""What a run counts as by itself."""


def history_folder(agent_folder: Path) -> Path:
    """The folder for an agent's ADK results, made if it is not there.

    Raises:
        OSError: it cannot be made.
    """
    folder = agent_folder / HISTORY
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def adk_document(
    result: EvalResult, records: Iterable[RunRecord], *, app_name: str, status_of: StatusOf
) -> dict[str, Any]:
    """An evaluation as an ADK `EvalSetResult`: one eval case result a run, in the order of the cases.

    A case without a run is not in it: ADK has no way to say so.

    Args:
        result: what the runs belong to; its config has their criteria.
        records: the runs, in any order.
        app_name: the agent as ADK calls it, by its folder.
        status_of: what each run counts as.
    """
    eval_set_id = result.eval_set.eval_set_id
    order = {case.eval_id: index for index, case in enumerate(result.cases)}
    runs = sorted(records, key=lambda run: (order.get(run.eval_id, len(order)), run.run_index))
    created = clock.now()
    name = f"{safe_name(f'{app_name}_{eval_set_id}')}_{created}"  # a file name; the time is never cut off
    return {
        "eval_set_result_id": name,
        "eval_set_result_name": name,
        "eval_set_id": eval_set_id,
        "eval_case_results": [_case_result(run, status_of(run), result.config) for run in runs],
        "creation_timestamp": created,
        "agent_eval": {
            "multi_run_config": result.config.multi_run_config,
            "seed": result.provenance.seed,
        },
    }


def write_adk_result(document: dict[str, Any], agent_folder: Path) -> Path:
    """Writes what `adk_document` gave where ADK looks for it, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    path = history_folder(agent_folder) / f"{document['eval_set_result_name']}{SUFFIX}"
    write_whole(serde.to_json(document, indent=True) + b"\n", path)
    return path


def _case_result(run: RunRecord, status: EvalStatus, config: ConfigRef) -> dict[str, Any]:
    """A run as an `EvalCaseResult`. A crashed one has no rows, as in ADK: its session tells of it."""
    turns = [_adk_invocation(turn) for turn in run.invocations]
    scored = run.status is RunStatus.COMPLETED
    return {
        "eval_set_file": run.eval_set_id,
        "eval_set_id": run.eval_set_id,
        "eval_id": run.eval_id,
        "final_eval_status": STATUS_NUMBERS[status],
        "overall_eval_metric_results": [
            _metric_result(metric, metric.overall(), config) for metric in run.metrics
        ],
        "eval_metric_result_per_invocation": _rows(run, turns, config) if scored else [],
        "session_id": run.session.session_id if run.session else "",
        "session_details": _session(run, [*map(_adk_invocation, run.context), *turns]),
        "user_id": run.session.user_id if run.session else None,
    }


def _rows(run: RunRecord, turns: list[dict[str, Any]], config: ConfigRef) -> list[dict[str, Any]]:
    """A row a turn: what was done, what was expected, what each metric says."""
    expected = run.expected or []
    return [
        {
            "actual_invocation": turn,
            "expected_invocation": _expected(expected[index], turn) if index < len(expected) else None,
            "eval_metric_results": [
                _metric_result(metric, metric.per_invocation[index], config)
                for metric in run.metrics
                if index < len(metric.per_invocation)
            ],
        }
        for index, turn in enumerate(turns)
    ]


def _metric_result(metric: MetricResult, value: InvocationScore, config: ConfigRef) -> dict[str, Any]:
    """An `EvalMetricResult`: a metric's value for a run, or for one turn of it."""
    details: dict[str, Any] = {}
    if value.rubric_scores is not None:
        details["rubric_scores"] = [_plain(score) for score in value.rubric_scores]
    if value.details and metric.metric_name in DETAILS_KEYS:
        details[DETAILS_KEYS[metric.metric_name]] = value.details
    return {
        "metric_name": metric.metric_name,
        "threshold": metric.threshold,
        "criterion": config.criteria.get(metric.metric_name),
        "custom_function_path": config.custom_metrics.get(metric.metric_name),
        "score": value.score,
        "eval_status": STATUS_NUMBERS[value.status],
        "details": details,
    }


def _plain(model: BaseModel) -> dict[str, Any]:
    """A value as JSON has it, without what is at its default."""
    data: dict[str, Any] = serde.from_json(serde.model_to_json(model, compact=True))
    return data


def _adk_invocation(turn: Invocation | ExpectedTurn) -> dict[str, Any]:
    """A turn with the keys that ADK knows."""
    data = _plain(turn)
    data.pop("incidents", None)
    if isinstance(turn.intermediate_data, InvocationEvents):
        steps = data["intermediate_data"].get("invocation_events", [])
        known = [{key: value for key, value in step.items() if key != "mocked"} for step in steps]
        data["intermediate_data"] = {"invocation_events": known}
    return data


def _expected(expected: ExpectedTurn, turn: dict[str, Any]) -> dict[str, Any]:
    return {"user_content": turn["user_content"], **_adk_invocation(expected)}


def _session(run: RunRecord, turns: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The session at the end of a run, its events made from the turns."""
    if run.session is None:
        return None
    events: list[dict[str, Any]] = []
    for number, turn in enumerate(turns, 1):
        # the time at which a turn was asked is rounded: it may be before the last turn's end
        events += _events(turn, number, not_before=events[-1]["timestamp"] if events else 0.0)
    if run.error:
        events.append(_error_event(run, run.error, events[-1] if events else {}))
    return {
        "id": run.session.session_id,
        "app_name": run.session.app_name,
        "user_id": run.session.user_id,
        "state": _plain(run.session).get("state", {}),
        "events": events,
        "last_update_time": events[-1]["timestamp"] if events else 0.0,
    }


def _events(turn: dict[str, Any], number: int, not_before: float) -> list[dict[str, Any]]:
    """The user's event, then a step's each, the final response among them.

    Steps have no time of their own in a record, so theirs are spread over the turn.
    """
    identity = turn.get("invocation_id") or f"turn-{number}"
    steps = _with_final_response(
        turn.get("intermediate_data", {}).get("invocation_events", []), turn.get("final_response")
    )
    start, seconds = turn.get("creation_timestamp", 0.0), turn.get("duration") or 0.0
    return [
        {
            **step,
            "id": f"{identity}-{index}",
            "invocation_id": identity,
            "timestamp": max(start + seconds * index / max(len(steps), 1), not_before),
        }
        for index, step in enumerate([{"author": USER_AUTHOR, "content": turn["user_content"]}, *steps])
    ]


def _with_final_response(steps: list[dict[str, Any]], final: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Steps with the final response in its place: the step that was recorded without its content."""
    if final is None or any(step.get("content") == final for step in steps):
        return steps
    bare = [index for index, step in enumerate(steps) if "content" not in step]
    if not bare:
        return [*steps, {"author": steps[-1]["author"] if steps else "model", "content": final}]
    place = bare[-1]
    return [*steps[:place], {**steps[place], "content": final}, *steps[place + 1 :]]


def _error_event(run: RunRecord, error: ErrorInfo, last: dict[str, Any]) -> dict[str, Any]:
    """What ended a crashed run: ADK has no other place for it."""
    identity = last.get("invocation_id", "turn-1")
    return {
        "author": run.session.app_name if run.session else "",
        "id": f"{identity}-error",
        "invocation_id": identity,
        "timestamp": last.get("timestamp", 0.0),
        "error_code": error.type,
        "error_message": error.message,
    }
