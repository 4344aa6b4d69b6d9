from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.compare import differences
from tests.conformance.groups import GROUPS
from tests.conformance.rules import ORACLES
from tests.conformance.runner import OWN_VECTORS, check_file

ROOT = Path(__file__).parent.parent

FALSIFIED = {
    "trajectory.json": {"overall_score": 0.123},
    "rouge.json": {"fmeasure": 0.123},
    "response_match.json": {"overall_status": "NOT_EVALUATED"},
    "efficiency.json": {
        "expected": {
            name: {"per_invocation": [], "overall": {"score": 1.0, "status": "INFORMATIONAL"}}
            for name in (
                "tool_call_count_v1",
                "inference_call_count_v1",
                "token_usage_v1",
                "invocation_duration_v1",
            )
        }
    },
    "status_merge.json": {"final_status": "PASSED"},
    "events_to_invocations.json": {"invocations": [{"invocation_id": "other"}]},
    "evalset_load.json": {"case_ids": ["other"]},
    "eval_config_load.json": {"metrics": []},
    "custom_metric.json": {"final_status": "FAILED"},
    "judge_vote.json": {"expected": {"chosen_sample": 0, "score": 0.123, "status": "PASSED"}},
    "rubric_aggregation.json": {"expected": {"score": 0.123, "status": "PASSED", "rubric_scores": []}},
}
"""File -> what is wrongly expected of its first item."""


@pytest.mark.parametrize("name", GROUPS)
def test_vectors_of_adk_pass(name: str) -> None:
    report = check_file(OWN_VECTORS, name)
    assert report.failures == {}
    assert report.passed == len(json.loads((OWN_VECTORS / name).read_bytes())["items"])


@pytest.mark.parametrize("name", GROUPS)
def test_a_falsified_vector_fails(name: str, tmp_path: Path) -> None:
    item_id = _falsify_first(tmp_path, name)
    assert list(check_file(tmp_path, name).failures) == [item_id]


def test_command_names_the_item_that_differs_and_exits_1(tmp_path: Path) -> None:
    item_id = _falsify_first(tmp_path, "rouge.json")
    (tmp_path / "another.json").write_text("{}")
    done = _command(str(tmp_path))
    assert done.returncode == 1
    assert f"{item_id}: fmeasure: got 1.0, expected 0.123" in done.stdout
    assert "rouge.json: 562 passed, 1 failed" in done.stdout
    assert "not checked: another.json" in done.stdout
    assert "not there: trajectory.json" in done.stdout


def test_command_exits_0_and_tells_which_items_pass_by_a_rule_that_is_not_named() -> None:
    done = _command()
    assert done.returncode == 0, done.stdout
    assert "match-020 (same-text)" in done.stdout


def test_command_without_vectors_exits_2(tmp_path: Path) -> None:
    assert _command(str(tmp_path)).returncode == 2


@pytest.mark.parametrize(
    ("got", "expected", "line"),
    [
        pytest.param({"a": 1}, {"a": 1.0}, "a: got 1, expected 1.0", id="whole number for a float"),
        pytest.param([True], [1], "[0]: got true, expected 1", id="boolean for a number"),
        pytest.param({}, {"a": None}, "a: got nothing, expected null", id="missing key"),
        pytest.param({"a": None}, {}, "a: got null, expected nothing", id="extra key"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, "a: got 2 items: [1, 2], expected 1: [1]", id="length"),
        pytest.param(0.5, 0.5 + 1e-8, "value: got 0.5, expected 0.50000001", id="beyond the tolerance"),
        pytest.param(7, {"$generated": "uuid"}, "value: got 7, expected a text", id="generated id"),
    ],
)
def test_comparison_tells_apart(got: Any, expected: Any, line: str) -> None:
    assert differences(got, expected) == [line]


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        pytest.param(0.5, 0.5 + 1e-12, id="within the tolerance"),
        pytest.param(float("nan"), float("nan"), id="not a number"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, id="key order"),
        pytest.param({"at": 2.5}, {"at": {"$generated": "time of loading"}}, id="generated time"),
        pytest.param("EXPERT", {"$prebuilt_persona": "EXPERT"}, id="ready-made persona"),
    ],
)
def test_comparison_takes_as_equal(got: Any, expected: Any) -> None:
    assert differences(got, expected) == []


@pytest.mark.parametrize("rule", ORACLES["events_to_invocations.json"])
def test_oracles_leave_an_item_alone_that_they_do_not_concern(rule: str) -> None:
    items = json.loads((OWN_VECTORS / "events_to_invocations.json").read_bytes())["items"]
    plain = next(item for item in items if item["id"] == "events-002")
    assert ORACLES["events_to_invocations.json"][rule](plain) == plain


def _falsify_first(folder: Path, name: str) -> str:
    """Copies one file of vectors with its first item wrong; the id of that item."""
    shutil.copy(OWN_VECTORS / "differences.json", folder)
    document = json.loads((OWN_VECTORS / name).read_bytes())
    document["items"][0].update(FALSIFIED[name])
    (folder / name).write_text(json.dumps(document))
    return str(document["items"][0]["id"])


def _command(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.conformance", *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
