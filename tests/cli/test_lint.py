"""`agent-eval lint` as a process: what it prints, and how it ends."""

from __future__ import annotations

import re

import pytest

from tests.cli_support import Project, case, eval_set

pytestmark = pytest.mark.slow

FINE = {"criteria": {"response_match_score": 0.8}}
WARNS = {"criteria": {"response_match_score": 0.1}}
FAILS = {"criteria": {"response_match": 0.8}}


@pytest.mark.parametrize(
    ("config", "arguments", "code"),
    [
        pytest.param(FINE, (), 0, id="nothing found"),
        pytest.param(FINE, ("--strict",), 0, id="nothing found, strictly"),
        pytest.param(WARNS, (), 0, id="warnings"),
        pytest.param(WARNS, ("--strict",), 1, id="warnings, strictly"),
        pytest.param(FAILS, (), 1, id="errors"),
    ],
)
def test_exit_code_tells_errors_from_warnings(
    project: Project, config: dict[str, object], arguments: tuple[str, ...], code: int
) -> None:
    project.write("evalsets/demo.evalset.json", eval_set(case("a")))
    project.write("evalsets/eval_config.json", config)
    done = project.agent_eval("lint", *arguments)
    assert done.code == code, done.stdout


def test_findings_are_listed_by_file_with_line_code_and_hint_within_the_width(project: Project) -> None:
    project.write("evalsets/demo.evalset.json", eval_set(case("../a[bold]\x1b[31m")))
    project.write("evalsets/eval_config.yaml", "criteria:\n  response_match: 0.8\n")
    done = project.agent_eval("lint")
    assert re.search(
        r"^evalsets/demo\.evalset\.json\n +1  warning  AE711  eval_cases\[0\]\.eval_id:", done.stdout
    )
    assert re.search(
        r"^evalsets/eval_config\.yaml\n +2  error    AE732  criteria\.response_match:", done.stdout, re.M
    )
    assert "(did you mean `response_match_score`?)" in " ".join(done.stdout.split())
    assert r"../a[bold]\x1b[31m" in done.stdout
    assert "2 files: 1 error, 1 warning" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_has_every_finding(project: Project) -> None:
    project.write("evalsets/demo.evalset.json", eval_set(case("a")))
    project.write("evalsets/eval_config.json", FAILS)
    done = project.agent_eval("lint", "--json")
    assert done.document["exit_code"] == done.code == 1
    assert done.document["totals"] == {"files": 2, "errors": 1, "warnings": 0, "fixable": 0}
    assert done.document["findings"] == [
        {
            "code": "AE732",
            "severity": "error",
            "message": "`response_match` is neither a metric nor declared in `custom_metrics`",
            "file": "evalsets/eval_config.json",
            "path": "criteria.response_match",
            "line": 1,
            "hint": "did you mean `response_match_score`?",
            "fixable": False,
        }
    ]


def test_many_of_one_kind_are_counted(project: Project) -> None:
    project.write("evalsets/demo.evalset.json", eval_set(*(case(f"../{number}") for number in range(30))))
    project.write("evalsets/eval_config.json", FINE)
    done = project.agent_eval("lint")
    assert done.stdout.count("AE711") == 5
    assert "and 25 more like these" in done.stdout


def test_fix_puts_right_what_can_be_and_says_so(project: Project) -> None:
    file = project.write("evalsets/demo.evalset.json", {"evalSetId": "demo", "eval_cases": [case("a")]})
    project.write("evalsets/eval_config.json", FINE)
    assert "1 warning; --fix puts 1 right" in project.agent_eval("lint").stdout
    done = project.agent_eval("lint", "--fix")
    assert done.code == 0
    assert "fixed  evalsets/demo.evalset.json:1: AE702" in done.stdout
    assert '"eval_set_id"' in file.read_text()
    assert "0 errors, 0 warnings" in project.agent_eval("lint").stdout


def test_config_can_be_named(project: Project) -> None:
    project.write("set.json", eval_set(case("a")))
    project.write("strict.json", FAILS)
    assert project.agent_eval("lint", "set.json").code == 0
    assert project.agent_eval("lint", "set.json", "--config", "strict.json").code == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("none.json",), "none.json: no such file or folder"),
        (("empty",), "no eval set and no config in empty"),
        ((), "there is no eval set in evalsets, tests/eval/evalsets"),
    ],
    ids=["missing file", "folder without any", "project without any"],
)
def test_nothing_to_check_is_wrong_usage(project: Project, arguments: tuple[str, ...], told: str) -> None:
    (project.root / "empty").mkdir()
    (project.root / "evalsets").mkdir()
    done = project.agent_eval("lint", *arguments)
    assert done.code == 2
    assert told in done.stderr


def test_no_code_of_the_project_is_run(project: Project) -> None:
    project.agent("raise SystemExit(7)")
    project.write("gates.py", "raise SystemExit(8)")
    metric = {"code_config": {"name": "gates.own"}}
    project.write(
        "evalsets/demo.evalset.json", eval_set(case("a", session_input={"app_name": "bot", "user_id": "u"}))
    )
    project.write("evalsets/eval_config.json", {"criteria": {"own": 1}, "custom_metrics": {"own": metric}})
    assert project.agent_eval("lint").code == 0
