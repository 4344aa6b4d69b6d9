"""One check for each file of vectors: the item, with what is expected of it -> what differs."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from agent_eval.agents.events import Timing, to_invocations
from agent_eval.errors import InputError
from agent_eval.inputs.configs import load_config, parse_config
from agent_eval.inputs.evalsets import parse_eval_set
from agent_eval.metrics.configured import ConfiguredMetric, configured_metrics
from agent_eval.metrics.response_match import rouge_1
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.trace import AppDetails, EvalStatus, Event, Invocation
from tests.conformance import marks
from tests.conformance.compare import differences
from tests.conformance.custom_metrics import custom_metric
from tests.conformance.judged import judge_vote, rubric_aggregation

Value = TypeVar("Value")
Model = TypeVar("Model", bound=BaseModel)

Item = dict[str, Any]
Check = Callable[[Item, Item], list[str]]
"""`check(item, header)`: what differs, one line each; `header` is what the file says of all its items."""

NOT_IN_ADK_2_13 = frozenset({"multi_run_config", "tool_confirmation", "tool_mocks"})
"""Keys of a config that the ADK behind the vectors did not know."""

QUESTION = {"role": "user", "parts": [{"text": "q"}]}


def trajectory(item: Item, header: Item) -> list[str]:
    """The tool trajectory metric as configured, on turns of tool calls."""
    stage = item.get("error", {}).get("stage")
    config = _accepted(lambda: _config_of("tool_trajectory_avg_score", item["criterion"]))
    if config is None or stage == "config":
        return _verdict("config", config is not None, stage != "config")
    metrics = _accepted(lambda: configured_metrics(config))
    if metrics is None or stage == "metric":
        return _verdict("metric", metrics is not None, stage != "metric")
    criterion = metrics[0].eval_metric.criterion
    resolved = {
        "match_type": criterion.match_type.name,
        "ignore_args": criterion.ignore_args,
        "threshold": criterion.threshold,
    }
    found = differences(resolved, item["resolved"], "resolved") if "resolved" in item else []
    turns = [_turns_of_calls(marks.restored(item[side])) for side in ("actual", "expected")]
    return found + _scored(metrics[0], *turns, item)


def rouge(item: Item, header: Item) -> list[str]:
    """The text score behind the response match metric."""
    got = rouge_1(item["candidate"], item["reference"])._asdict()
    return differences(got, {key: item[key] for key in got})


def response_match(item: Item, header: Item) -> list[str]:
    """The response match metric as configured, on final responses."""
    metric = configured_metrics(_config_of("response_match_score", item["criterion"]))[0]
    actual, expected = (
        None if item[side] is None else [_turn(final_response=content) for content in item[side]]
        for side in ("actual", "expected")
    )
    return _scored(metric, actual, expected, item)


def efficiency(item: Item, header: Item) -> list[str]:
    """The four metrics that are always computed."""
    turns = [_read(Invocation, turn) for turn in marks.restored(item["invocations"])]
    found = []
    for metric in configured_metrics(EvalConfig()):
        result = metric.build().evaluate_invocations(turns)
        got = {
            "per_invocation": [
                _value(turn.score, turn.eval_status, turn.details) for turn in result.per_invocation_results
            ],
            "overall": _value(result.overall_score, result.overall_eval_status, result.details),
        }
        found += differences(got, item["expected"][metric.name], metric.name)
    return found


def status_merge(item: Item, header: Item) -> list[str]:
    """Statuses of a case's metrics -> the case's status."""
    from agent_eval.aggregate.verdict import merge_statuses

    status = merge_statuses([EvalStatus(name) for name in item["metric_statuses"]])
    return differences(status.value, item["final_status"], "final_status")


def events_to_invocations(item: Item, header: Item) -> list[str]:
    """A session's events -> turns."""
    durations = item.get("durations", {})
    timings = {
        turn: Timing(
            total=durations.get("durations", {}).get(turn),
            model=durations.get("model_durations", {}).get(turn),
            tool=durations.get("tool_durations", {}).get(turn),
        )
        for turn in {turn for seconds in durations.values() for turn in seconds}
    }
    got = to_invocations(
        [_read(Event, event) for event in marks.restored(item["events"])],
        live=item["live"],
        app_details={turn: _read(AppDetails, app) for turn, app in item.get("app_details", {}).items()},
        timings=timings,
    )
    return differences([_dump(turn) for turn in got], item["invocations"], "invocations")


