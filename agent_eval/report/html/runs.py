"""One run for the page: its conversation, what was expected, what metrics and judges said.

A page is for looking, the journal has everything: a text longer than `MAX_TEXT` is cut, and of a run
that would take more than `MAX_RUN` only the first turns are shown. The page says so where it happens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_eval.printable import printable
from agent_eval.report.html.calls import aligned
from agent_eval.report.text import content_text
from agent_eval.schema.calls import IgnoredArgs
from agent_eval.schema.config import MatchType
from agent_eval.schema.result import (
    ErrorInfo,
    ExpectedTurn,
    InvocationScore,
    MetricResult,
    RubricScore,
    RunRecord,
)
from agent_eval.schema.trace import (
    USER_AUTHOR,
    FunctionCall,
    FunctionResponse,
    IntermediateData,
    Invocation,
    InvocationEvents,
    Part,
    get_all_tool_calls,
    get_all_tool_responses,
)

MAX_TEXT = 10_000
"""Characters of one text: an answer, the arguments of a call, what a tool returned, a traceback."""
MAX_CONTEXT = 20
"""Turns before those that count; the last ones are shown."""
MAX_RUN = 200_000
"""Characters of the turns of one run."""

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallRules:
    """How the config compares tool calls."""

    match_type: MatchType = MatchType.EXACT
    ignored: IgnoredArgs = False


def rules_of(criteria: dict[str, Any]) -> CallRules:
    """The rules of the criterion for tool calls; the strictest where there is none."""
    found = criteria.get("tool_trajectory_avg_score")
    if not isinstance(found, dict):
        return CallRules()
    known = {kind.name: kind for kind in MatchType} | {str(kind.value): kind for kind in MatchType}
    return CallRules(
        match_type=known.get(str(found.get("match_type")), MatchType.EXACT),
        ignored=found.get("ignore_args") or False,
    )


def run_data(record: RunRecord, rules: CallRules) -> Data:
    """A run as the page's script reads it."""
    turns: list[Data] = []
    size = 0
    for index in range(len(record.invocations)):
        turn = _turn(record, index, rules)
        size += len(json.dumps(turn, ensure_ascii=False))
        if size > MAX_RUN and turns:
            break
        turns.append(turn)
    return {
        "index": record.run_index,
        "status": record.status.value,
        "started": record.started,
        "seconds": record.seconds,
        "error": _error(record.error),
        "attempts": [_error(attempt.error) for attempt in record.failed_attempts],
        "context": [_talk(turn) for turn in record.context[-MAX_CONTEXT:]],
        "contextLeftOut": max(0, len(record.context) - MAX_CONTEXT),
        "turns": turns,
        "turnsLeftOut": len(record.invocations) - len(turns),
        "metrics": [_metric(metric) for metric in record.metrics],
        "state": as_text(record.session.state) if record.session and record.session.state else None,
        "expectedState": as_text(record.final_session_state) if record.final_session_state else None,
        "simulation": _simulation(record),
    }


def clipped(text: str) -> str:
    """A text that is safe to show, cut where it is too long."""
    text = printable(text)
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… [{len(text) - MAX_TEXT} more characters are in the journal]"


