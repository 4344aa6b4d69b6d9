from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval.errors import InputError
from agent_eval.inputs.evalsets import eval_set_id_of, load_eval_set, parse_eval_set

TURN = {"user_content": {"parts": [{"text": "Hi"}]}}
CASE = {"eval_id": "a", "conversation": [TURN]}
KEYS = (
    "eval_set_id eval_cases eval_id conversation user_content parts text function_call args "
    "intermediate_data tool_uses invocation_events content session_input state rubrics rubric_id "
    "name data query reference"
)
"""Keys of the current form and of the old one."""

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS.split()), inner)
)

RUBRIC = {"rubric_id": "r", "rubric_content": {"text_property": "Is polite."}}


def set_of(*cases: Any) -> dict[str, Any]:
    return {"eval_set_id": "s", "eval_cases": list(cases)}


def case_with_turn(**keys: Any) -> dict[str, Any]:
    return {"eval_id": "a", "conversation": [keys]}


def refusal(document: str | bytes | Any) -> str:
    """What is said of a document, written one key a line unless it is given as text or bytes."""
    if not isinstance(document, str | bytes):
        document = json.dumps(document, indent=1)
    data = document if isinstance(document, bytes) else document.encode()
    with pytest.raises(InputError) as refused:
        parse_eval_set(data, "s.evalset.json", "s")
    return str(refused.value)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param(
            set_of({"eval_id": "a", "converstion": []}),
            "s.evalset.json:4: eval_cases[0]: expected exactly one of `conversation` and "
            "`conversation_scenario`, found neither (`converstion`: did you mean `conversation`?)",
            id="slip in conversation",
        ),
        pytest.param(
            set_of(
                CASE, {**CASE, "conversation_scenario": {"starting_prompt": "x", "conversation_plan": "y"}}
            ),
            "eval_cases[1]: expected exactly one of `conversation` and `conversation_scenario`, found both",
            id="conversation and scenario",
        ),
        pytest.param(
            set_of(case_with_turn(user_contents={})),
            "s.evalset.json:7: eval_cases[0].conversation[0].user_content: required, but not there "
            "(`user_contents`: did you mean `user_content`?)",
            id="slip in user_content",
        ),
        pytest.param(
            set_of(case_with_turn(userContent={"parts": [{"text": "a"}, {"txt": "b"}]})),
            "s.evalset.json:14: eval_cases[0].conversation[0].userContent.parts[1].txt: unknown key `txt` "
            "(did you mean `text`?)",
            id="slip in a part, under a camelCase key",
        ),
        pytest.param(
            set_of(case_with_turn(user_content="Hi")),
            's.evalset.json:8: eval_cases[0].conversation[0].user_content: expected an object, got "Hi"',
            id="text for a content",
        ),
        pytest.param(
            set_of(case_with_turn(**TURN, intermediate_data={"tool_uses": [{"tool_name": "f"}]})),
            "intermediate_data.tool_uses[0].tool_name: unknown key `tool_name` (write `name`)",
            id="key of the old form",
        ),
        pytest.param(
            set_of(
                {
                    "eval_id": "a",
                    "conversation_scenario": {
                        "starting_prompt": "Hi",
                        "conversation_plan": "Ask.",
                        "user_persona": "EXPRT",
                    },
                }
            ),
            "user_persona: unknown persona id `EXPRT`; the pre-built ones are EXPERT, NOVICE, EVALUATOR "
            "(did you mean `EXPERT`?)",
            id="slip in a persona",
        ),
        pytest.param(
            {"eval_set_id": "s", "eval_case": []},
            "s.evalset.json:1: eval_cases: required, but not there (`eval_case`: did you mean `eval_cases`?)",
            id="slip in eval_cases",
        ),
        pytest.param(
            set_of({**CASE, "evalId": "b"}),
            "eval_cases[0]: `eval_id` and `evalId` are the same key, given twice with different values",
            id="two spellings of a key",
        ),
        pytest.param(
            set_of(CASE, {**CASE, "eval_id": "b"}, CASE),
            "s.evalset.json:33: eval_cases[2].eval_id: duplicate eval id `a` "
            "(eval_cases[0] has it already; each case needs an id of its own)",
            id="duplicate eval ids",
        ),
        pytest.param(
            set_of({**CASE, "rubrics": [RUBRIC, RUBRIC]}),
            "eval_cases[0].conversation[0].rubrics: duplicate rubric id `r`",
            id="duplicate rubric ids",
        ),
        pytest.param(
            set_of({**CASE, "eval_id": ""}),
            "s.evalset.json:5: eval_cases[0].eval_id: the id is empty",
            id="empty eval id",
        ),
        pytest.param({**set_of(CASE), "eval_set_id": ""}, "eval_set_id: the id is empty", id="empty set id"),
        pytest.param({}, "eval_set_id: required, but not there", id="empty object"),
        pytest.param('""', 'expected an eval set, got ""', id="empty text in the file"),
        pytest.param("3", "expected an eval set, got 3 (an eval set is an object with", id="a number"),
    ],
)
def test_refusal_names_file_line_place_and_what_to_do(document: Any, message: str) -> None:
    found = refusal(document)
    assert message in found
    assert all(line.startswith("s.evalset.json") for line in found.splitlines())


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param(
            '{"eval_set_id": "s",\n "eval_cases": [}', "s.evalset.json:2: not JSON: ", id="not JSON"
        ),
        pytest.param('{"eval_cases": []} x', "s.evalset.json:1: not JSON: unexpected content", id="rest"),
        pytest.param('{"a":\n\nNaN}', "s.evalset.json:3: not JSON: ", id="NaN"),
        pytest.param('{"a": 1e999}', "s.evalset.json:1: not JSON: number is infinity", id="out of range"),
        pytest.param("[" * 100_000, "s.evalset.json:1: not JSON: ", id="nested too deep"),
        pytest.param(
            '{"a":\n "é"}'.encode("latin-1"),
            "s.evalset.json:2: not UTF-8: byte 0xe9 at offset 8 (save the file as UTF-8)",
            id="not UTF-8",
        ),
        pytest.param(
            "{}".encode("utf-16"), "s.evalset.json:1: not UTF-8: byte 0xff at offset 0", id="UTF-16"
        ),
        pytest.param(b"", "s.evalset.json: the file is empty", id="empty"),
        pytest.param(b"\xef\xbb\xbf \n", "s.evalset.json: the file is empty", id="blank after its mark"),
    ],
)
def test_file_that_is_no_document_is_refused(document: str | bytes, message: str) -> None:
    assert refusal(document).startswith(message)


