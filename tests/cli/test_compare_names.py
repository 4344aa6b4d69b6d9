"""What names a result for `compare` and `baseline`, and the forms a comparison takes."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli_support import RESPONSES, RESULTS, Outcome, Project, case, eval_set

pytestmark = pytest.mark.slow

AGENT = """\
    def root_agent(message, session):
        return message.text if {works} else "nothing"
    """


@dataclass(frozen=True)
class History:
    """Two eval sets, each run at two commits: the agent broke in between."""

    project: Project
    first: str
    second: str

    def compare(self, *arguments: str) -> Outcome:
        return self.project.agent_eval("compare", *arguments)


def git(project: Project, *arguments: str) -> str:
    named = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run([*named, *arguments], cwd=project.root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(project: Project, *, works: bool) -> str:
    project.agent(AGENT.format(works=works))
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", f"works: {works}")
    project.agent_eval("run", "bot", "evalsets/orders.evalset.json", "evalsets/refunds.evalset.json")
    return git(project, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    project = Project(tmp_path_factory.mktemp("names"))
    git(project, "init", "--quiet")
    project.write(".gitignore", ".agent_eval\n__pycache__\n")
    project.write("pyproject.toml", "[tool.agent-eval]\n")
    for name in ("orders", "refunds"):
        project.write(f"evalsets/{name}.evalset.json", eval_set(case("one", "hello"), eval_set_id=name))
    project.write("evalsets/eval_config.json", RESPONSES)
    first = commit(project, works=True)
    project.agent_eval("baseline", "set", "latest")
    second = commit(project, works=False)
    return History(project, first, second)


@pytest.mark.parametrize(
    ("names", "code", "changes"),
    [
        pytest.param(["previous", "latest"], 1, ["regressed"] * 2, id="previous and latest"),
        pytest.param(["previous"], 1, ["regressed"] * 2, id="latest is the default"),
        pytest.param(["latest", "previous"], 0, ["fixed"] * 2, id="the other way round"),
        pytest.param(["latest", "latest"], 0, ["unchanged"] * 2, id="the same twice"),
        pytest.param(["baseline", "latest"], 1, ["regressed"] * 2, id="baseline"),
        pytest.param(["latest", "baseline"], 0, ["fixed"] * 2, id="baseline as the candidate"),
        pytest.param(["git:HEAD~1", "git:HEAD"], 1, ["regressed"] * 2, id="two commits"),
        pytest.param([RESULTS, RESULTS], 0, ["unchanged"] * 2, id="folders of results"),
        pytest.param([f"{RESULTS}/orders", "latest"], 0, ["unchanged"], id="folder of an eval set"),
        pytest.param(["previous", "--evalset", "refunds"], 1, ["regressed"], id="one of the eval sets"),
    ],
)
def test_names_stand_for_results(history: History, names: list[str], code: int, changes: list[str]) -> None:
    done = history.compare(*names, "--json")
    assert done.code == code, done.stderr
    assert [one["change"] for one in done.document["cases"]] == changes


def test_several_eval_sets_are_told_apart(history: History) -> None:
    done = history.compare("previous", "latest", "--json")
    assert [one["eval_set_id"] for one in done.document["cases"]] == ["orders", "refunds"]
    assert [one["eval_set_id"] for one in done.document["comparisons"]] == ["orders", "refunds"]
    assert done.document["counts"]["regressed"] == 2
    report = history.compare("previous", "latest").stdout
    titles = [line.split()[0] for line in report.splitlines() if "→ 2" in line]
    assert titles == ["orders", "refunds"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["nowhere", "latest"], "nowhere: no such file (a result is a file, a folder"),
        (["git:nowhere", "latest"], "`nowhere` is no commit of a git repository here"),
        (["git:--all", "latest"], "`--all` is no commit of a git repository here"),
        (["baseline", "baseline"], "a baseline cannot be compared with itself"),
        (["previous", "latest", "--results", "empty"], "none is in empty"),
        (["previous", "latest", "--evalset", "other"], "have no eval set in common"),
    ],
)
def test_names_that_stand_for_nothing_are_told(history: History, names: list[str], said: str) -> None:
    done = history.compare(*names)
    assert (done.code, done.stdout) == (2, "")
    assert said in done.stderr


def test_commit_without_a_result_says_how_to_get_one(project: Project) -> None:
    git(project, "init", "--quiet")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "empty")
    done = project.agent_eval("compare", "git:HEAD", "git:HEAD")
    assert done.code == 2
    assert "none in .agent_eval/results was made from commit" in done.stderr
    assert "check it out and run" in done.stderr


def test_result_of_uncommitted_changes_is_said_to_be(project: Project) -> None:
    git(project, "init", "--quiet")
    project.agent()
    project.write("set.json", eval_set(case("one")))
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "one")
    project.agent("def root_agent(message, session):\n    return message.text  # changed\n")
    project.agent_eval("run", "bot", "set.json")
    done = project.agent_eval("compare", "git:HEAD", "git:HEAD")
    assert done.code == 0
    assert "was made from a working folder with uncommitted changes" in done.stderr


def test_baseline_lies_beside_its_eval_set_and_is_small(history: History) -> None:
    path = history.project.root / "evalsets" / "orders.baseline.json"
    document = json.loads(path.read_bytes())
    assert document["provenance"]["git_commit"] == history.first
    assert [metric["metric_name"] for metric in document["cases"][0]["metrics"]] == ["response_match_score"]
    assert path.read_text().startswith('{\n  "schema_version": 1,')


def test_eval_set_without_a_baseline_is_not_compared_and_said_not_to_be(project: Project) -> None:
    project.agent()
    for name in ("orders", "refunds"):
        project.write(f"{name}.evalset.json", eval_set(case("one"), eval_set_id=name))
    project.agent_eval("run", "bot", "orders.evalset.json", "refunds.evalset.json")
    none = project.agent_eval("compare", "baseline", "latest")
    assert none.code == 2
    assert "orders.baseline.json: no such baseline (set one: agent-eval baseline set RESULT)" in none.stderr
    project.agent_eval("baseline", "set", f"{RESULTS}/orders")
    done = project.agent_eval("compare", "baseline", "latest", "--json")
    assert done.code == 0
    assert [one["eval_set_id"] for one in done.document["comparisons"]] == ["orders"]
    assert "note: eval set `refunds` is not compared: `baseline` has no result of it" in done.stderr


def test_baseline_is_shown_with_where_it_is_from(history: History) -> None:
    shown = history.project.agent_eval("baseline", "show", "evalsets/orders.evalset.json")
    assert shown.code == 0
    assert "1 case: 1 passed" in shown.stdout
    assert "evalsets/orders.baseline.json: result 2" in shown.stdout
    assert f"of commit {history.first[:12]}" in shown.stdout
    every = history.project.agent_eval("baseline", "show", "--json")
    assert [one["eval_set"]["eval_set_id"] for one in every.document["results"]] == ["orders", "refunds"]


def test_baseline_cannot_be_kept_beside_what_is_not_there(history: History, tmp_path: Path) -> None:
    data = Path(__file__).parents[1] / "data" / "adk_results" / "one_failing.evalset_result.json"
    done = history.project.agent_eval("baseline", "set", str(data))
    assert done.code == 2
    assert "it does not name its eval set" in done.stderr
    assert "use --evalset" in done.stderr


def test_markdown_is_written_to_a_file_or_to_stdout(history: History) -> None:
    report = history.compare("previous", "latest").stdout
    filed = history.compare("previous", "latest", "--markdown", "comparison.md")
    assert (filed.code, filed.stdout) == (1, report)
    said = history.compare("previous", "latest", "--markdown", "-")
    assert said.stdout == (history.project.root / "comparison.md").read_text(encoding="utf-8")
    assert said.stderr == report
    assert "### orders: 1 regressed" in said.stdout
    assert "| **regressed** | one | PASSED → FAILED |" in said.stdout
    assert history.compare("previous", "latest", "--markdown", "-", "--json").code == 2


@pytest.mark.parametrize(
    ("gate", "code"), [("regression", 1), ("any-drop", 1), ("noise-excluded", 0), ("noise_excluded", 0)]
)
def test_gates_decide_the_exit_code(history: History, gate: str, code: int) -> None:
    assert history.compare("previous", "latest", "--fail-on", gate).code == code
    assert history.compare("previous", "latest", "--fail-on", gate, "--exit-zero").code == 0
