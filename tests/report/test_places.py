"""What GitHub and GitLab show beside the lines of an eval set."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from agent_eval.inputs.places import case_lines
from agent_eval.report.places import MAX_ANNOTATIONS, Located, code_quality, github_annotations
from tests.report.support import crash, metric, result, run, turn

PASSES = run("passes", turn("hi", "hi"), metrics=[metric(1.0)])
UNSCORED = run("unscored", turn("hi", "hi"), metrics=[metric(None, reason="quota\nexceeded")])


def located(*records: object, **lines: int) -> Located:
    return Located(result(*records), "evals/desk.evalset.json", lines)  # type: ignore[arg-type] # records


def test_a_failed_case_is_an_error_at_its_line_and_an_unevaluated_one_a_warning() -> None:
    error, warning = github_annotations([located(PASSES, crash("broken"), UNSCORED, broken=12)])
    assert error.startswith("::error file=evals/desk.evalset.json,line=12,title=broken failed::")
    assert "the run crashed: RuntimeError: socket reset%0AAE" in error
    assert "%0AChange: " in error
    assert warning.startswith(
        "::warning file=evals/desk.evalset.json,line=1,title=unscored was not evaluated::"
    )


def test_no_text_ends_a_command_or_adds_to_it() -> None:
    name = "a:b,c%0A\n::set-env name=x::y\x1b"
    (line,) = github_annotations([located(crash(name, "100%\n::error::x"))])
    assert "\n" not in line
    assert "title=a%3Ab%2Cc%250A%0A%3A%3Aset-env name=x%3A%3Ay\\x1b failed::" in line
    assert "100%25%0A::error::x" in line


def test_no_more_annotations_than_github_shows_and_the_last_one_counts() -> None:
    lines = list(github_annotations([located(*(crash(f"case-{number}") for number in range(25)))]))
    assert len(lines) == MAX_ANNOTATIONS
    assert lines[-1] == "::error::and 16 more cases failed"


def test_findings_of_gitlab_have_all_that_it_asks_for() -> None:
    failed, unscored = code_quality([located(PASSES, crash("broken"), UNSCORED, broken=12)])
    assert failed["location"] == {"path": "evals/desk.evalset.json", "lines": {"begin": 12}}
    assert (failed["severity"], failed["check_name"]) == ("major", "agent-eval.failed")
    assert failed["description"].startswith("broken failed: AE")
    assert unscored["severity"] == "minor"
    assert failed["fingerprint"] != unscored["fingerprint"]
    (again,) = code_quality([located(crash("broken", "another error"))])
    assert again["fingerprint"] == failed["fingerprint"]


def lines_of(tmp_path: Path, text: str) -> dict[str, int]:
    file = tmp_path / "set.json"
    file.write_text(text, encoding="utf-8")
    return case_lines(file, hashlib.sha256(file.read_bytes()).hexdigest())


def test_cases_are_found_by_their_ids(tmp_path: Path) -> None:
    document = {"eval_set_id": "s", "eval_cases": [{"eval_id": "a"}, {"evalId": 'b "quoted" é'}]}
    assert lines_of(tmp_path, json.dumps(document, indent=1)) == {"a": 5, 'b "quoted" é': 8}
    assert lines_of(tmp_path, json.dumps(document)) == {"a": 1, 'b "quoted" é': 1}


def test_cases_of_the_old_format_are_found_by_their_names(tmp_path: Path) -> None:
    assert lines_of(tmp_path, '[\n{"name": "a",\n"data": []},\n{"name": "b"}]') == {"a": 2, "b": 4}


def test_a_file_that_has_changed_since_has_no_lines(tmp_path: Path) -> None:
    file = tmp_path / "set.json"
    file.write_text('{"eval_id": "a"}')
    assert case_lines(file, "0" * 64) == {}
    assert case_lines(tmp_path / "none.json", "0" * 64) == {}
