from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from agent_eval.schema.trace import (
    Blob,
    Content,
    FunctionCall,
    FunctionResponse,
    IntermediateData,
    Invocation,
    InvocationEvents,
    Part,
    get_all_tool_calls,
    get_all_tool_calls_with_responses,
)


@pytest.mark.parametrize("key", ["video_metadata", "videoMetadata"])
def test_key_that_only_the_sdk_knows_is_kept(key: str) -> None:
    part = Part.model_validate({"text": "Look.", key: {"fps": 2, "startOffset": "1s"}})
    kept = {"text": "Look.", "video_metadata": {"fps": 2.0, "start_offset": "1s"}}
    assert part.model_dump(exclude_none=True) == kept
    assert Part.model_validate(kept) == part


@pytest.mark.parametrize(
    ("model", "document", "message"),
    [
        pytest.param(Part, {"txt": "x"}, "unknown key `txt`; Part has .*text.*video_metadata", id="part"),
        pytest.param(Content, {"texts": "x"}, "unknown key `texts`; Content has parts, role", id="content"),
        pytest.param(
            FunctionCall, {"tool_name": "f"}, "unknown key `tool_name`; FunctionCall has", id="call"
        ),
    ],
)
def test_key_that_the_sdk_does_not_know_is_refused(model: Any, document: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        model.model_validate(document)


def test_value_that_the_sdk_refuses_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"video_metadata\.fps: Input should be a valid number"):
        Part.model_validate({"video_metadata": {"fps": "fast"}})


@pytest.mark.parametrize("module", ["agent_eval.schema.trace", "agent_eval.inputs.evalsets"])
def test_schema_is_imported_and_read_without_the_sdk(module: str) -> None:
    code = f"""
import sys, {module}
from agent_eval.schema.evalset import EvalSet
turn = {{"user_content": {{"parts": [{{"text": "Hi", "thought": False}}]}}}}
EvalSet.model_validate(
    {{"eval_set_id": "s", "eval_cases": [{{"eval_id": "a", "conversation": [turn]}}]}}
)
assert not [name for name in sys.modules if name.startswith("google")]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("alphabet", ["aGk/+w==", "aGk_-w=="])
def test_inline_bytes_are_read_from_both_base64_alphabets(alphabet: str) -> None:
    assert Blob.model_validate_json(f'{{"data": "{alphabet}"}}').data == b"hi?\xfb"


def test_text_of_a_content_joins_what_is_said_and_leaves_thoughts_out() -> None:
    parts = [Part(text="Hm.", thought=True), Part(text="One."), Part(text=""), Part(text="Two.")]
    assert Content(parts=parts).text == "One.\nTwo."
    assert Content().text == ""


@pytest.mark.parametrize(
    ("document", "form"),
    [
        pytest.param({"tool_uses": [{"name": "f"}]}, IntermediateData, id="lists"),
        pytest.param({}, IntermediateData, id="empty"),
        pytest.param(
            {"invocationEvents": [{"author": "a", "content": {"parts": [{"functionCall": {"name": "f"}}]}}]},
            InvocationEvents,
            id="events",
        ),
    ],
)
def test_step_data_is_read_in_either_form(document: Any, form: type) -> None:
    steps = Invocation.model_validate({"user_content": {}, "intermediate_data": document}).intermediate_data
    assert isinstance(steps, form)
    assert [call.name for call in get_all_tool_calls(steps)] == (["f"] if document else [])


def test_tool_calls_are_paired_with_the_responses_that_carry_their_id() -> None:
    call, unanswered = FunctionCall(id="1", name="f"), FunctionCall(id="2", name="g")
    response = FunctionResponse(id="1", name="f", response={"ok": True})
    steps = IntermediateData(tool_uses=[call, unanswered], tool_responses=[response])
    assert get_all_tool_calls_with_responses(steps) == [(call, response), (unanswered, None)]
    assert get_all_tool_calls_with_responses(None) == []


def test_values_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Content().role = "user"
