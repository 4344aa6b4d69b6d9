"""ADK's result files: what is written is in ADK's form, and what any ADK wrote is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from agent_eval.errors import InputError
from agent_eval.schema.result import (
    AgentRef,
    ConfigRef,
    ErrorInfo,
    EvalResult,
    EvalSetRef,
    ExpectedTurn,
    InvocationScore,
    MetricResult,
    Provenance,
    RubricScore,
    RunRecord,
    RunStatus,
    SessionRecord,
    Totals,
)
from agent_eval.schema.trace import (
    Blob,
    Content,
    EvalStatus,
    FunctionCall,
    FunctionResponse,
    Incident,
    IntermediateData,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    Part,
    UsageMetadata,
)
from agent_eval.store.adk_reading import AdkResult, read_adk_result
from agent_eval.store.adk_results import adk_document, write_adk_result

DATA = Path(__file__).parents[1] / "data" / "adk_results"
REAL_RUNS = Path(__file__).parents[3] / "shared" / "conformance" / "e2e" / "runs"
"""More files, where this repository has them beside it."""

FAILING = DATA / "one_failing.evalset_result.json"
GATE = {"metric_name": "gate", "threshold": 0.5, "score": 1.0, "eval_status": 1}
CASE = {"eval_id": "a", "final_eval_status": 1, "overall_eval_metric_results": [GATE]}


def document(*cases: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """An ADK result with no more than it must have."""
    return {"eval_set_id": "s", "eval_case_results": list(cases or (CASE,)), **keys}


def read(document: object) -> AdkResult:
    return read_adk_result(json.dumps(document), "r.json")


# Reading


@pytest.mark.parametrize(
    "file",
    [*sorted(DATA.iterdir()), *sorted(REAL_RUNS.glob("*/*.evalset_result.json"))],
    ids=lambda file: f"{file.parent.name}/{file.name}",
)
def test_result_that_adk_wrote_is_read(file: Path) -> None:
    text = json.loads(file.read_bytes())
    raw = json.loads(text) if isinstance(text, str) else text

    found = read_adk_result(file.read_bytes(), file.name)

    assert found.eval_set_id == raw["eval_set_id"]
    assert found.agent == "shop_agent"
    assert [case.eval_id for case in found.cases] == [case["eval_id"] for case in raw["eval_case_results"]]
    for case, written in zip(found.cases, raw["eval_case_results"], strict=True):
        (run,) = case.runs
        assert list(EvalStatus)[written["final_eval_status"] - 1] is case.counted_as[0]
        assert [metric.score for metric in run.metrics] == [
            metric["score"] for metric in written["overall_eval_metric_results"]
        ]
        assert len(run.invocations) == len(written["eval_metric_result_per_invocation"])


def test_run_has_all_that_the_file_says_of_it() -> None:
    (case,) = read_adk_result(FAILING.read_bytes(), "r.json").cases
    (run,) = case.runs

    trajectory, response = run.metrics[:2]
    assert (trajectory.metric_name, trajectory.status, trajectory.score, trajectory.threshold) == (
        "tool_trajectory_avg_score",
        EvalStatus.FAILED,
        0.0,
        1.0,
    )
    assert response.per_invocation == [InvocationScore(score=1.0, status=EvalStatus.PASSED)]
    tokens = run.metric("token_usage_v1")
    assert tokens
    assert tokens.status is EvalStatus.INFORMATIONAL
    assert tokens.details
    assert tokens.details["prompt_tokens"] == 240.0
    (turn,) = run.invocations
    assert turn.user_content.text == "Please double check order 1004."
    assert turn.intermediate_data
    assert [call.name for call in turn.intermediate_data.tool_uses] == ["get_order", "check_stock"]
    assert run.expected
    assert run.expected[0].intermediate_data
    assert [call.name for call in run.expected[0].intermediate_data.tool_uses] == ["get_order"]
    assert (run.seconds, run.started) == (0.424, "2026-11-30T15:48:41.513Z")
    assert run.status is RunStatus.COMPLETED


def test_failure_without_metrics_is_a_crash() -> None:
    (case,) = read_adk_result((DATA / "one_raising.evalset_result.json").read_bytes(), "r.json").cases
    (run,) = case.runs

    assert run.status is RunStatus.CRASHED
    assert run.error
    assert "does not say why" in run.error.message


def test_session_tells_what_ended_a_crashed_run() -> None:
    crash = {"error_code": "ResourceExhausted", "error_message": "quota"}
    session = {"id": "1", "app_name": "bot", "user_id": "u", "state": {"x": None}, "events": [crash]}
    result = read(document({"eval_id": "a", "final_eval_status": 2, "session_details": session}))

    (run,) = result.cases[0].runs
    assert run.error == ErrorInfo(type="ResourceExhausted", message="quota")
    assert run.session == SessionRecord(app_name="bot", user_id="u", session_id="1", state={"x": None})
    assert result.agent == "bot"


def camel(value: Any) -> Any:
    """The document with camelCase keys, except where keys are the user's."""
    if isinstance(value, dict):
        kept = ("args", "response", "state", "tool_declarations")
        return {to_camel(key): item if key in kept else camel(item) for key, item in value.items()}
    return [camel(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(camel, id="camelCase"),
        pytest.param(json.dumps, id="encoded twice"),
        pytest.param(lambda document: json.dumps(camel(document), indent=1), id="both"),
    ],
)
def test_other_spelling_is_the_same_result(spelled: Callable[[Any], Any]) -> None:
    plain = json.loads(FAILING.read_bytes())

    assert read(spelled(plain)) == read(plain)


