"""Where results are kept, and the summary file."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_eval.errors import InputError
from agent_eval.schema.result import EvalResult, RunStatus
from agent_eval.schema.trace import EvalStatus
from agent_eval.store.results import read_result
from agent_eval.store.summary import new_stem, safe_name, write_summary

GOLDEN = Path(__file__).parents[1] / "data" / "results" / "schema_1.json"


def golden() -> EvalResult:
    return EvalResult.model_validate_json(GOLDEN.read_bytes())


@pytest.mark.parametrize(
    ("eval_set_id", "name"),
    [
        ("orders", "orders"),
        ("Orders of May 2026-1.v2", "Orders of May 2026-1.v2"),
        ("注文", "注文"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("/etc/passwd", "_etc_passwd"),
        (r"C:\evals", "C__evals"),
        ("..", "_"),
        (".", "_"),
        (".hidden", "hidden"),
        ("   ", "_"),
        ("nul\x00byte", "nul_byte"),
        ("line\nbreak", "line_break"),
    ],
)
def test_folder_of_an_eval_set_is_named_like_it(eval_set_id: str, name: str) -> None:
    assert safe_name(eval_set_id) == name


def test_very_long_id_is_cut(tmp_path: Path) -> None:
    stem = new_stem(tmp_path, "x" * 5000)

    assert stem.parent.is_dir()
    assert set(stem.parent.name) == {"x"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40) | st.text("./\\:~ \x00a", max_size=20))
def test_no_id_leads_out_of_the_results_folder(tmp_path: Path, eval_set_id: str) -> None:
    folder = tmp_path / "results"

    stem = new_stem(folder, eval_set_id)

    assert stem.parent.is_dir()
    assert stem.resolve().parent.parent == folder.resolve()


def test_two_results_of_one_set_never_share_a_name(tmp_path: Path) -> None:
    stems = {new_stem(tmp_path, "orders") for _ in range(100)}

    assert len(stems) == 100


def test_names_sort_by_time(tmp_path: Path) -> None:
    first, second = new_stem(tmp_path, "orders"), new_stem(tmp_path, "orders")

    assert first.name.split("-")[0] <= second.name.split("-")[0]


def test_summary_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_summary(golden(), tmp_path / "r.json")

    assert read_result(tmp_path / "r.json") == golden()


def test_summary_leaves_nothing_else_and_can_be_read_by_others(tmp_path: Path) -> None:
    file = tmp_path / "r.json"

    before = os.umask(0o022)
    try:
        write_summary(golden(), file)
    finally:
        os.umask(before)

    assert list(tmp_path.iterdir()) == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_summary_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "r.json"
    taken.mkdir()

    with pytest.raises(OSError):
        write_summary(golden(), taken)

    assert list(tmp_path.iterdir()) == [taken]
    assert list(taken.iterdir()) == []


def test_summary_replaces_an_older_one_whole(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text("x" * 100_000)

    write_summary(golden(), file)

    assert read_result(file) == golden()


def test_keys_that_scripts_rely_on_are_there(tmp_path: Path) -> None:
    write_summary(golden(), tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_bytes())

    def has(found: dict[str, Any], keys: str) -> bool:
        return set(keys.split()) <= found.keys()

    assert has(document, "schema_version result_id created eval_set agent config provenance totals cases")
    assert has(document["eval_set"], "eval_set_id path sha256")
    assert has(document["config"], "path sha256 criteria multi_run_config")
    assert has(document["provenance"], "command git_commit git_dirty packages")
    assert has(document["totals"], "cases passed failed not_evaluated flaky duration_seconds tokens")
    case = document["cases"][0]
    assert has(
        case, "eval_set_id eval_id sha256 verdict flaky attempts scored passed crashed pass_rate interval"
    )
    assert has(case["runs"][0], "run_index status error seconds metrics")
    assert has(
        case["metrics"][0],
        "metric_name method score threshold status passed scored pass_rate interval per_run reason causes",
    )


def test_summary_of_the_first_schema_is_read() -> None:
    result = read_result(GOLDEN)

    assert result.schema_version == 1
    assert (result.eval_set.eval_set_id, result.agent.name) == ("orders", "desk")
    status, cancel = result.cases
    assert (status.verdict, status.passed, status.crashed) == (EvalStatus.PASSED, 2, 0)
    assert (cancel.verdict, cancel.passed, cancel.crashed) == (EvalStatus.FAILED, 0, 1)
    assert cancel.metrics[0].per_run == [0.0, None]
    assert cancel.runs[1].status is RunStatus.CRASHED
    assert cancel.runs[1].error
    assert cancel.runs[1].error.message == "socket reset"
    assert cancel.runs[0].metrics["response_match_score"].score == 0.5
    assert result.totals.tokens == {"input": 120, "output": 24, "total": 144}


def test_journal_stands_for_the_summary_beside_it() -> None:
    assert read_result(GOLDEN.with_name("schema_1.runs.jsonl")) == golden()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param({}, "has no `schema_version`", id="no version"),
        pytest.param([], "has no `schema_version`", id="no object"),
        pytest.param({"schema_version": True}, "has no `schema_version`", id="version is no number"),
        pytest.param({"schema_version": 2}, "its schema version is 2, this one reads up to 1", id="newer"),
        pytest.param({"schema_version": 1}, "is damaged", id="keys are missing"),
    ],
)
def test_file_that_is_no_summary_is_an_error(tmp_path: Path, document: object, message: str) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(document))

    with pytest.raises(InputError, match=message):
        read_result(file)


def test_summary_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_result(tmp_path / "r.json")