@given(DOCUMENTS.map(json.dumps).map(str.encode) | st.binary())
def test_any_file_is_read_or_refused_by_name(data: bytes) -> None:
    refusal = ""
    try:
        parse_eval_set(data, "s.evalset.json", "s")
    except InputError as error:
        refusal = str(error)
    assert all(line.startswith("s.evalset.json") for line in refusal.splitlines())


def test_everything_wrong_is_said_at_once() -> None:
    wrong = set_of({"eval_id": 1, "conversation": [{"user_content": {"parts": "Hi"}}]}, {"eval_id": "b"})
    assert [line.split(": ")[1] for line in refusal(wrong).splitlines()] == [
        "eval_cases[0].eval_id",
        "eval_cases[0].conversation[0].user_content.parts",
        "eval_cases[1]",
    ]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param(
            [{"name": "a", "data": [{"querry": "Hi"}]}],
            "s.evalset.json:5: [0].data[0].query: required, but not there (`querry`: did you mean `query`?)",
            id="slip in query",
        ),
        pytest.param(
            [{"query": "Hi", "expected_tool_use": [{"tool_name": "f"}]}],
            "[0].expected_tool_use[0].tool_input: required, but not there",
            id="tool call without input",
        ),
        pytest.param([1], "s.evalset.json:2: [0]: expected an object, got 1", id="numbers"),
        pytest.param(
            [{"name": "a", "data": 5}], "s.evalset.json:4: [0].data: expected a list, got 5", id="no list"
        ),
    ],
)
def test_refusal_of_an_old_form_names_the_place(document: Any, message: str) -> None:
    assert message in refusal(document)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(json.dumps(set_of(CASE)).encode("utf-8-sig"), id="byte order mark"),
        pytest.param(json.dumps(json.dumps(set_of(CASE))).encode(), id="encoded twice"),
        pytest.param(json.dumps({"evalSetId": "s", "evalCases": [CASE]}).encode(), id="camelCase"),
        pytest.param(json.dumps([CASE]).encode(), id="bare list of cases"),
        pytest.param(json.dumps({"$schema": "x", **set_of(CASE)}).encode(), id="unknown key of the set"),
    ],
)
def test_forms_that_adk_refuses_are_read_as_the_plain_one(data: bytes) -> None:
    plain = parse_eval_set(json.dumps(set_of(CASE)).encode(), "s.evalset.json", "s")
    assert parse_eval_set(data, "s.evalset.json", "s") == plain


