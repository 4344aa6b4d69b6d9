"""The journal: records that were written are read, whatever was in them and however the process ended."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent_eval.schema.result import (
    ErrorInfo,
    InvocationScore,
    MetricResult,
    RubricScore,
    RunRecord,
    RunStatus,
    SessionRecord,
)
from agent_eval.schema.trace import (
    Blob,
    Content,
    EvalStatus,
    FunctionCall,
    FunctionResponse,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    Part,
)
from agent_eval.store.journal import SUFFIX, Journal, read_journal

GOLDEN = Path(__file__).parents[1] / "data" / "results" / f"schema_1{SUFFIX}"


def record(eval_id: str = "a", **keys: Any) -> RunRecord:
    fixed = {"eval_set_id": "s", "run_index": 0, "seed": 1, "started": "2026-01-31T09:30:00.250Z"}
    return RunRecord(eval_id=eval_id, **fixed | {"status": RunStatus.COMPLETED, "seconds": 0.5} | keys)


def written(path: Path, *records: RunRecord) -> Path:
    with Journal(path) as journal:
        for one in records:
            journal.append(one)
    return path


def read_back(folder: Path, one: RunRecord) -> RunRecord:
    path = folder / "one.runs.jsonl"
    path.unlink(missing_ok=True)
    (read,) = read_journal(written(path, one))
    return read


def full_record() -> RunRecord:
    call = FunctionCall(id="c1", name="look_up", args={"order_id": "A1", "limits": [1, 2.5, None]})
    answer = FunctionResponse(id="c1", name="look_up", response={"found": True})
    picture = Blob(data=b"\x89PNG\xff\x00", mime_type="image/png")
    steps = [
        InvocationEvent(author="bot", content=Content(role="model", parts=[Part(function_call=call)])),
        InvocationEvent(author="bot", content=Content(role="user", parts=[Part(function_response=answer)])),
        InvocationEvent(author="bot", content=Content(role="model", parts=[Part(inline_data=picture)])),
    ]
    turn = Invocation(
        invocation_id="i1",
        user_content=Content(role="user", parts=[Part(text="注文 A1? 👍\n\t")]),
        final_response=Content(role="model", parts=[Part(text="sent", thought_signature=b"\xff\xfe")]),
        intermediate_data=InvocationEvents(invocation_events=steps),
        duration=0.25,
    )
    metric = MetricResult(
        metric_name="m",
        status=EvalStatus.FAILED,
        score=0.25,
        threshold=0.5,
        per_invocation=[InvocationScore(score=0.25, status=EvalStatus.FAILED, details={"x": 1.0})],
        rubric_scores=[RubricScore(rubric_id="r", rationale="no", score=0.0)],
        error=ErrorInfo(type="ValueError", message="odd", traceback="Traceback\n"),
    )
    session = SessionRecord(app_name="bot", user_id="u", session_id="s", state={"cart": {"apple": 2}})
    return record(invocations=[turn], metrics=[metric], session=session)


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_back(tmp_path, full_record()) == full_record()


def test_records_are_read_in_the_order_in_which_they_were_appended(tmp_path: Path) -> None:
    path = written(tmp_path / "j.runs.jsonl", record("b"), record("a"), record("c"))

    assert [one.eval_id for one in read_journal(path)] == ["b", "a", "c"]


def test_record_can_be_read_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "j.runs.jsonl"

    with Journal(path) as journal:
        journal.append(record("a"))
        assert [one.eval_id for one in read_journal(path)] == ["a"]
        journal.append(record("b"))
        assert [one.eval_id for one in read_journal(path)] == ["a", "b"]


def test_torn_last_line_is_left_out_wherever_it_was_torn(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.runs.jsonl", record("a"), record("b")).read_bytes()
    first = whole.index(b"\n") + 1
    torn = tmp_path / "torn.runs.jsonl"

    for end in range(first, len(whole)):
        torn.write_bytes(whole[:end])
        assert [one.eval_id for one in read_journal(torn)] == ["a"]


def test_line_that_is_no_record_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = written(tmp_path / "j.runs.jsonl", record("a"))
    with path.open("ab") as file:
        file.write(b'{"eval_id": "b"}\n')

    with pytest.raises(ValueError, match=r"j\.runs\.jsonl:2: not a run record"):
        list(read_journal(path))


def test_journal_of_another_evaluation_is_not_written_to(tmp_path: Path) -> None:
    path = written(tmp_path / "j.runs.jsonl", record("a"))

    with pytest.raises(FileExistsError):
        Journal(path)


def test_journal_without_records_is_empty(tmp_path: Path) -> None:
    path = written(tmp_path / "j.runs.jsonl")

    assert list(read_journal(path)) == []


TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
"""Also what is no Unicode: lone surrogates."""
INTEGERS = st.integers() | st.integers(-(10**60), 10**60)
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats() | TEXTS | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS | st.integers() | st.none(), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(state=st.dictionaries(TEXTS, VALUES, max_size=3), text=TEXTS)
@example(state={"\ud800": "\udfff"}, text="half a pair \ud83d")
@example(state={"nan": math.nan, "inf": [math.inf, -math.inf]}, text="\x00\x1b[31m")
@example(state={"big": 10**400, "small": -(2**63) - 1, "word": 2**64}, text="")
@example(state={"bytes": b"\xff\x00", "tuple": ((1,), {2}), "keys": {None: {1: {True: 1.5}}}}, text="\u2028")
def test_whatever_an_agent_leaves_is_written_and_read(
    tmp_path: Path, state: dict[str, Any], text: str
) -> None:
    session = SessionRecord(app_name="bot", user_id=text, session_id="s", state=state)
    call = FunctionCall(name=text, args=state)
    step = InvocationEvent(author=text, content=Content(parts=[Part(function_call=call)]))
    turn = Invocation(
        user_content=Content(parts=[Part(text=text)]),
        intermediate_data=InvocationEvents(invocation_events=[step]),
    )
    error = ErrorInfo(type="ValueError", message=text, traceback=text)

    read = read_back(tmp_path, record(text, session=session, invocations=[turn], error=error))

    assert len(read.invocations) == 1
    assert read.session
    assert len(read.session.state) <= len(state)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        pytest.param(10**30, 10**30, id="huge integer"),
        pytest.param(math.nan, None, id="not a number"),
        pytest.param(-math.inf, None, id="infinity"),
        pytest.param((1, "a"), [1, "a"], id="tuple"),
        pytest.param({7: "seven"}, {"7": "seven"}, id="number as a key"),
        pytest.param("\u2028 \x00 \U0001f600", "\u2028 \x00 \U0001f600", id="any Unicode"),
        pytest.param(Path("a/b"), "a/b", id="path"),
        pytest.param(Decimal("1.50"), "1.50", id="decimal"),
        pytest.param(EvalStatus.PASSED, "PASSED", id="enum"),
        pytest.param(datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00Z", id="time"),
    ],
)
def test_value_is_kept_as_json_has_it(tmp_path: Path, value: object, read: object) -> None:
    session = SessionRecord(app_name="bot", user_id="u", session_id="s", state={"value": value})

    found = read_back(tmp_path, record(session=session)).session

    assert found
    assert found.state == {"value": read}


def test_object_that_json_does_not_know_is_written_as_text(tmp_path: Path) -> None:
    session = SessionRecord(app_name="bot", user_id="u", session_id="s", state={"value": object()})

    found = read_back(tmp_path, record(session=session)).session

    assert found
    assert found.state["value"].startswith("<object object")


def test_lines_are_json_without_what_is_at_its_default(tmp_path: Path) -> None:
    line = written(tmp_path / "j.runs.jsonl", record("a")).read_text()

    assert json.loads(line) == {
        "eval_set_id": "s",
        "eval_id": "a",
        "run_index": 0,
        "seed": 1,
        "started": "2026-01-31T09:30:00.250Z",
        "seconds": 0.5,
    }


def test_journal_of_the_first_schema_is_read() -> None:
    records = list(read_journal(GOLDEN))

    assert [(one.eval_id, one.run_index, one.status) for one in records] == [
        ("cancel", 1, RunStatus.CRASHED),
        ("status", 0, RunStatus.COMPLETED),
        ("cancel", 0, RunStatus.COMPLETED),
        ("status", 1, RunStatus.COMPLETED),
    ]
    crashed, good, wrong, _ = records
    assert crashed.error
    assert (crashed.error.type, crashed.error.message) == ("RuntimeError", "socket reset")
    assert good.session
    assert good.session.state == {"order_id": "A1", "asked": "Where is my order?"}
    assert wrong.invocations[0].user_content.text == "Please cancel it. Größe 注文"
    trajectory = wrong.metric("tool_trajectory_avg_score")
    assert trajectory
    assert (trajectory.score, trajectory.status) == (0.0, EvalStatus.FAILED)
