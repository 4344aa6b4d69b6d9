"""The action for GitHub and the snippets of docs/ci.md do what they say."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import Any

import pytest
import yaml
from junitparser import JUnitXml

from tests.cli_support import RESPONSES, Project, case, eval_set
from tests.test_docs import ROOT, blocks

ACTION = ROOT / ".ci" / "github" / "action.yml"
CI = ROOT / "docs" / "ci.md"
REPORTS = {"index.html", "junit.xml", "summary.md"}


@pytest.fixture
def desk(project: Project) -> Project:
    project.agent()
    project.write("evalsets/my set.evalset.json", eval_set(case("fails", "hi", answer="bye")))
    project.write("evalsets/eval_config.json", RESPONSES)
    project.write("pyproject.toml", '[tool.agent-eval]\nevalsets = "evalsets"\nagent = "bot"\n')
    # the console script, as an installed package has it
    project.write(
        "bin/agent-eval", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m agent_eval "$@"\n'
    ).chmod(0o755)
    return project


def shell(project: Project, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{project.root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=project.root,
        env=project.environment(PATH=path, **variables),
        capture_output=True,
        text=True,
        check=False,
    )


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return found


def test_the_action_installs_the_checkout_that_it_is_in() -> None:
    install = action()["runs"]["steps"][0]["run"]
    assert '"$GITHUB_ACTION_PATH/../..' in install
    assert (ACTION.parent / ".." / ".." / "pyproject.toml").exists()


def test_the_action_runs_with_an_argument_a_line_and_fails_as_the_command_does(desk: Project) -> None:
    output, summary = desk.write("output", ""), desk.write("summary", "")
    done = shell(
        desk,
        action()["runs"]["steps"][1]["run"],
        ARGUMENTS="bot\n\n  evalsets/my set.evalset.json  \n--num-runs=2\n",
        REPORTS="reports",
        GITHUB_OUTPUT=str(output),
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == 1, done.stderr
    assert output.read_text() == "exit-code=1\n"
    assert {path.name for path in (desk.root / "reports").iterdir()} == {
        "index.html",
        "junit.xml",
        "summary.md",
    }
    assert summary.read_text() == (desk.root / "reports/summary.md").read_text()
    assert "::error file=" in done.stdout


def test_no_input_of_the_action_is_pasted_into_a_script() -> None:
    assert not [step["name"] for step in action()["runs"]["steps"] if "${{" in step.get("run", "")]


def test_the_inputs_in_the_example_are_those_of_the_action() -> None:
    github, *_ = (yaml.safe_load(text) for text in blocks(CI, "yml"))
    used = github["jobs"]["evaluate"]["steps"][-1]
    assert used["uses"].split("@")[0].endswith("/" + ACTION.parent.relative_to(ROOT).as_posix())
    assert set(used["with"]) <= set(action()["inputs"])


def test_the_job_for_gitlab_leaves_the_reports_that_it_names(desk: Project) -> None:
    _, gitlab, *_ = (yaml.safe_load(text) for text in blocks(CI, "yml"))
    job = gitlab["evaluate"]
    done = shell(desk, job["script"][-1], GITLAB_CI="true")
    assert done.returncode == 1, done.stderr
    files = [*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()]
    assert [file for file in files if not (desk.root / file).exists()] == []
    assert JUnitXml.fromfile(str(desk.root / "junit.xml")).failures == 1


def merged_as_told(desk: Project, script: str, files: list[str]) -> None:
    done = shell(desk, script)
    assert done.returncode == 1, done.stderr
    assert "2 cases" in done.stdout
    assert [file for file in files if not (desk.root / file).exists()] == []


def two_cases(desk: Project) -> None:
    cases = [case("fails", "hi", answer="bye"), case("passes")]
    desk.write("evalsets/my set.evalset.json", eval_set(*cases))


@pytest.mark.slow
def test_the_matrix_for_github_shares_the_cases_out_and_merges_them(desk: Project) -> None:
    two_cases(desk)
    jobs = yaml.safe_load(blocks(CI, "yml")[2])["jobs"]
    shards = jobs["shard"]["strategy"]["matrix"]["shard"]
    *_, run, upload = jobs["shard"]["steps"]
    for shard in shards:
        script = run["run"].replace("${{ matrix.shard }}", str(shard))
        done = shell(desk, script.replace("${{ strategy.job-total }}", str(len(shards))))
        assert done.returncode == (shard == 1), done.stderr
        if (kept := desk.root / upload["with"]["path"]).exists():
            kept.rename(desk.write(f"shards/shard-{shard}/x", "").parent / "kept")
    *_, download, merge, _ = jobs["evaluate"]["steps"]
    assert download["with"]["path"] == "shards"
    merged_as_told(desk, merge["run"], ["agent-eval.html", "junit.xml", ".agent_eval/results"])


@pytest.mark.slow
def test_the_parallel_jobs_for_gitlab_share_the_cases_out_and_merge_them(desk: Project) -> None:
    two_cases(desk)
    jobs = yaml.safe_load(blocks(CI, "yml")[3])
    count = jobs["shard"]["parallel"]
    for index in range(1, count + 1):
        script = jobs["shard"]["script"][-1]
        done = shell(desk, script, CI_NODE_INDEX=str(index), CI_NODE_TOTAL=str(count))
        assert done.returncode == (index == 1), done.stderr
    artifacts = jobs["evaluate"]["artifacts"]
    merged_as_told(
        desk, jobs["evaluate"]["script"][-1], [*artifacts["paths"], *artifacts["reports"].values()]
    )


def test_the_first_command_of_the_page_works(desk: Project) -> None:
    done = shell(desk, blocks(CI, "sh")[0])
    assert done.returncode == 1, done.stderr
    assert {path.name for path in (desk.root / "reports").iterdir()} == {
        "index.html",
        "junit.xml",
        "summary.md",
    }