def test_flat_list_of_turns_is_one_case_named_like_the_file(tmp_path: Path) -> None:
    path = tmp_path / "orders.test.json"
    turns = [
        {"query": "Where is it?", "expected_tool_use": [{"tool_name": "f", "tool_input": {"n": 1}}]},
        {"query": "Thanks", "reference": "You are welcome."},
    ]
    path.write_text(json.dumps(turns))
    eval_set = load_eval_set(path).eval_set
    (case,) = eval_set.eval_cases
    assert (eval_set.eval_set_id, case.eval_id) == ("orders", "orders")
    assert case.conversation is not None
    assert [turn.user_content.text for turn in case.conversation] == ["Where is it?", "Thanks"]
    assert case.conversation[1].final_response is not None
    assert case.conversation[1].final_response.text == "You are welcome."


@pytest.mark.parametrize(
    ("name", "eval_set_id"),
    [
        ("orders.evalset.json", "orders"),
        ("orders.test.json", "orders"),
        ("orders.json", "orders"),
        ("orders.v2.json", "orders.v2"),
        ("orders", "orders"),
        (".json", ".json"),
    ],
)
def test_id_of_a_set_in_a_list_form(name: str, eval_set_id: str) -> None:
    assert eval_set_id_of(Path("folder", name)) == eval_set_id


def test_missing_file_is_refused_with_the_name_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "orders.evalset.json").write_text("{}")
    path = tmp_path / "order.evalset.json"
    assert load_refusal(path) == f"{path}: no such file (did you mean `orders.evalset.json`?)"


def test_missing_folder_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "no_folder" / "orders.evalset.json"
    assert load_refusal(path) == f"{path}: no such file (there is no folder `{path.parent}`)"


def test_directory_is_refused(tmp_path: Path) -> None:
    assert load_refusal(tmp_path) == f"{tmp_path}: is a directory, expected a file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe.evalset.json"
    os.mkfifo(path)
    assert load_refusal(path) == f"{path}: is not a regular file"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read any file")
def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.evalset.json"
    path.write_text("{}")
    path.chmod(0)
    assert load_refusal(path) == f"{path}: cannot be read: Permission denied"


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"], ids=["too long", "null byte"])
def test_impossible_file_name_is_refused(name: str) -> None:
    assert "cannot be read: " in load_refusal(Path(name))


def test_loaded_set_carries_the_digest_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "s.evalset.json"
    path.write_text(json.dumps(set_of(CASE)))
    assert load_eval_set(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def load_refusal(path: Path) -> str:
    with pytest.raises(InputError) as refused:
        load_eval_set(path)
    return str(refused.value)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"eval_set_id": "s", "eval_cases": [{"eval_id": 1}] * 300}, id="cases"),
        pytest.param(
            {"eval_set_id": "s", "eval_cases": [{"eval_id": "", "conversation": []}] * 300}, id="ids"
        ),
        pytest.param([{"query": 1}] * 300, id="old form"),
    ],
)
def test_of_many_mistakes_the_first_are_told(document: Any) -> None:
    with pytest.raises(InputError) as caught:
        parse_eval_set(json.dumps(document).encode(), "s.evalset.json", "s")
    assert len(caught.value.problems) == 101
    assert caught.value.problems[-1].message == "and more like these"


def test_of_a_long_file_the_first_bad_case_is_told() -> None:
    good = {"eval_id": "a", "conversation": [{"user_content": {"parts": [{"text": "x" * 300_000}]}}]}
    document = {"eval_set_id": "s", "eval_cases": [good, 1, 2]}
    with pytest.raises(InputError) as caught:
        parse_eval_set(json.dumps(document).encode(), "s.evalset.json", "s")
    assert [problem.path for problem in caught.value.problems] == ["eval_cases[1]"]