def as_text(value: Any) -> str:
    """A value as JSON over several lines, in its own script."""
    return clipped(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def _error(error: ErrorInfo | None) -> Data | None:
    if error is None:
        return None
    return {
        "type": printable(error.type),
        "message": clipped(error.message),
        "traceback": clipped(error.traceback) if error.traceback else None,
    }


def _metric(metric: MetricResult) -> Data:
    """What a metric says of the whole run; what it says of turns is with them."""
    return {
        "name": printable(metric.metric_name),
        "status": metric.status.value,
        "score": metric.score,
        "threshold": metric.threshold,
        "reason": clipped(metric.reason) if metric.reason else None,
        "warnings": [clipped(warning) for warning in metric.warnings],
        "error": _error(metric.error),
        "rubrics": _rubrics(metric.rubric_scores),
        "details": metric.details,
        "judge": metric.judge.model_dump(mode="json") if metric.judge else None,
    }


def _simulation(record: RunRecord) -> Data | None:
    """What a simulated user was to do, what it cost, and what ended the conversation."""
    scenario, used, end = record.conversation_scenario, record.simulator, record.stopped_by
    if scenario is None and used is None and end is None:
        return None
    return {
        "plan": clipped(scenario.conversation_plan) if scenario else None,
        "stoppedBy": end.value.replace("_", " ") if end else None,
        "model": printable(used.model) if used else None,
        "requests": used.requests if used else 0,
    }


def _talk(turn: Invocation) -> Data:
    """What was said and done in a turn."""
    return {
        "user": clipped(content_text(turn.user_content)),
        "steps": list(_steps(turn)),
        "answer": clipped(content_text(turn.final_response)),
        "seconds": turn.duration,
    }


def _turn(record: RunRecord, index: int, rules: CallRules) -> Data:
    actual = record.invocations[index]
    expected = record.expected or []
    return {
        **_talk(actual),
        "expected": _expected(expected[index], actual, rules) if index < len(expected) else None,
        "scores": [
            _score(metric, metric.per_invocation[index])
            for metric in record.metrics
            if index < len(metric.per_invocation)
        ],
    }


def _score(metric: MetricResult, row: InvocationScore) -> Data:
    return {
        "name": printable(metric.metric_name),
        "status": row.status.value,
        "score": row.score,
        "threshold": metric.threshold,
        "rationale": clipped(row.rationale) if row.rationale else None,
        "rubrics": _rubrics(row.rubric_scores),
    }


def _rubrics(scores: list[RubricScore] | None) -> list[Data]:
    return [
        {
            "id": printable(score.rubric_id),
            "score": score.score,
            "rationale": clipped(score.rationale) if score.rationale else None,
        }
        for score in scores or ()
    ]


def _expected(expected: ExpectedTurn, actual: Invocation, rules: CallRules) -> Data | None:
    """The expected answer and calls, and how the calls made lie beside them."""
    if expected.final_response is None and expected.intermediate_data is None:
        return None
    wanted, made = (
        get_all_tool_calls(expected.intermediate_data),
        get_all_tool_calls(actual.intermediate_data),
    )
    rows = None
    if expected.intermediate_data is not None:
        rows = [
            {
                "mark": mark.value,
                "expected": None if one is None else _call(wanted[one]),
                "made": None if other is None else _call(made[other]),
            }
            for mark, one, other in aligned(wanted, made, rules.match_type, rules.ignored)
        ]
    answer = None if expected.final_response is None else clipped(content_text(expected.final_response))
    return {"answer": answer, "calls": rows, "mayCallMore": rules.match_type is not MatchType.EXACT}


def _call(call: FunctionCall) -> Data:
    return {"name": printable(call.name or "(no name)"), "args": as_text(call.args or {})}


def _steps(turn: Invocation) -> Iterator[Data]:
    """What the agent did before its answer, in order."""
    data = turn.intermediate_data
    if data is None:
        return
    answers = _Answers(data)
    if isinstance(data, InvocationEvents):
        for index, event in enumerate(data.invocation_events):
            yield from _incidents(turn, index)
            if event.content is not None and event.content != turn.final_response:
                for part in event.content.parts or ():
                    yield from _part(part, event.author, answers)
        yield from _incidents(turn, len(data.invocation_events))
        return
    for call in data.tool_uses:
        yield _call_step(call, answers)
    for author, parts in data.intermediate_responses:
        for part in parts:
            yield from _part(part, author, answers)


def _incidents(turn: Invocation, step: int) -> Iterator[Data]:
    """What went wrong before a step, or with it."""
    for incident in turn.incidents or ():
        if incident.step == step:
            yield {"kind": "incident", "author": printable(incident.author), "text": clipped(incident.told)}


class _Answers:
    """What tools returned, each for one call: by id, or else by name in order."""

    def __init__(self, data: IntermediateData | InvocationEvents) -> None:
        self._left = get_all_tool_responses(data)
        events = data.invocation_events if isinstance(data, InvocationEvents) else []
        self.mocked = {call_id for event in events for call_id in event.mocked or ()}

    def of(self, call: FunctionCall) -> FunctionResponse | None:
        for place, response in enumerate(self._left):
            if response.id == call.id and (call.id or response.name == call.name):
                return self._left.pop(place)
        return None


def _call_step(call: FunctionCall, answers: _Answers) -> Data:
    answer = answers.of(call)
    return {
        "kind": "call",
        **_call(call),
        "response": as_text(answer.response) if answer and answer.response is not None else None,
        "mocked": call.id in answers.mocked,
    }


def _part(part: Part, author: str, answers: _Answers) -> Iterator[Data]:
    if part.function_call:
        yield _call_step(part.function_call, answers)
    elif part.text and author != USER_AUTHOR:
        kind = "thought" if part.thought else "said"
        yield {"kind": kind, "author": printable(author), "text": clipped(part.text)}
    elif part.executable_code:
        yield {"kind": "code", "author": printable(author), "text": clipped(part.executable_code.code or "")}
    elif part.code_execution_result:
        output = part.code_execution_result.output or ""
        yield {"kind": "output", "author": printable(author), "text": clipped(output)}
