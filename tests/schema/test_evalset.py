from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent_eval.inputs.evalsets import parse_eval_set
from agent_eval.schema.evalset import EvalCase, EvalSet

Documents = st.SearchStrategy[dict[str, Any]]


def objects(required: dict[str, Any], **optional: Any) -> Documents:
    return st.fixed_dictionaries(required, optional=optional)


TEXTS = st.text(max_size=5)
IDS = st.text(min_size=1, max_size=5)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
FREE_FORM = st.dictionaries(TEXTS, VALUES, max_size=2)
CALLS = objects({}, id=TEXTS, name=TEXTS, args=st.none() | FREE_FORM)
RESPONSES = objects({}, id=TEXTS, name=TEXTS, response=FREE_FORM)
BYTES = st.binary(max_size=4).map(base64.b64encode).map(bytes.decode)
PARTS = st.one_of(
    objects({"text": TEXTS}, thought=st.booleans()),
    objects({"inline_data": objects({"data": BYTES}, mime_type=TEXTS)}),
    objects({"function_call": CALLS}),
    objects({"function_response": RESPONSES}),
)
CONTENTS = objects({}, parts=st.lists(PARTS, max_size=2), role=TEXTS)
STEPS = st.one_of(
    objects(
        {},
        tool_uses=st.lists(CALLS, max_size=2),
        tool_responses=st.lists(RESPONSES, max_size=2),
        intermediate_responses=st.lists(st.tuples(TEXTS, st.lists(PARTS, max_size=1)), max_size=2),
    ),
    objects({"invocation_events": st.lists(objects({"author": TEXTS}, content=CONTENTS), max_size=2)}),
)
TURNS = objects(
    {"user_content": CONTENTS},
    invocation_id=TEXTS,
    final_response=st.none() | CONTENTS,
    intermediate_data=st.none() | STEPS,
    creation_timestamp=NUMBERS,
)
SCENARIOS = objects(
    {"starting_prompt": TEXTS, "conversation_plan": TEXTS}, user_persona=st.sampled_from([None, "EXPERT"])
)
SESSIONS = objects({"app_name": TEXTS, "user_id": TEXTS}, session_id=TEXTS, state=FREE_FORM)
CASES = st.one_of(
    objects(
        {"eval_id": IDS, "conversation": st.lists(TURNS, max_size=2)},
        session_input=SESSIONS,
        final_session_state=st.none() | FREE_FORM,
    ),
    objects({"eval_id": IDS, "conversation_scenario": SCENARIOS}),
)
EVAL_SETS = objects(
    {
        "eval_set_id": IDS,
        "eval_cases": st.lists(CASES, max_size=2, unique_by=lambda case: str(case["eval_id"])),
    },
    name=TEXTS,
    description=TEXTS,
)


@given(EVAL_SETS, st.booleans())
def test_eval_set_written_as_json_is_read_as_the_same(document: dict[str, Any], by_alias: bool) -> None:
    eval_set = EvalSet.model_validate(document)
    text = eval_set.model_dump_json(by_alias=by_alias)
    assert parse_eval_set(text.encode(), "some.evalset.json", "some") == eval_set


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        pytest.param({}, "neither", id="neither"),
        pytest.param(
            {
                "conversation": [],
                "conversationScenario": {"starting_prompt": "Hi", "conversation_plan": "Ask."},
            },
            "both",
            id="both",
        ),
    ],
)
def test_case_has_either_a_conversation_or_a_scenario(keys: dict[str, object], found: str) -> None:
    with pytest.raises(ValidationError, match=f"found {found}"):
        EvalCase.model_validate({"eval_id": "a", **keys})


def test_keys_that_a_case_does_not_know_are_kept() -> None:
    case = EvalCase.model_validate({"eval_id": "a", "conversation": [], "owner": {"team": "shop"}})
    assert case.model_dump()["owner"] == {"team": "shop"}