def test_pairs_of_older_versions_are_the_overall_results() -> None:
    pair = [
        {"metric_name": "gate", "threshold": 0.5, "judge_model_options": None},
        {"score": 0.75, "eval_status": 1},
    ]
    old = {"eval_set_file": "s.json", "eval_id": "a", "final_eval_status": 1, "eval_metric_results": [pair]}

    (case,) = read(document(old, creation_timestamp=1.5)).cases

    assert case.runs[0].metrics == [
        MetricResult(metric_name="gate", status=EvalStatus.PASSED, score=0.75, threshold=0.5)
    ]
    assert case.runs[0].started == "1970-01-01T00:00:01.500Z"


def test_what_other_versions_have_is_passed_over() -> None:
    new = json.loads(FAILING.read_bytes())
    known = read(new)
    row = new["eval_case_results"][0]["eval_metric_result_per_invocation"][0]
    for place in (
        new,
        new["eval_case_results"][0],
        row,
        row["eval_metric_results"][0],
        row["actual_invocation"],
        row["actual_invocation"]["user_content"]["parts"][0],
        row["actual_invocation"]["intermediate_data"]["invocation_events"][0],
    ):
        place["brand_new"] = {"a": 1}

    assert read(new) == known


def test_runs_of_one_case_are_counted_from_zero() -> None:
    other = {**CASE, "eval_id": "b"}

    cases = read(document(CASE, other, {**CASE, "final_eval_status": 2})).cases

    assert [(case.eval_id, [run.run_index for run in case.runs]) for case in cases] == [
        ("a", [0, 1]),
        ("b", [0]),
    ]
    assert cases[0].counted_as == [EvalStatus.PASSED, EvalStatus.FAILED]


def test_criterion_keeps_its_options_and_a_threshold_becomes_one() -> None:
    options = {"threshold": 0.7, "match_type": "IN_ORDER"}
    metrics = [{**GATE, "criterion": options}, {**GATE, "metric_name": "bare"}]
    unknown = {"metric_name": "unknown", "eval_status": 3}

    found = read(document({**CASE, "overall_eval_metric_results": [*metrics, unknown]}))

    gate, bare, none = found.criteria["gate"], found.criteria["bare"], found.criteria["unknown"]
    assert gate
    assert gate.model_dump() == {**options, "include_intermediate_responses_in_final": False}
    assert bare
    assert bare.threshold == 0.5
    assert none is None
    assert found.cases[0].runs[0].metrics[0].threshold == 0.7


