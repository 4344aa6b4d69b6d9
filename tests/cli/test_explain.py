"""`agent-eval explain`, and the causes that `run` and `report` show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli_support import Outcome, Project, case, custom, eval_set

pytestmark = pytest.mark.slow

AGENT = """\
    def look_up(order_id):
        return {"status": "shipped"}

    def write_log(text):
        return {}

    async def root_agent(message, session):
        if "crash" in message.text:
            return session.state["tier"]
        if "log" in message.text:
            await session.call_tool(write_log, text="[bold]x[/bold]")
        await session.call_tool(look_up, order_id="A1")
        return "It has shipped."
    """
USES = {"tool_uses": [{"name": "look_up", "args": {"order_id": "A1"}}]}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An evaluation in which one case passes, one logs, and one crashes in every run."""
    project = Project(tmp_path_factory.mktemp("explain"))
    project.agent(AGENT)
    cases = [case(name, name, answer="It has shipped.") for name in ("plain", "log", "crash")]
    for one in cases:
        one["conversation"][0]["intermediate_data"] = USES
    project.write("set.json", eval_set(*cases))
    project.write("eval_config.json", {"criteria": {"tool_trajectory_avg_score": 1.0}})
    done = project.agent_eval("run", "bot", "set.json", "--num_runs", "2")
    assert done.code == 1
    project.write("report.txt", done.stdout)
    return project


def explained(project: Project, *arguments: str) -> Outcome:
    return project.agent_eval("explain", *arguments)


def result(project: Project) -> str:
    return str(project.results()[-1].relative_to(project.root))


def test_run_shows_why_and_what_to_change_within_the_width(shop: Project) -> None:
    report = (shop.root / "report.txt").read_text()
    assert re.search(r"why +AE101: besides the expected calls the agent called", report)
    assert 'write_log(text="[bold]x[/bold]")' in " ".join(report.split())
    assert re.search(r"change +if such calls do no harm, set `match_type` to", report)
    assert re.search(r"runs 1-2 crashed: KeyError: 'tier'\n +why +AE401: `tier` was looked for", report)
    assert max(len(line) for line in report.splitlines() if not line.startswith("Result: ")) <= 80


def test_summary_has_the_causes(shop: Project) -> None:
    log = shop.case("log")["metrics"]["tool_trajectory_avg_score"]["causes"]
    assert [(cause["code"], cause["runs"]) for cause in log] == [("AE101", [0, 1])]
    crash = shop.case("crash")
    assert [cause["code"] for cause in crash["causes"]] == ["AE401"]
    assert crash["metrics"]["tool_trajectory_avg_score"]["causes"] == crash["causes"]
    assert shop.case("plain")["metrics"]["tool_trajectory_avg_score"]["causes"] == []


def test_explains_a_summary_a_journal_and_a_journal_alone(shop: Project) -> None:
    summary = result(shop)
    journal = summary.replace(".json", ".runs.jsonl")
    alone = shop.root / "alone.runs.jsonl"
    alone.write_bytes((shop.root / journal).read_bytes())
    for target in (summary, journal, alone.name):
        done = explained(shop, target)
        assert done.code == 0, done.stderr
        assert "AE101: besides the expected calls" in done.stdout
        assert "AE401" in done.stdout
        assert "plain" not in done.stdout


def test_explains_the_cases_named(shop: Project) -> None:
    done = explained(shop, result(shop), "--case", "crash", "--case", "plain", "--json")
    assert [(one["eval_id"], one["verdict"]) for one in done.document["cases"]] == [
        ("plain", "PASSED"),
        ("crash", "FAILED"),
    ]
    assert done.document["cases"][1]["causes"][0]["code"] == "AE401"


def test_explains_results_by_name_and_folder(shop: Project) -> None:
    for reference in ("latest", ".agent_eval/results", ".agent_eval/results/demo"):
        document = explained(shop, reference, "--json").document
        assert [one["eval_set_id"] for one in document["results"]] == ["demo"]
        assert [one["eval_id"] for one in document["cases"]] == ["log", "crash"]
    assert explained(shop, "previous").code == 2


