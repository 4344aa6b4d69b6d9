"""Traces of `agents-cli eval generate`: what is read of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.schema.result import RunRecord
from agent_eval.schema.trace import get_all_tool_calls, get_all_tool_responses
from agent_eval.traces import is_traces, read_traces


def said(author: str, text: str, **keys: Any) -> dict[str, Any]:
    role = "user" if author == "user" else "model"
    return {"author": author, "content": {"role": role, "parts": [{"text": text}]}, **keys}


def part(author: str, **keys: Any) -> dict[str, Any]:
    role = "user" if "function_response" in keys else "model"
    return {"author": author, "content": {"role": role, "parts": [keys]}}


CALL = part("desk", function_call={"id": "1", "name": "look_up", "args": {"order_id": "A1"}})
RETURNED = {"function_response": {"id": "1", "name": "look_up", "response": {"status": "sent"}}}
ASKED, ANSWERED = said("user", "Where is A1?"), said("desk", "On its way.")


def case(*turns: list[dict[str, Any]], **keys: Any) -> dict[str, Any]:
    agent_data = {"turns": [{"turn_index": n, "events": events} for n, events in enumerate(turns)]}
    return {"eval_case_id": "one", "agent_data": agent_data, **keys}


def read(*cases: dict[str, Any], **keys: Any) -> list[RunRecord]:
    document = {"eval_cases": list(cases), **keys}
    assert is_traces(document)
    return [run for one in read_traces(document, "traces.json", "traces").cases for run in one.runs]


WHOLE = [ASKED, CALL, part("desk", **RETURNED), ANSWERED]

ONE_TURN = [
    pytest.param(case(WHOLE), id="events of one turn"),
    pytest.param(case([ASKED, CALL, part("user", **RETURNED), ANSWERED]), id="tools under the user's name"),
    pytest.param(
        case([ASKED, CALL], [part("user", **RETURNED), ANSWERED]), id="what tools return begins a turn"
    ),
    pytest.param(
        {
            **case(),
            "agent_data": json.dumps(case(WHOLE)["agent_data"]),
        },
        id="agent_data as text",
    ),
    pytest.param(
        {
            "eval_case_id": "one",
            "prompt": ASKED["content"],
            "intermediate_events": [CALL, part("desk", **RETURNED)],
            "responses": [{"response": ANSWERED["content"]}],
        },
        id="prompt, events and response",
    ),
    pytest.param(
        {
            "evalCaseId": "one",
            "agentData": {"turns": [{"turnIndex": 0, "events": WHOLE}]},
        },
        id="camelCase",
    ),
]


@pytest.mark.parametrize("given", ONE_TURN)
def test_turn_of_a_trace_is_an_invocation(given: dict[str, Any]) -> None:
    (record,) = read(given)
    (turn,) = record.invocations
    assert turn.user_content.text == "Where is A1?"
    assert turn.final_response is not None
    assert turn.final_response.text == "On its way."
    assert [call.name for call in get_all_tool_calls(turn.intermediate_data)] == ["look_up"]
    assert [one.response for one in get_all_tool_responses(turn.intermediate_data)] == [{"status": "sent"}]


def test_turns_agents_state_and_times_are_kept() -> None:
    second = [
        said("user", "Thanks", event_time="2026-01-31T09:30:05Z"),
        said("desk", "Bye", state_delta={"b": 2}),
    ]
    first = [{**ASKED, "event_time": "2026-01-31T09:30:00Z"}, {**ANSWERED, "state_delta": {"a": 1, "b": 1}}]
    given = case(first, second)
    tools = [{"function_declarations": [{"name": "look_up"}]}]
    given["agent_data"]["agents"] = {"desk": {"agent_id": "desk", "instruction": "Be kind.", "tools": tools}}
    (record,) = read(given, candidate_name="desk")
    assert [turn.user_content.text for turn in record.invocations] == ["Where is A1?", "Thanks"]
    details = record.invocations[1].app_details
    assert details is not None
    assert details.get_developer_instructions("desk") == "Be kind."
    assert details.get_tools_by_agent_name() == {"desk": tools}
    assert record.session is not None
    assert record.session.state == {"a": 1, "b": 2}
    assert (record.started, record.seconds) == ("2026-01-31T09:30:00.000Z", 5.0)


def test_reference_is_expected_of_the_last_turn() -> None:
    reference = {"response": {"parts": [{"text": "Sent."}]}}
    (record,) = read(case([ASKED, ANSWERED], [ASKED, ANSWERED], reference=reference))
    assert record.expected is not None
    golden = [turn.final_response and turn.final_response.text for turn in record.expected]
    assert golden == [None, "Sent."]
    (record,) = read(case([ASKED, ANSWERED]))
    assert record.expected is None


def test_cases_with_one_id_are_runs_of_one_case() -> None:
    records = read(case([ASKED]), case([ASKED]), {"prompt": "hi", "response": "ho"})
    assert [(one.eval_id, one.run_index) for one in records] == [("one", 0), ("one", 1), ("case_3", 0)]


@pytest.mark.parametrize(
    "document",
    [
        {"eval_set_id": "s", "eval_cases": [{"eval_id": "one", "conversation": []}]},
        {"eval_cases": []},
        {"eval_cases": None},
        [],
        "text",
    ],
)
def test_other_documents_are_no_traces(document: Any) -> None:
    assert not is_traces(document)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (case(), r"traces.json: eval_cases\[0\]: no turn"),
        (case([ANSWERED]), r"eval_cases\[0\]: no turn"),
        ({"agent_data": 7}, r"eval_cases\[0\].agent_data.*no file of traces"),
        ({"agent_data": "{"}, r"eval_cases\[0\].agent_data.*no file of traces"),
        ({"agent_data": {"turns": {"a": 1}}}, r"turns.*no file of traces"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(given)