def test_informational_metric_that_was_not_computed_does_not_gate() -> None:
    tokens = {"metric_name": "token_usage_v1", "eval_status": 3}

    found = read(document({**CASE, "overall_eval_metric_results": [GATE, tokens]}))

    assert list(found.criteria) == ["gate"]
    assert found.cases[0].runs[0].metrics[1].status is EvalStatus.INFORMATIONAL


def changed(**keys: Any) -> dict[str, Any]:
    return document({**CASE, **keys})


@pytest.mark.parametrize(
    ("given", "place", "why"),
    [
        (changed(final_eval_status="passed"), "eval_case_results[0].final_eval_status", '"passed" is no'),
        (changed(final_eval_status="PASSED"), "eval_case_results[0].final_eval_status", '"PASSED" is no'),
        (changed(final_eval_status=5), "eval_case_results[0].final_eval_status", "5 is no status"),
        (changed(final_eval_status=True), "eval_case_results[0].final_eval_status", "true is no status"),
        (camel(changed(final_eval_status=None)), "evalCaseResults[0].finalEvalStatus", "null is no status"),
        (
            changed(overall_eval_metric_results=[{**GATE, "criterion": {"toolTrajectory": {}}}]),
            "eval_case_results[0].overall_eval_metric_results[0].criterion.threshold",
            "required, but not there",
        ),
        (
            changed(overall_eval_metric_results=[{**GATE, "score": "high"}]),
            "eval_case_results[0].overall_eval_metric_results[0].score",
            "valid number",
        ),
        (
            changed(eval_metric_result_per_invocation=[{"actual_invocation": {"user_content": "hi"}}]),
            "eval_case_results[0].eval_metric_result_per_invocation[0].actual_invocation.user_content",
            "object",
        ),
        ({"eval_set_id": "s", "eval_case_results": []}, "eval_case_results", "at least 1 item"),
        ({"eval_set_id": "s"}, "evalCaseResults", "required, but not there"),
        (document(creation_timestamp=1.8e15), "creation_timestamp", "less than or equal to"),
        ([], None, "object"),
        (7, None, "object"),
    ],
)
def test_other_dialect_is_refused_with_the_place_and_the_reason(
    given: object, place: str | None, why: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(given)

    (problem,) = refused.value.problems
    assert problem.file == "r.json"
    assert problem.path == place
    assert why in problem.message


@pytest.mark.parametrize("text", ["", "{", '"half', '"not a document"', "NaN"])
def test_text_that_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"r\.json:1: not JSON"):
        read_adk_result(text, "r.json")


def test_refusal_names_the_line() -> None:
    text = FAILING.read_text().replace('"final_eval_status": 2', '"final_eval_status": "failed"')

    with pytest.raises(InputError, match=r"r\.json:10: eval_case_results\[0\]\.final_eval_status: "):
        read_adk_result(text, "r.json")


# Writing


def step(*parts: Part, role: str = "model", **keys: Any) -> InvocationEvent:
    return InvocationEvent(author="bot", content=Content(role=role, parts=list(parts)), **keys)


def turn() -> Invocation:
    """A tool call and an answer, as a run records them."""
    call = FunctionCall(id="c1", name="look_up", args={"order_id": "A1", "note": None})
    answer = FunctionResponse(id="c1", name="look_up", response={"found": True})
    return Invocation(
        invocation_id="i1",
        user_content=Content(role="user", parts=[Part(text="A1?"), Part(inline_data=Blob(data=b"\xff\xfe"))]),
        final_response=Content(role="model", parts=[Part(text="sent", thought_signature=b"\xfb\xff")]),
        intermediate_data=InvocationEvents(
            invocation_events=[
                step(Part(function_call=call)),
                step(Part(function_response=answer), role="user", mocked=["c1"]),
                InvocationEvent(author="bot", usage_metadata=UsageMetadata(prompt_token_count=7)),
            ]
        ),
        creation_timestamp=100.0,
        duration=3.0,
        incidents=[Incident(author="bot", code="MAX_TOKENS", step=2)],
    )


