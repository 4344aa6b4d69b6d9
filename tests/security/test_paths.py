"""Ids that would be paths: what is kept under them stays in its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_eval.store.history import summaries
from agent_eval.store.summary import new_stem, safe_name
from tests.cli_support import ECHO, RESPONSES, Project, case, eval_set
from tests.fuzz.hostile import CONTROL_CODES, MARKUP, PATHS

EVERY_ID = [pytest.param(text, id=name) for name, text in (PATHS | MARKUP | CONTROL_CODES).items()]


@pytest.mark.parametrize("eval_set_id", EVERY_ID)
def test_results_of_an_eval_set_are_in_a_folder_of_one_name(eval_set_id: str, tmp_path: Path) -> None:
    results = tmp_path / "results"
    stem = new_stem(results, eval_set_id)
    assert stem.parent.parent == results
    assert stem.resolve().is_relative_to(results.resolve())
    assert not safe_name(eval_set_id).startswith((".", "/", "~"))
    assert [path.name for path in results.iterdir()] == [safe_name(eval_set_id)]
    assert summaries(stem.parent) == []


@pytest.mark.slow
def test_nothing_is_written_outside_of_the_project_s_folders(tmp_path: Path) -> None:
    project = Project(tmp_path / "deep" / "in" / "desk")
    project.agent(ECHO)
    for number, text in enumerate((PATHS | MARKUP).values()):
        cases = [
            case(text),
            case(f"{text}.", session_input={"app_name": text, "user_id": text, "session_id": text}),
        ]
        project.write(f"evalsets/s{number}.evalset.json", eval_set(*cases, eval_set_id=text))
    project.write("evalsets/eval_config.json", RESPONSES)
    before = {path for path in tmp_path.rglob("*") if ".agent_eval" not in path.parts}
    outcome = project.agent_eval(
        "run", "bot", "--all", "--adk_results", "--html", "page.html", HOME=str(tmp_path)
    )
    assert outcome.code == 0, outcome
    for command in (
        ("report", "latest"),
        ("compare", "latest", "latest"),
        ("history",),
        ("baseline", "set", "latest"),
    ):
        told = project.agent_eval(*command, HOME=str(tmp_path))
        assert "bug in agent-eval" not in told.stderr, told
    after = {path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts}
    homes = (".agent_eval/results", "bot/.adk/eval_history", "evalsets", "page.html")
    for path in after - before:
        below = os.path.relpath(path, project.root)
        assert any(below.startswith(home) or home.startswith(below) for home in homes), below
    results = project.root / ".agent_eval" / "results"
    assert all(len(path.relative_to(results).parts) <= 2 for path in results.rglob("*"))
    assert not Path("/tmp/escaped").exists()
