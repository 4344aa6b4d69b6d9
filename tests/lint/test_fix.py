"""What --fix writes: the same eval set in a form that ADK reads, and nothing else changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_eval.inputs.configs import load_config
from agent_eval.inputs.evalsets import load_eval_set
from agent_eval.inputs.project import Project, ProjectSettings
from agent_eval.lint.findings import Edit
from agent_eval.lint.linter import Report, edited, fix, lint

TURN = {
    "user_content": {"parts": [{"text": "grüß"}]},
    "final_response": {"parts": [{"text": "ok"}]},
    "intermediate_data": {"tool_uses": [{"name": "t", "args": {"x": 1.0}}]},
}
CASES = [{"eval_id": "a", "conversation": [TURN]}]
OLD = [{"query": "q", "reference": "r", "expected_tool_use": [{"tool_name": "t", "tool_input": {"x": 1}}]}]
WHOLE = json.dumps({"eval_set_id": "demo", "eval_cases": CASES}, ensure_ascii=False)

FIXABLE = {
    "byte order mark": "\ufeff" + WHOLE,
    "keys in camelCase": json.dumps({"evalSetId": "demo", "evalCases": CASES}),
    "mark and camelCase": "\ufeff"
    + json.dumps({"name": "x", "evalSetId": "demo", "evalCases": CASES}, indent=4),
    "list of cases": json.dumps(CASES, indent=2),
    "list of cases with blanks around": f"\n\n  {json.dumps(CASES)}\n",
    "list of turns": json.dumps(OLD),
    "encoded twice": json.dumps(WHOLE),
    "encoded twice in camelCase": json.dumps(json.dumps({"evalSetId": "demo", "eval_cases": CASES})),
}


def run(folder: Path, *, mend: bool = False) -> Report:
    project = Project(folder, ProjectSettings(), None)
    return (fix if mend else lint)([str(folder)], project)


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    (tmp_path / "eval_config.json").write_text('{"criteria": {"response_match_score": 0.8}}')
    return tmp_path / "demo.evalset.json"


@pytest.mark.parametrize("text", FIXABLE.values(), ids=FIXABLE.keys())
def test_eval_set_is_the_same_in_another_form(demo: Path, text: str) -> None:
    demo.write_text(text, encoding="utf-8")
    before = load_eval_set(demo).eval_set
    assert set(codes(run(demo.parent))) == {"AE702"}

    report = run(demo.parent, mend=True)

    assert codes(report) == []
    assert {finding.code for finding in report.fixed} == {"AE702"}
    after = load_eval_set(demo).eval_set
    assert after.eval_cases == before.eval_cases
    assert after.eval_set_id == before.eval_set_id
    document = json.loads(demo.read_text(encoding="utf-8"))
    assert {"eval_set_id", "eval_cases"} <= document.keys()
    assert run(demo.parent, mend=True).fixed == ()


@pytest.mark.adk
@pytest.mark.parametrize("text", FIXABLE.values(), ids=FIXABLE.keys())
def test_adk_reads_what_was_fixed(demo: Path, text: str) -> None:
    from google.adk.evaluation.eval_set import EvalSet

    demo.write_text(text, encoding="utf-8")
    run(demo.parent, mend=True)
    assert len(EvalSet.model_validate_json(demo.read_bytes()).eval_cases) == 1


def test_only_the_key_is_touched(demo: Path) -> None:
    text = '{\n\t"evalSetId" :  "demo",\n\n  "eval_cases": [\n' + json.dumps(CASES[0]) + "  ]   }\n\n"
    demo.write_text(text)
    run(demo.parent, mend=True)
    assert demo.read_text() == text.replace("evalSetId", "eval_set_id")


def test_file_without_a_fix_is_not_written(demo: Path) -> None:
    demo.write_text(json.dumps({"eval_set_id": "a/b", "eval_cases": CASES}))
    before = demo.stat().st_mtime_ns
    report = run(demo.parent, mend=True)
    assert codes(report) == ["AE711"]
    assert (report.fixed, demo.stat().st_mtime_ns) == ((), before)


CRITERIA = {
    "first": '{"criteria": {"token_usage_v1": 1, "response_match_score": 0.8}}',
    "last": '{"criteria": {"response_match_score": 0.8, "token_usage_v1": {"threshold": 1}}}',
    "middle": '{"criteria": {"a": 1, "token_usage_v1": 1, "response_match_score": 0.8}, '
    '"custom_metrics": {"a": {"code_config": {"name": "json.a"}}}}',
    "two": '{"criteria": {"token_usage_v1": 1, "response_match_score": 0.8, "tool_call_count_v1": 2}}',
    "two in a row": '{"criteria": {"response_match_score": 1, "token_usage_v1": 1, "tool_call_count_v1": 2}}',
    "over lines": '{\n  "criteria": {\n    "response_match_score": 0.8,\n    "token_usage_v1": {\n'
    '      "threshold": 5\n    }\n  }\n}\n',
}


@pytest.mark.parametrize("text", CRITERIA.values(), ids=CRITERIA.keys())
def test_informational_metric_is_taken_out(tmp_path: Path, text: str) -> None:
    config = tmp_path / "eval_config.json"
    config.write_text(text)
    wanted = {name: value for name, value in json.loads(text)["criteria"].items() if "_v1" not in name}

    report = run(tmp_path, mend=True)

    assert codes(report) == []
    assert {finding.code for finding in report.fixed} == {"AE734"}
    assert load_config(config).config.criteria == wanted
    kept: Any = json.loads(config.read_text())
    assert {key: value for key, value in kept.items() if key != "criteria"} == {
        key: value for key, value in json.loads(text).items() if key != "criteria"
    }


def test_yaml_is_left_to_people(tmp_path: Path) -> None:
    config = tmp_path / "eval_config.yaml"
    config.write_text("criteria:\n  response_match_score: 0.8\n  token_usage_v1: 1\n")
    report = run(tmp_path, mend=True)
    assert codes(report) == ["AE734"]
    assert report.fixed == ()


def test_edits_are_made_from_the_end() -> None:
    assert edited("0123456789", [Edit(0, 1, "a"), Edit(8, 9, ""), Edit(4, 4, "--")]) == "a123--45679"
