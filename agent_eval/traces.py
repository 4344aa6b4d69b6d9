"""Traces of `agents-cli eval generate` -> runs that can be scored.

The files have the form of Vertex AI's `EvaluationDataset`. Each of its cases is one run: its turns
are in `agent_data`, or in older files in `prompt`, `intermediate_events` and `responses`. Keys that
are not here are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, ValidationError

from agent_eval import clock, serde
from agent_eval.agents.events import DEFAULT_AUTHOR, to_invocations
from agent_eval.errors import InputError, Problem
from agent_eval.schema.base import Many, Value
from agent_eval.schema.result import ExpectedTurn, RunRecord, SessionRecord
from agent_eval.schema.trace import (
    USER_AUTHOR,
    AgentDetails,
    AppDetails,
    Content,
    EvalStatus,
    Event,
    Part,
)
from agent_eval.store.adk_reading import AdkCase, AdkResult

DATA_KEYS = ("agent_data", "agentData", "responses", "intermediate_events", "intermediateEvents")
"""Keys of a case that eval sets do not have."""


def is_traces(document: Any) -> bool:
    """Whether a document has the form of an `EvaluationDataset`."""
    cases = document.get("eval_cases", document.get("evalCases")) if isinstance(document, dict) else None
    return isinstance(cases, list) and any(
        isinstance(case, dict) and any(key in case for key in DATA_KEYS) for case in cases
    )


class _Loose(Value):
    model_config = ConfigDict(extra="ignore")


def _content(value: object) -> object:
    """Some write a text where a content is meant."""
    return Content(parts=[Part(text=value)]) if isinstance(value, str) else value


AnyContent = Annotated[Content | None, BeforeValidator(_content)]


class _Event(_Loose):
    author: str | None = None
    content: AnyContent = None
    event_time: datetime | None = None
    state_delta: dict[str, Any] | None = None


class _Turn(_Loose):
    turn_id: str | None = None
    events: Many[_Event] | None = None


class _Agent(_Loose):
    instruction: str | None = None
    tools: list[Any] | None = None


class _AgentData(_Loose):
    agents: dict[str, _Agent] | None = None
    turns: Many[_Turn] | None = None


class _Response(_Loose):
    response: AnyContent = None


def _parsed(value: object) -> object:
    """`agent_data` is written as an object, or as the text of one."""
    return serde.from_json(value) if isinstance(value, str) else value


class _Case(_Loose):
    eval_case_id: str | None = None
    prompt: AnyContent = None
    responses: Many[_Response] | None = None
    response: AnyContent = None
    reference: _Response | None = None
    intermediate_events: Many[_Event] | None = None
    agent_data: Annotated[_AgentData | None, BeforeValidator(_parsed)] = None


class _Dataset(_Loose):
    eval_cases: Many[_Case]
    candidate_name: str | None = None


def read_traces(document: Any, file: str, name: str) -> AdkResult:
    """The runs in a file of traces. Cases with one id are runs of one case.

    Args:
        document: the file's content.
        file: its name, for errors.
        name: what the eval set is called, as the file does not say.

    Raises:
        InputError: it has another form, or no turn of a case can be told.
    """
    try:
        found = _Dataset.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = serde.path_text(first["loc"]) or None
        raise InputError(Problem(f"is no file of traces: {first['msg']}", file, place)) from None
    if not found.eval_cases:
        raise InputError(Problem("has no cases", file, "eval_cases"))
    cases: dict[str, list[RunRecord]] = {}
    for index, case in enumerate(found.eval_cases):
        eval_id = case.eval_case_id or f"case_{index + 1}"
        runs = cases.setdefault(eval_id, [])
        record = _record(case, name, eval_id, len(runs), found.candidate_name or "")
        if not any(turn.user_content.parts for turn in record.invocations):
            place = f"eval_cases[{index}]"
            hint = "traces are made by `agents-cli eval generate`"
            raise InputError(Problem("no turn: it has no message of a user", file, place, hint=hint))
        runs.append(record)
    return AdkResult(
        result_id=name,
        eval_set_id=name,
        created=min(record.started for runs in cases.values() for record in runs),
        agent=found.candidate_name or _first_agent(found),
        criteria={},
        custom_metrics={},
        origin=None,
        cases=[
            AdkCase(eval_id=eval_id, runs=runs, counted_as=[EvalStatus.NOT_EVALUATED] * len(runs))
            for eval_id, runs in cases.items()
        ],
    )


def _first_agent(found: _Dataset) -> str | None:
    return next((name for case in found.eval_cases for name in _agents(case)), None)


def _agents(case: _Case) -> dict[str, _Agent]:
    return (case.agent_data and case.agent_data.agents) or {}


def _record(case: _Case, name: str, eval_id: str, run_index: int, agent: str) -> RunRecord:
    traced = list(_traced(case))
    events = [_event(event, invocation_id) for invocation_id, event in traced]
    state: dict[str, Any] = {}
    for _, event in traced:
        state |= event.state_delta or {}
    details = AppDetails(
        agent_details={
            agent_name: AgentDetails(
                name=agent_name, instructions=known.instruction or "", tool_declarations=known.tools or []
            )
            for agent_name, known in _agents(case).items()
        }
    )
    known = details if details.agent_details else None
    ids = dict.fromkeys(event.invocation_id for event in events)
    turns = to_invocations(events, app_details=dict.fromkeys(ids, known) if known else None)
    times = [event.timestamp for event in events if event.timestamp]
    return RunRecord(
        eval_set_id=name,
        eval_id=eval_id,
        run_index=run_index,
        seed=0,
        started=clock.timestamp(min(times, default=0.0)),
        seconds=round(max(times, default=0.0) - min(times, default=0.0), 6),
        session=SessionRecord(app_name=agent, user_id="", session_id="", state=state),
        invocations=turns,
        expected=_expected(case, len(turns)),
    )


def _expected(case: _Case, turns: int) -> list[ExpectedTurn] | None:
    """The reference is the answer that the last turn should have."""
    golden = case.reference and case.reference.response
    if golden is None or not turns:
        return None
    return [ExpectedTurn()] * (turns - 1) + [ExpectedTurn(final_response=golden)]


def _traced(case: _Case) -> Iterator[tuple[str, _Event]]:
    """Every event with the id of its turn.

    A turn begins with a message of the user. What tools return is written under the user's name by
    some, and in a turn of its own: it belongs to the turn before.
    """
    invocation_id = ""
    for number, turn in enumerate(_turns(case), 1):
        events = [event for event in turn.events or [] if event.content or event.state_delta]
        if any(_asks(event) for event in events) or not invocation_id:
            invocation_id = turn.turn_id or f"turn_{number}"
        yield from ((invocation_id, event) for event in events)


def _turns(case: _Case) -> list[_Turn]:
    if case.agent_data and case.agent_data.turns:
        return case.agent_data.turns
    answers: list[Content | None] = [one.response for one in case.responses or []][:1] or [case.response]
    steps = [
        *([_Event(author=USER_AUTHOR, content=case.prompt)] if case.prompt else []),
        *(case.intermediate_events or []),
        *(_Event(author=DEFAULT_AUTHOR, content=answer) for answer in answers if answer),
    ]
    return [_Turn(events=steps)] if case.prompt else []


def _asks(event: _Event) -> bool:
    """Whether an event is a message of the user."""
    parts = (event.content and event.content.parts) or []
    by_user = (event.author or "").lower() == USER_AUTHOR
    return by_user and bool(parts) and not all(part.function_response for part in parts)


def _event(event: _Event, invocation_id: str) -> Event:
    by_user = (event.author or "").lower() == USER_AUTHOR
    moment = event.event_time
    if moment is not None and moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Event(
        author=DEFAULT_AUTHOR if by_user and not _asks(event) else event.author,
        content=event.content,
        invocation_id=invocation_id,
        timestamp=moment.timestamp() if moment else 0.0,
    )