def evalset_load(item: Item, header: Item) -> list[str]:
    """The bytes of an eval set file -> an eval set."""
    given_id = header["given_eval_set_id"]
    eval_set = _accepted(lambda: parse_eval_set(_bytes_of(item), f"{given_id}.evalset.json", given_id))
    wanted = item["verdict"] == "accepted" and item.get("run_accepts", True)
    if eval_set is None or not wanted:
        return _verdict("verdict", eval_set is not None, wanted)
    found = differences(_dump(eval_set), item["value"], "value") if "value" in item else []
    if "case_ids" in item:
        found += differences([case.eval_id for case in eval_set.eval_cases], item["case_ids"], "case_ids")
    return found


def eval_config_load(item: Item, header: Item) -> list[str]:
    """The bytes of an eval config file -> a config, and the metrics it asks for."""
    config = _accepted(lambda: _config_in(item))
    wanted = item["verdict"] == "accepted"
    if config is None or not wanted:
        return _verdict("verdict", config is not None, wanted)
    found = differences(_dump(config, NOT_IN_ADK_2_13), item["value"], "value") if "value" in item else []
    for name, info in item.get("custom_metric_info", {}).items():
        got = _dump(config.custom_metrics[name].info(name))
        found += differences(got, info, f"custom_metric_info.{name}")
    return found + _metrics(config, item["metrics"]) if "metrics" in item else found


GROUPS: dict[str, Check] = {
    f"{check.__name__}.json": check
    for check in (
        trajectory,
        rouge,
        response_match,
        efficiency,
        status_merge,
        events_to_invocations,
        evalset_load,
        eval_config_load,
        custom_metric,
        judge_vote,
        rubric_aggregation,
    )
}


def _metrics(config: EvalConfig, expected: list[Item]) -> list[str]:
    usable = all(metric["usable"] for metric in expected)
    metrics = _accepted(lambda: configured_metrics(config))
    if metrics is None or not usable:
        return _verdict("metrics", metrics is not None, usable)
    got = [
        {
            "metric_name": metric.name,
            "threshold": metric.eval_metric.threshold,
            "criterion": _dump(config.criterion(metric.name)) if metric.gates else None,
            "custom_function_path": metric.eval_metric.custom_function_path,
            "usable": True,
        }
        for metric in metrics
    ]
    return differences(got, expected, "metrics")


def _config_in(item: Item) -> EvalConfig:
    if item.get("document", item.get("document_base64")) is None:
        return load_config(Path("no_such_folder", "eval_config.json")).config
    return parse_config(_bytes_of(item), "eval_config.json")


def _bytes_of(item: Item) -> bytes:
    if "document_base64" in item:
        return base64.b64decode(item["document_base64"])
    return str(item["document"]).encode("utf-8", "surrogatepass")


def _config_of(metric: str, criterion: Any) -> EvalConfig:
    document = {"criteria": {metric: marks.restored(criterion)}}
    return parse_config(json.dumps(document).encode(), "eval_config.json")


def _accepted(read: Callable[[], Value]) -> Value | None:
    """What `read` gives, None where it refuses the input."""
    try:
        return read()
    except InputError:
        return None


def _verdict(place: str, got: bool, expected: bool) -> list[str]:
    names = {True: "accepted", False: "rejected"}
    return differences(names[got], names[expected], place)


def _scored(
    metric: ConfiguredMetric, actual: list[Invocation], expected: list[Invocation] | None, item: Item
) -> list[str]:
    """What differs in the scores of a metric, or in its refusal to give any."""
    try:
        result = metric.build().evaluate_invocations(actual, expected)
    except ValueError as error:
        return [] if "error" in item else [f"evaluate: raised {error}"]
    if "error" in item:
        return [f"evaluate: got a result, expected {item['error']['type']}"]
    turns = result.per_invocation_results
    got = {
        "score_per_invocation": [turn.score for turn in turns],
        "status_per_invocation": [turn.eval_status.value for turn in turns],
        "overall_score": result.overall_score,
        "overall_status": result.overall_eval_status.value,
    }
    return differences(got, {key: item[key] for key in got})


def _value(score: float | None, status: EvalStatus, details: Item | None) -> Item:
    value = {"score": score, "status": status.value}
    return value if details is None else {**value, "details": details}


def _turns_of_calls(turns: list[list[Item] | None]) -> list[Invocation]:
    return [_turn(intermediate_data=None if calls is None else {"tool_uses": calls}) for calls in turns]


def _turn(**fields: Any) -> Invocation:
    return _read(Invocation, {"user_content": QUESTION, **fields})


def _read(model: type[Model], value: Any) -> Model:
    return model.model_validate_json(json.dumps(value))


def _dump(value: BaseModel, without: frozenset[str] = frozenset()) -> Any:
    return json.loads(value.model_dump_json(exclude_none=True, by_alias=False, exclude=set(without)))