def record(eval_id: str = "a", **keys: Any) -> RunRecord:
    expected = ExpectedTurn(
        final_response=Content(parts=[Part(text="sent")]),
        intermediate_data=IntermediateData(tool_uses=[FunctionCall(name="look_up")]),
    )
    tokens = {"total_tokens": 7.0, "input_tokens": 7.0, "prompt_tokens": 7.0}
    fixed: dict[str, Any] = {
        "eval_set_id": "s",
        "run_index": 0,
        "seed": 0,
        "status": RunStatus.COMPLETED,
        "started": "1970-01-01T00:01:40.000Z",
        "seconds": 3.0,
        "session": SessionRecord(app_name="bot", user_id="u", session_id="1", state={"x": None}),
        "invocations": [turn()],
        "expected": [expected],
        "metrics": [
            MetricResult(
                metric_name="gate",
                status=EvalStatus.FAILED,
                score=0.25,
                threshold=0.5,
                per_invocation=[InvocationScore(score=0.25, status=EvalStatus.FAILED)],
                rubric_scores=[RubricScore(rubric_id="r", score=0.0)],
            ),
            MetricResult(
                metric_name="token_usage_v1",
                score=7.0,
                details=tokens,
                per_invocation=[InvocationScore(score=7.0, details=tokens)],
            ),
        ],
    }
    return RunRecord(eval_id=eval_id, **fixed | keys)


def result(eval_set_id: str = "s") -> EvalResult:
    return EvalResult(
        result_id="r",
        created="2026-01-31T09:30:00.250Z",
        eval_set=EvalSetRef(eval_set_id=eval_set_id, path="s.json", sha256=""),
        agent=AgentRef(name="bot", kind="python", reference="bot"),
        config=ConfigRef(
            path=None,
            sha256="",
            criteria={"gate": {"threshold": 0.5, "extra": "kept"}},
            custom_metrics={"gate": "gates.gate"},
        ),
        provenance=Provenance(command="", seed=0, git_commit=None, git_dirty=None, packages={}),
        totals=Totals(cases=0, passed=0, failed=0, not_evaluated=0, flaky=0, duration_seconds=0, tokens={}),
        cases=[],
    )


def written(*records: RunRecord, eval_set_id: str = "s", app_name: str = "bot") -> dict[str, Any]:
    return adk_document(
        result(eval_set_id), records, app_name=app_name, status_of=lambda record: EvalStatus.FAILED
    )


def crashed() -> RunRecord:
    error = ErrorInfo(type="ValueError", message="odd", traceback="Traceback\n")
    return record(status=RunStatus.CRASHED, error=error, metrics=[])


def test_statuses_are_adks_numbers() -> None:
    (case,) = written(record())["eval_case_results"]

    assert case["final_eval_status"] == 2
    gate, tokens = case["overall_eval_metric_results"]
    assert (gate["eval_status"], gate["criterion"]) == (2, {"threshold": 0.5, "extra": "kept"})
    assert (tokens["eval_status"], tokens["criterion"], tokens["threshold"]) == (4, None, None)
    assert (gate["custom_function_path"], tokens["custom_function_path"]) == ("gates.gate", None)
    assert tokens["details"]["token_usage_details"]["prompt_tokens"] == 7.0
    (row,) = case["eval_metric_result_per_invocation"]
    assert [metric["eval_status"] for metric in row["eval_metric_results"]] == [2, 4]


def test_row_has_the_expected_turn_with_the_words_that_the_user_said() -> None:
    (case,) = written(record())["eval_case_results"]
    (row,) = case["eval_metric_result_per_invocation"]

    assert row["expected_invocation"]["user_content"] == row["actual_invocation"]["user_content"]
    assert row["expected_invocation"]["intermediate_data"] == {"tool_uses": [{"name": "look_up"}]}
    without = written(record(expected=None))["eval_case_results"][0]
    assert without["eval_metric_result_per_invocation"][0]["expected_invocation"] is None


