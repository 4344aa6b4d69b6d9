"""Reports as files and what CI systems are told, by `agent-eval run` and `report` as processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from junitparser import JUnitXml

from tests.cli_support import ECHO, RESPONSES, Outcome, Project, case, custom, eval_set

pytestmark = pytest.mark.slow

REPORTS = {
    "--html": "out/page.html",
    "--junit-xml": "out/junit.xml",
    "--markdown": "out/summary.md",
    "--codequality": "out/quality.json",
}
FORGED = "::error file=other.py::forged"
CASES = [case("passes"), case("fails", FORGED, answer="goodbye"), case("another")]
OUTSIDE = dict.fromkeys(("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GITLAB_CI"), "")


def options(**named: str) -> list[str]:
    return [word for option, file in (named or REPORTS).items() for word in (option, file)]


@pytest.fixture
def desk(project: Project) -> Project:
    project.agent()
    project.write("desk.evalset.json", json.dumps(eval_set(*CASES), indent=1))
    project.write("desk.eval_config.json", RESPONSES)
    return project


def run(project: Project, *arguments: str, **variables: str) -> Outcome:
    return project.agent_eval("run", "bot", "desk.evalset.json", *arguments, **{**OUTSIDE, **variables})


def test_every_report_is_written_beside_the_result_and_changes_no_exit_code(desk: Project) -> None:
    outcome = run(desk, *options())
    assert outcome.code == 1
    assert "3 cases: 2 passed, 1 failed" in outcome.stdout.replace("\n", " ")
    assert '"eval_set"' not in outcome.stderr
    (suite,) = JUnitXml.fromfile(str(desk.root / "out/junit.xml"))
    assert (suite.tests, suite.failures) == (3, 1)
    assert (desk.root / "out/summary.md").read_text().startswith("## ❌ demo: 2 of 3 cases passed")
    (finding,) = json.loads((desk.root / "out/quality.json").read_bytes())
    lines = (desk.root / "desk.evalset.json").read_text().splitlines()
    assert '"eval_id": "fails"' in lines[finding["location"]["lines"]["begin"] - 1]
    assert finding["location"]["path"] == "desk.evalset.json"
    assert (desk.root / "out/page.html").read_text().startswith("<!doctype html>")
    assert not list((desk.root / "out").glob(".*"))


def test_report_writes_what_run_wrote(desk: Project) -> None:
    run(desk, *options())
    written = {file: (desk.root / file).read_bytes() for file in REPORTS.values()}
    for file in written:
        (desk.root / file).unlink()
    (summary,) = desk.results()
    outcome = desk.agent_eval("report", str(summary.relative_to(desk.root)), *options(), **OUTSIDE)
    assert outcome.code == 0
    assert {file: (desk.root / file).read_bytes() for file in REPORTS.values()} == written


def test_an_old_report_is_replaced(desk: Project) -> None:
    (desk.root / "out").mkdir()
    (desk.root / "out/old.xml").write_text("old" * 100_000)
    run(desk, "--junit-xml", "out/old.xml")
    assert len(list(JUnitXml.fromfile(str(desk.root / "out/old.xml")))) == 1


def test_a_file_that_cannot_be_is_told_before_anything_runs(desk: Project) -> None:
    desk.write("file", "")
    for named in ("file/page.html", "bot"):
        outcome = run(desk, "--html", named)
        assert outcome.code == 2
        assert named.split("/")[0] in outcome.stderr
    outcome = run(desk, "--html", "same", "--markdown", "./same")
    assert (outcome.code, "one file" in outcome.stderr) == (2, True)
    assert desk.results() == []


def test_a_report_that_cannot_be_written_is_told_and_loses_nothing(desk: Project) -> None:
    making = "    __import__('pathlib').Path('page.html').mkdir(exist_ok=True)\n"
    desk.agent(ECHO.replace("    return", f"{making}    return"))
    outcome = run(desk, "--html", "page.html", "--junit-xml", "junit.xml")
    assert outcome.code == 1
    assert "error: a report cannot be written" in outcome.stderr
    assert len(desk.results()) == 1
    assert (desk.root / "junit.xml").exists()
    (summary,) = desk.results()
    again = desk.agent_eval("report", str(summary), "--html", "page.html", **OUTSIDE)
    assert again.code == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to(desk: Project) -> None:
    os.mkfifo(desk.root / "pipe")
    with subprocess.Popen(["cat", str(desk.root / "pipe")], stdout=subprocess.PIPE) as reader:
        run(desk, "--markdown", "pipe")
        assert reader.communicate(timeout=30)[0].startswith("## ❌ demo".encode())


def test_several_eval_sets_are_in_one_report(desk: Project) -> None:
    desk.write("more.evalset.json", eval_set(case("one"), eval_set_id="more"))
    desk.write("more.eval_config.json", RESPONSES)
    outcome = desk.agent_eval(
        "run", "bot", "desk.evalset.json", "more.evalset.json", "--junit-xml", "junit.xml", **OUTSIDE
    )
    assert outcome.code == 1
    assert [suite.name for suite in JUnitXml.fromfile(str(desk.root / "junit.xml"))] == ["demo", "more"]


def test_github_is_told_and_obeys_nothing_that_an_agent_says(desk: Project) -> None:
    summary = desk.write("summary.md", "before\n")
    outcome = run(
        desk,
        "--print_detailed_results",
        GITHUB_ACTIONS="true",
        GITHUB_STEP_SUMMARY=str(summary),
        GITHUB_WORKSPACE=str(desk.root.parent),
    )
    assert outcome.code == 1
    fence = re.search(r"^::stop-commands::(\w{32})$", outcome.stdout, re.MULTILINE)
    assert fence
    before, _, after = outcome.stdout.partition(f"\n::{fence[1]}::\n")
    assert FORGED in " ".join(before.split())
    (annotation,) = after.splitlines()
    path = f"{desk.root.name}/desk.evalset.json"
    assert re.match(rf"::error file={re.escape(path)},line=\d+,title=fails failed::", annotation)
    assert summary.read_text().startswith("before\n## ❌ demo: 2 of 3 cases passed")


def test_the_document_on_stdout_stays_one_in_a_github_workflow(desk: Project) -> None:
    outcome = run(desk, "--json", GITHUB_ACTIONS="true")
    assert outcome.document["exit_code"] == 1
    assert "::error file=" in outcome.stderr


def test_a_case_that_was_not_evaluated_is_a_warning(desk: Project) -> None:
    desk.write("gates.py", "def gate(*_):\n    raise RuntimeError('quota exceeded')\n")
    desk.write("desk.eval_config.json", custom("gate"))
    outcome = run(desk, GITHUB_ACTIONS="true")
    assert outcome.code == 3
    assert outcome.stdout.count("::warning file=") == 3


def test_a_gitlab_job_leaves_findings(desk: Project) -> None:
    assert run(desk, GITLAB_CI="true").code == 1
    (finding,) = json.loads((desk.root / "gl-code-quality-report.json").read_bytes())
    assert finding["description"].startswith("fails failed: ")
    (desk.root / "gl-code-quality-report.json").unlink()
    run(desk, "--codequality", "own.json", GITLAB_CI="true")
    assert not (desk.root / "gl-code-quality-report.json").exists()


def test_no_ci_no_words_for_it(desk: Project) -> None:
    outcome = run(desk)
    assert not re.search(r"^::(stop-commands|error file=desk)", outcome.stdout, re.MULTILINE)
    assert {path.name for path in desk.root.iterdir()} == {
        ".agent_eval",
        "bot",
        "desk.evalset.json",
        "desk.eval_config.json",
    }


def test_a_comparison_is_a_page(desk: Project) -> None:
    run(desk)
    run(desk)
    before, after = (str(file) for file in desk.results())
    outcome = desk.agent_eval("compare", before, after, "--html", "out/comparison.html", **OUTSIDE)
    assert outcome.code == 0
    page = (desk.root / "out/comparison.html").read_text()
    assert Path(before).stem in page


def test_reports_load_neither_clients_nor_templates(desk: Project) -> None:
    code = (
        "import sys; from agent_eval.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: print({'openai', 'google.genai', 'jinja2'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [*desk.command()[:1], "-c", code, "run", "bot", "desk.evalset.json", *options()],
        cwd=desk.root,
        env=desk.environment(**OUTSIDE),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == "set()"


STARTS = {
    "--html": "<!doctype html>",
    "--junit-xml": "<?xml version=",
    "--markdown": "## ❌ demo: 2 of 3 cases passed",
    "--codequality": "[",
}


@pytest.mark.parametrize(("option", "start"), STARTS.items(), ids=STARTS.keys())
def test_a_report_can_go_to_stdout_with_the_table_on_stderr(desk: Project, option: str, start: str) -> None:
    made = run(desk, option, "-")
    shown = desk.agent_eval("report", "latest", option, "-")

    assert (made.code, shown.code) == (1, 0)
    for outcome in (made, shown):
        assert outcome.stdout.startswith(start)
        assert "3 cases: 2 passed, 1 failed" in outcome.stderr.replace("\n", " ")
        assert "goodbye" in outcome.stderr
    assert not (desk.root / "-").exists()


def test_a_comparison_can_go_to_stdout(desk: Project) -> None:
    run(desk)
    run(desk)

    page = desk.agent_eval("compare", "previous", "latest", "--html", "-")

    assert page.code == 0
    assert page.stdout.startswith("<!doctype html>")
    assert "3 unchanged" in page.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--markdown", "-", "--json"], ["--markdown", "-", "--html", "-"]],
    ids=["with the document", "two reports"],
)
def test_only_one_can_have_stdout(desk: Project, arguments: list[str]) -> None:
    run(desk)
    known = set(desk.root.rglob("*"))

    outcomes = [
        run(desk, *arguments),
        desk.agent_eval("report", "latest", *arguments),
        desk.agent_eval("compare", "latest", "latest", *arguments),
    ]

    assert [outcome.code for outcome in outcomes] == [2, 2, 2]
    assert all("only one can have stdout: " in outcome.stderr for outcome in outcomes)
    assert set(desk.root.rglob("*")) == known
    assert all("--json" not in arguments or outcome.document["exit_code"] == 2 for outcome in outcomes)