def test_case_that_is_not_there_is_an_error_with_the_nearest(shop: Project) -> None:
    done = explained(shop, result(shop), "--case", "crsh")
    assert done.code == 2
    assert "there is no case `crsh` (did you mean `crash`?)" in done.stderr


def test_summary_without_its_journal_keeps_the_causes_it_has(shop: Project, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes((shop.root / result(shop)).read_bytes())
    done = explained(shop, str(copy))
    assert done.code == 0
    assert "its journal is not beside it" in done.stderr
    assert "AE101" in done.stdout


def test_result_that_passed_has_nothing_to_explain(project: Project) -> None:
    project.agent()
    project.write("set.json", eval_set(case("fine")))
    project.write("eval_config.json", {"criteria": {"response_match_score": 0.8}})
    assert project.agent_eval("run", "bot", "set.json").code == 0
    done = explained(project, result(project))
    assert done.code == 0
    assert "Every case passed: there is nothing to explain." in done.stdout


def test_code_has_a_long_form(project: Project) -> None:
    by_code, by_name = explained(project, "ae101"), explained(project, "extra-calls")
    assert by_code.code == by_name.code == 0
    assert by_code.stdout == by_name.stdout
    assert "IN_ORDER wants the expected calls in their order" in " ".join(by_code.stdout.split())
    assert max(map(len, by_code.stdout.splitlines())) <= 80
    document = explained(project, "AE101", "--json").document
    assert document["code"] == "AE101"
    assert document["text"].startswith("# AE101 extra-calls")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("AE1O1", "did you mean `AE101`"),
        ("extra-call", "did you mean `extra-calls`?"),
        ("unheard-of", "`agent-eval explain` lists the codes"),
    ],
)
def test_unknown_code_is_an_error_with_near_misses(project: Project, name: str, hint: str) -> None:
    done = explained(project, name)
    assert done.code == 2
    assert f"there is neither a code nor a result `{name}`" in done.stderr
    assert hint in done.stderr


def test_missing_file_is_an_error(project: Project) -> None:
    done = explained(project, "results/none.json")
    assert done.code == 2
    assert "no such file" in done.stderr


def test_all_codes_are_listed(project: Project) -> None:
    done = explained(project)
    assert done.code == 0
    assert re.search(r"^AE101 +extra-calls +The agent made calls", done.stdout, re.MULTILINE)
    codes = [one["code"] for one in explained(project, "--json").document["codes"]]
    assert codes == sorted(codes)


def test_metric_that_is_not_evaluated_shows_why(project: Project) -> None:
    project.agent()
    project.write("gates.py", "def late(metric, *rest):\n    return 1.0 if metric.threshold > 0.5 else 0.0\n")
    project.write("set.json", eval_set(case("fine")))
    project.write("config.json", custom("late"))
    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json")
    assert done.code == 3
    assert re.search(r"why +AE502: the metric reckons with a value that is None", done.stdout)
    assert "read `eval_metric.criterion.threshold` instead" in done.stdout


def test_what_all_cases_have_in_common_comes_first(project: Project) -> None:
    project.agent()
    search = {"tool_uses": [{"name": "google_search", "args": {"query": "x"}}]}
    cases = [case(f"case_{number}") for number in range(4)]
    for one in cases:
        one["conversation"][0]["intermediate_data"] = search
    project.write("set.json", eval_set(*cases))
    project.write("eval_config.json", {"criteria": {"tool_trajectory_avg_score": 1.0}})
    done = project.agent_eval("run", "bot", "set.json")
    assert re.search(
        r"all cases\n +why +AE602: `tool_trajectory_avg_score` fails in all 4 cases", done.stdout
    )
    assert done.stdout.index("AE602") < done.stdout.index("AE108: `google_search` is expected")
    assert project.summary()["causes"][0]["code"] == "AE602"
