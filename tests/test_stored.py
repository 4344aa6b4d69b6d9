"""Stored results: a summary, a journal without one, ADK's files, and the verdicts computed from them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.schema.result import CaseResult, MetricResult, RunRecord, RunStatus
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.journal import SUFFIX, Journal
from agent_eval.stored import Stored, read_stored

GOLDEN = Path(__file__).parent / "data" / "results" / "schema_1.json"


def record(eval_id: str, score: float | None, **keys: Any) -> RunRecord:
    """A run whose only metric, with threshold 0.5, has this score; None for a crash."""
    passed = EvalStatus.PASSED if (score or 0) >= 0.5 else EvalStatus.FAILED
    metric = MetricResult(metric_name="gate", status=passed, score=score, threshold=0.5)
    fixed: dict[str, Any] = {
        "eval_set_id": "s",
        "run_index": 0,
        "seed": 0,
        "status": RunStatus.CRASHED if score is None else RunStatus.COMPLETED,
        "started": "2026-01-31T09:30:00.000Z",
        "seconds": 1.0,
        "metrics": [] if score is None else [metric],
    }
    return RunRecord(eval_id=eval_id, **fixed | keys)


def broken_off(folder: Path, *records: RunRecord) -> Path:
    """The journal of an evaluation that left no summary."""
    path = folder / f"broken{SUFFIX}"
    with Journal(path) as journal:
        for one in records:
            journal.append(one)
    return path


def case(stored: Stored, eval_id: str) -> CaseResult:
    return next(case for case in stored.result.cases if case.eval_id == eval_id)


# Summaries and journals


def test_summary_is_read_with_the_records_beside_it() -> None:
    stored = read_stored(GOLDEN)

    assert stored.result.eval_set.eval_set_id == "orders"
    assert sorted({record.eval_id for record in stored.records()}) == sorted(
        {case.eval_id for case in stored.result.cases}
    )


def test_journal_stands_for_the_summary_beside_it() -> None:
    assert read_stored(GOLDEN.with_name(f"schema_1{SUFFIX}")) == read_stored(GOLDEN)


def test_summary_without_its_journal_has_no_records(tmp_path: Path) -> None:
    stored = read_stored(Path(shutil.copy(GOLDEN, tmp_path)))

    assert stored.journal is None
    assert list(stored.records()) == []


def test_journal_without_a_summary_gives_the_verdicts_so_far(tmp_path: Path) -> None:
    path = broken_off(tmp_path, record("good", 1.0), record("bad", 0.0), record("crashed", None, seconds=2.5))

    stored = read_stored(path)

    verdicts = {case.eval_id: case.verdict.value for case in stored.result.cases}
    assert verdicts == {"good": "PASSED", "bad": "FAILED", "crashed": "FAILED"}
    assert stored.result.stopped
    assert "broken off" in stored.result.stopped
    assert stored.result.config.criteria["gate"]["threshold"] == 0.5
    assert stored.result.totals.duration_seconds == 2.5
    assert [record.eval_id for record in stored.records()] == ["good", "bad", "crashed"]


def test_case_that_lacks_runs_has_not_passed(tmp_path: Path) -> None:
    runs = [record("a", 1.0), record("b", 1.0), record("a", 1.0, run_index=1)]

    stored = read_stored(broken_off(tmp_path, *runs))

    assert case(stored, "a").verdict is EvalStatus.PASSED
    assert case(stored, "b").verdict is EvalStatus.NOT_EVALUATED
    assert case(stored, "b").reasons[0].startswith("1 of 2 runs were made: ")
    assert stored.result.stopped
    assert "default rules" in stored.result.stopped


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        pytest.param("", "holds no finished run", id="killed at once"),
        pytest.param('{"eval_id": "a"}\n', "not a run record", id="something else"),
    ],
)
def test_journal_that_tells_nothing_is_an_error(tmp_path: Path, lines: str, reason: str) -> None:
    path = tmp_path / f"r{SUFFIX}"
    path.write_text(lines)

    with pytest.raises(InputError, match=reason) as refused:
        read_stored(path)
    assert path.name in str(refused.value)


@pytest.mark.parametrize("name", ["nowhere.json", f"nowhere{SUFFIX}"])
def test_file_that_is_not_there_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_stored(tmp_path / name)


def test_summary_without_cases_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**json.loads(GOLDEN.read_bytes()), "cases": []}))

    with pytest.raises(InputError, match="has no cases"):
        read_stored(path)


# Results of ADK


def adk_run(status: int, *metrics: dict[str, Any], eval_id: str = "a") -> dict[str, Any]:
    return {"eval_id": eval_id, "final_eval_status": status, "overall_eval_metric_results": list(metrics)}


def gate(status: int, score: float | None = 1.0, name: str = "gate", **keys: Any) -> dict[str, Any]:
    return {"metric_name": name, "threshold": 0.5, "score": score, "eval_status": status, **keys}


def from_adk(folder: Path, *runs: dict[str, Any]) -> Stored:
    path = folder / "bot_s_1.5.evalset_result.json"
    path.write_text(json.dumps({"eval_set_id": "s", "eval_case_results": runs, "creation_timestamp": 1.5}))
    return read_stored(path)


def test_verdicts_of_adk_that_are_ours_need_no_word(tmp_path: Path) -> None:
    stored = from_adk(tmp_path, adk_run(1, gate(1)), adk_run(2, gate(2, 0.0), eval_id="b"))

    assert [(case.verdict.value, case.reasons) for case in stored.result.cases] == [
        ("PASSED", []),
        ("FAILED", []),
    ]
    assert stored.result.result_id == "bot_s_1.5"
    assert stored.result.created == "1970-01-01T00:00:01.500Z"


def test_metric_that_adk_dropped_in_silence_is_told(tmp_path: Path) -> None:
    stored = from_adk(tmp_path, adk_run(1, gate(1), gate(3, None, name="raised")))

    (one,) = stored.result.cases
    assert one.verdict is EvalStatus.NOT_EVALUATED
    assert one.reasons == ["ADK counted this case as PASSED"]
    assert [metric.reason for metric in one.metrics[:2]] == [
        None,
        "it was not evaluated, and the file does not say why",
    ]


def test_run_without_criteria_says_why_it_was_not_evaluated(tmp_path: Path) -> None:
    calls = {"metric_name": "tool_call_count_v1", "score": 1.0, "eval_status": 4}

    (one,) = from_adk(tmp_path, adk_run(3, calls)).result.cases

    assert one.verdict is EvalStatus.NOT_EVALUATED
    assert one.reasons == ["the file has no metric that passes or fails"]


def test_results_of_one_case_are_repeated_runs(tmp_path: Path) -> None:
    runs = [adk_run(1, gate(1)), adk_run(1, gate(2, 0.0)), adk_run(1, gate(2, 0.0)), adk_run(2)]

    (one,) = from_adk(tmp_path, *runs).result.cases

    assert (one.attempts, one.scored, one.passed, one.crashed) == (4, 3, 1, 1)
    assert one.flaky
    assert "ADK counted runs 2, 3 as PASSED" in one.reasons


def test_cases_may_have_different_numbers_of_runs(tmp_path: Path) -> None:
    stored = from_adk(tmp_path, adk_run(1, gate(1)), adk_run(1, gate(1)), adk_run(1, gate(1), eval_id="b"))

    assert [case.verdict.value for case in stored.result.cases] == ["PASSED", "PASSED"]


def test_metric_without_a_threshold_has_to_pass_in_every_run(tmp_path: Path) -> None:
    runs = [adk_run(status, gate(status, 0.9, threshold=None)) for status in (1, 2)]

    stored = from_adk(tmp_path, *runs)

    (one,) = stored.result.cases
    assert one.verdict is EvalStatus.FAILED
    assert (one.metrics[0].method, one.metrics[0].score, one.metrics[0].threshold) == ("pass_rate", 0.5, 1.0)
    assert stored.result.config.criteria == {"gate": {"threshold": None}}


def test_criteria_have_the_keys_that_a_summary_gives_them(tmp_path: Path) -> None:
    metric = gate(1, name="tool_trajectory_avg_score", criterion={"threshold": 1.0, "matchType": 1})

    criteria = from_adk(tmp_path, adk_run(1, metric)).result.config.criteria

    assert criteria["tool_trajectory_avg_score"] == {
        "threshold": 1.0,
        "include_intermediate_responses_in_final": False,
        "match_type": "IN_ORDER",
        "ignore_args": False,
    }
