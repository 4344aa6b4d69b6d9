"""The public corpus of eval files; where it is, AGENT_EVAL_CORPUS tells."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_eval.codes.catalogue import topics
from agent_eval.errors import InputError
from agent_eval.inputs.configs import load_config
from agent_eval.inputs.evalsets import load_eval_set
from agent_eval.inputs.project import Project, ProjectSettings
from agent_eval.lint.linter import fix, lint
from agent_eval.metrics.configured import configured_metrics
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.trace import get_all_tool_calls
from agent_eval.stored import read_stored

BESIDE_THE_REPOSITORY = Path(__file__).parents[2] / "shared" / "corpus"
CORPUS = Path(os.environ.get("AGENT_EVAL_CORPUS", BESIDE_THE_REPOSITORY))
INDEX = CORPUS / "index.json"

if not INDEX.is_file():
    pytest.skip(
        "no corpus: set AGENT_EVAL_CORPUS to the folder that holds its index.json", allow_module_level=True
    )

PROJECT = Project(Path(), ProjectSettings(), None)
CODES = {topic.code for topic in topics()}
ENTRIES: list[dict[str, Any]] = json.loads(INDEX.read_bytes())["files"]


def entries(*kinds: str, loads: bool) -> list[Any]:
    """Index entries of these kinds that one of ADK's loaders accepts (or all refuse), as test parameters."""
    return [
        pytest.param(entry, id=entry["file"])
        for entry in ENTRIES
        if entry["kind"] in kinds and (accepted_by_adk(entry) is not None) == loads
    ]


def accepted_by_adk(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The counts by the first of ADK's loaders that accepts the file; None if both refuse it."""
    if entry["adk_verdict"] == "ok":
        return entry
    other = entry.get("agent_evaluator")
    return other if other and other["verdict"] == "ok" else None


@pytest.mark.parametrize("entry", entries("evalset", loads=True))
def test_eval_set_that_adk_reads_has_the_same_counts(entry: dict[str, Any]) -> None:
    cases = load_eval_set(path_of(entry)).eval_set.eval_cases
    counts = accepted_by_adk(entry)
    assert counts is not None
    assert len(cases) == counts["n_cases"]
    assert sum(len(case.conversation or []) for case in cases) == counts["n_invocations"]
    assert sum(map(expected_tool_uses, cases)) == counts["n_expected_tool_uses"]
    if "cases" in counts:
        kinds = {True: "static", False: "scenario"}
        assert [
            [
                case.eval_id,
                len(case.conversation or []),
                expected_tool_uses(case),
                kinds[case.conversation is not None],
            ]
            for case in cases
        ] == counts["cases"]


@pytest.mark.parametrize("entry", entries("config", loads=True))
def test_config_that_adk_reads_has_the_same_criteria(entry: dict[str, Any]) -> None:
    config = load_config(path_of(entry)).config
    assert list(config.criteria) == list(entry["criteria"])
    assert set(config.custom_metrics or {}) == set(entry["custom_metrics"])


@pytest.mark.parametrize("entry", entries("config", loads=True))
def test_metrics_of_a_config_are_set_up_or_refused_by_name(entry: dict[str, Any]) -> None:
    config = load_config(path_of(entry)).config
    refusal = ""
    try:
        gating = [metric.name for metric in configured_metrics(config) if metric.gates]
    except InputError as error:
        refusal, gating = str(error), list(entry["criteria"])
    assert gating == list(entry["criteria"])
    assert bool(refusal) == bool(entry["unknown_metrics"])
    assert all(name in refusal for name in entry["unknown_metrics"])


@pytest.mark.parametrize("entry", entries("evalset", "config", loads=False))
def test_file_that_adk_refuses_is_refused_by_name(entry: dict[str, Any]) -> None:
    load: Callable[[Path], object] = load_eval_set if entry["kind"] == "evalset" else load_config
    with pytest.raises(InputError) as refused:
        load(path_of(entry))
    assert path_of(entry).name in str(refused.value)


@pytest.mark.parametrize("entry", [pytest.param(e, id=e["file"]) for e in ENTRIES if e["kind"] == "result"])
def test_result_of_another_dialect_is_refused_by_name(entry: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        read_stored(path_of(entry))
    (problem,) = refused.value.problems
    assert problem.file == str(path_of(entry))
    assert problem.path
    assert problem.line


@pytest.mark.parametrize("entry", [pytest.param(e, id=e["file"]) for e in ENTRIES])
def test_lint_tells_what_is_refused_and_raises_nothing(entry: dict[str, Any]) -> None:
    findings = lint([str(path_of(entry))], PROJECT).findings
    refused = {finding.file for finding in findings if finding.code in ("AE701", "AE710")}
    is_read = entry["kind"] in ("evalset", "config") and accepted_by_adk(entry) is not None
    assert (str(path_of(entry)) in refused) != is_read
    for finding in findings:
        assert finding.code in CODES
        assert finding.message


@pytest.mark.parametrize("entry", entries("evalset", loads=True))
def test_lint_fixes_change_the_form_alone(entry: dict[str, Any], tmp_path: Path) -> None:
    copy = tmp_path / path_of(entry).name
    copy.write_bytes(path_of(entry).read_bytes())
    before = load_eval_set(copy).eval_set.eval_cases
    report = fix([str(copy)], PROJECT)
    assert load_eval_set(copy).eval_set.eval_cases == before
    assert not any(finding.fix for finding in report.findings)
    assert bool(report.fixed) == (entry["adk_verdict"] != "ok")


def path_of(entry: dict[str, Any]) -> Path:
    return CORPUS / "files" / entry["file"]


def expected_tool_uses(case: EvalCase) -> int:
    return sum(len(get_all_tool_calls(turn.intermediate_data)) for turn in case.conversation or [])