def test_session_has_the_events_of_each_turn_in_order() -> None:
    (case,) = written(record())["eval_case_results"]

    session = case["session_details"]
    assert (session["id"], session["app_name"], session["user_id"]) == ("1", "bot", "u")
    assert session["state"] == {"x": None}
    events = session["events"]
    assert [(event["author"], list(event["content"]["parts"][0])) for event in events] == [
        ("user", ["text"]),
        ("bot", ["function_call"]),
        ("bot", ["function_response"]),
        ("bot", ["text", "thought_signature"]),
    ]
    assert events[-1]["usage_metadata"] == {"prompt_token_count": 7}
    assert [event["timestamp"] for event in events] == [100.0, 101.0, 102.0, 103.0]
    assert len({event["id"] for event in events}) == 4
    assert {event["invocation_id"] for event in events} == {"i1"}
    assert session["last_update_time"] == 103.0


def test_events_are_in_the_order_of_time_though_questions_are_rounded_to_milliseconds() -> None:
    turns = [turn().model_copy(update={"creation_timestamp": at}) for at in (100.0, 102.999)]

    (case,) = written(record(invocations=turns))["eval_case_results"]

    times = [event["timestamp"] for event in case["session_details"]["events"]]
    assert times == sorted(times)


def test_final_response_that_is_a_step_is_no_second_event() -> None:
    asking = Content(role="model", parts=[Part(function_call=FunctionCall(id="c", name="approve"))])
    steps = InvocationEvents(invocation_events=[InvocationEvent(author="bot", content=asking)])
    one = turn().model_copy(update={"final_response": asking, "intermediate_data": steps})

    (case,) = written(record(invocations=[one]))["eval_case_results"]

    assert len(case["session_details"]["events"]) == 2


def test_marks_that_adk_does_not_know_stay_out() -> None:
    document = json.dumps(written(record()))

    assert "mocked" not in document
    assert "incidents" not in document


def test_crashed_run_is_written_as_adk_writes_it_with_the_error_in_its_session() -> None:
    (case,) = written(crashed())["eval_case_results"]

    assert case["overall_eval_metric_results"] == case["eval_metric_result_per_invocation"] == []
    last = case["session_details"]["events"][-1]
    assert (last["error_code"], last["error_message"]) == ("ValueError", "odd")


def test_run_that_was_written_is_read_as_it_was() -> None:
    (case,) = read(written(record())).cases

    (run,) = case.runs
    unmarked = json.loads(record().model_dump_json(by_alias=False))
    unmarked["invocations"][0]["intermediate_data"]["invocation_events"][1]["mocked"] = None
    unmarked["invocations"][0]["incidents"] = None
    assert json.loads(run.model_dump_json(by_alias=False)) == unmarked


def test_crash_that_was_written_is_read_with_its_error() -> None:
    (case,) = read(written(crashed())).cases

    assert case.runs[0].status is RunStatus.CRASHED
    assert case.runs[0].error == ErrorInfo(type="ValueError", message="odd")


def test_file_is_where_adk_looks_for_it(tmp_path: Path) -> None:
    document = written(record())

    path = write_adk_result(document, tmp_path)

    assert path.parent == tmp_path / ".adk" / "eval_history"
    assert path.name == f"bot_s_{document['creation_timestamp']}.evalset_result.json"
    assert document["eval_set_result_id"] + ".evalset_result.json" == path.name
    assert list(path.parent.iterdir()) == [path]
    assert json.loads(path.read_bytes()) == json.loads(json.dumps(document, default=vars))


@pytest.mark.parametrize("eval_set_id", ["../../up", "a/b\\c:d", "x" * 500, "", "注文"])
def test_no_id_leads_out_of_the_agents_folder(tmp_path: Path, eval_set_id: str) -> None:
    path = write_adk_result(written(record(), eval_set_id=eval_set_id), tmp_path)

    assert path.parent == tmp_path / ".adk" / "eval_history"
    found = read_adk_result(path.read_bytes(), path.name)
    assert found.eval_set_id == eval_set_id
    assert found.agent == "bot"


@pytest.mark.parametrize("letter", ["x", "漢"])
def test_results_of_long_ids_do_not_replace_each_other(tmp_path: Path, letter: str) -> None:
    paths = {write_adk_result(written(record(), eval_set_id=letter * 500), tmp_path) for _ in range(2)}

    assert len(paths) == 2
