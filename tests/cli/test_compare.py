"""`agent-eval compare`, as a real process on results that real processes left."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.schema.result import SCHEMA_VERSION
from agent_eval.store.journal import SUFFIX
from agent_eval.store.results import read_result
from tests.cli_support import Outcome, Project, case, custom, eval_set

WRITTEN = sorted((Path(__file__).parents[1] / "data" / "results").glob("*.json"))
"""A result of each version that this project has written."""

AGENT = """\
    import os


    def root_agent(message, session):
        changed = os.environ["VERSION"] == "2"
        if message.text == "worse" and changed:
            return "nothing"
        if message.text == "mended" and not changed:
            return "nothing"
        if message.text == "flaky" and changed and session.run_index == 1:
            return "nothing"
        return message.text
    """
GATES = """\
    from agent_eval import EvalStatus, EvaluationResult


    def gate(metric, actual, expected, scenario):
        return EvaluationResult(overall_score=1.0, overall_eval_status=EvalStatus.PASSED)
    """


def multi_run(num_runs: int) -> dict[str, Any]:
    rule = {"method": "pass_rate", "threshold": 1.0}
    return {"num_runs": num_runs, "cross_run_scoring_by_metric": {"response_match_score": rule}}


def trajectory(match_type: str) -> dict[str, Any]:
    return {"threshold": 1.0, "match_type": match_type}


CRITERIA = {"response_match_score": 0.8, "tool_trajectory_avg_score": trajectory("EXACT")}
NEW_CRITERIA: dict[str, Any] = CRITERIA | {"response_match_score": 0.9}


@dataclass(frozen=True)
class Results:
    """Two results of one eval set, the second after changes to agent, cases and config."""

    project: Project
    baseline: str
    candidate: str

    def compare(self, *arguments: str, **variables: str) -> Outcome:
        return self.project.agent_eval("compare", self.baseline, self.candidate, *arguments, **variables)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    project = Project(tmp_path_factory.mktemp("compare"))
    project.agent(AGENT)
    project.write("gates.py", GATES)
    same = [case("same", "same"), case("worse", "worse"), case("mended", "mended"), case("flaky", "flaky")]
    project.write("set.json", eval_set(*same, case("edited", "before"), case("gone", "gone")))
    project.write("config.json", {"criteria": CRITERIA, "multi_run_config": multi_run(5)})
    project.agent_eval("run", "bot", "set.json", "--config", "config.json", VERSION="1")
    project.write("set.json", eval_set(*same, case("edited", "after"), case("added", "added")))
    project.write("config.json", custom("gate", **NEW_CRITERIA) | {"multi_run_config": multi_run(6)})
    project.agent_eval("run", "bot", "set.json", "--config", "config.json", VERSION="2")
    baseline, candidate = (str(path.relative_to(project.root)) for path in project.results())
    return Results(project, baseline, candidate)


@pytest.fixture(scope="module")
def report(results: Results) -> Outcome:
    return results.compare()


GOALPOSTS = [
    ("response_match_score.threshold", "0.8", "0.9"),
    ("gate", "no criterion", "a criterion"),
    ("num_runs", "5", "6"),
    ("case edited", "as it was", "edited"),
]


def test_goalposts_are_shown_before_any_score(report: Outcome) -> None:
    lines = report.stdout.splitlines()
    goalposts = [f"goalpost  {what}: {before} → {after}" for what, before, after in GOALPOSTS]
    assert lines[1 : len(GOALPOSTS) + 1] == goalposts
    assert lines[len(GOALPOSTS) + 1] == "The scores below were not taken under the same conditions."
    assert not re.search(r"PASSED|FAILED|\d/\d", "\n".join(lines[: len(GOALPOSTS) + 2]))


def test_regressions_are_listed_first(report: Outcome) -> None:
    kinds = re.findall(r"^(regressed|fixed|moved|new|removed|unchanged) +(\w+) ", report.stdout, re.MULTILINE)
    assert kinds == [
        ("regressed", "worse"),
        ("regressed", "flaky"),
        ("fixed", "mended"),
        ("new", "added"),
        ("removed", "gone"),
        ("unchanged", "same"),
        ("unchanged", "edited"),
    ]
    assert "2 regressed, 1 fixed, 0 moved, 1 new, 1 removed, 2 unchanged\n" in report.stdout


def test_difference_within_noise_is_said_to_be(report: Outcome) -> None:
    worse, flaky = (re.split(r"^(?:fixed|regressed) ", report.stdout, flags=re.MULTILINE))[1:3]
    assert "5/5 → 5/6" in flaky
    assert "within noise" in flaky
    assert "5/5 → 0/6" in worse
    assert "within noise" not in worse


def test_report_stays_within_80_columns(report: Outcome) -> None:
    assert max(map(len, report.stdout.splitlines())) <= 80


def test_regression_fails_the_command_unless_it_only_looks(results: Results, report: Outcome) -> None:
    assert report.code == 1
    looked = results.compare("--exit-zero")
    assert (looked.code, looked.stdout) == (0, report.stdout)


def test_command_has_the_same_name_below_eval(results: Results, report: Outcome) -> None:
    below = results.project.agent_eval("eval", "compare", results.baseline, results.candidate)
    assert (below.code, below.stdout) == (report.code, report.stdout)


def test_no_regression_is_a_success(results: Results) -> None:
    done = results.project.agent_eval("compare", results.baseline, results.baseline)
    assert done.code == 0
    assert "goalpost" not in done.stdout
    assert "not taken under the same conditions" not in done.stdout
    assert "0 regressed, 0 fixed, 0 moved, 0 new, 0 removed, 6 unchanged\n" in done.stdout


def test_json_is_one_document_and_the_report_goes_to_stderr(results: Results, report: Outcome) -> None:
    done = results.compare("--json")
    document = done.document
    assert (done.code, document["exit_code"]) == (1, 1)
    assert done.stderr == report.stdout
    (comparison,) = document["comparisons"]
    assert (comparison["baseline"], comparison["candidate"]) == (
        Path(results.baseline).stem,
        Path(results.candidate).stem,
    )
    goalposts = [(one["what"], one["before"], one["after"]) for one in comparison["goalposts"]]
    assert goalposts == GOALPOSTS
    counts = {"regressed": 2, "fixed": 1, "moved": 0, "new": 1, "removed": 1, "unchanged": 2}
    assert document["counts"] == comparison["counts"] == counts
    assert {one["eval_set_id"] for one in document["cases"]} == {"demo"}
    flaky = document["cases"][1]
    assert (flaky["eval_id"], flaky["change"], flaky["within_noise"]) == ("flaky", "regressed", True)
    assert (flaky["before"], flaky["after"]) == ("PASSED", "FAILED")
    assert (flaky["runs_before"], flaky["runs_after"]) == ("5/5", "5/6")
    assert flaky["pass_rate_after"] == pytest.approx(5 / 6)
    (match,) = (one for one in flaky["scores"] if one["metric_name"] == "response_match_score")
    assert match["delta"] == pytest.approx(-1 / 6)


def test_comparing_imports_no_agent_and_no_sdk(results: Results) -> None:
    done = results.compare(PYTHONPROFILEIMPORTTIME="1")
    imported = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert "agent_eval.compare.comparison" in imported
    heavy = ("google", "agent_eval.agents", "agent_eval.engine", "agent_eval.metrics", "agent_eval.judge")
    assert [name for name in imported if f"{name}.".startswith(tuple(f"{one}." for one in heavy))] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(
            json.dumps({"schema_version": SCHEMA_VERSION + 41}),
            rf"written by a newer agent-eval: .*\b{SCHEMA_VERSION + 41}\b.*\b{SCHEMA_VERSION}\b",
            id="newer version",
        ),
        pytest.param('{"eval_set_id": "demo", "eval_cases": []}', "is not a result of", id="an eval set"),
        pytest.param("[1, 2]", "is not a result of", id="a list"),
        pytest.param('{"schema_version": "1"}', "is not a result of", id="a version that is no number"),
        pytest.param('{"schema_version": 1, "cases": [', "not JSON", id="cut off"),
        pytest.param('{"schema_version": 1, "result_id": "x"}', "is damaged: ", id="keys are missing"),
        pytest.param(None, "no such file", id="no file"),
    ],
)
def test_what_is_no_result_is_an_error_that_names_the_file(
    results: Results, content: str | None, said: str
) -> None:
    if content is None:
        (results.project.root / "other.json").unlink(missing_ok=True)
    else:
        results.project.write("other.json", content)
    done = results.project.agent_eval("compare", results.baseline, "other.json")
    assert (done.code, done.stdout) == (2, "")
    assert re.match(f"error: other.json(:1)?: .*{said}", done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("key", ["eval_set", "config", "totals", "cases"])
@pytest.mark.parametrize("value", [None, "text", [7]], ids=["null", "text", "list"])
def test_damaged_result_names_the_key(results: Results, tmp_path: Path, key: str, value: Any) -> None:
    document = json.loads((results.project.root / results.baseline).read_bytes())
    (tmp_path / "damaged.json").write_text(json.dumps({**document, key: value}))
    with pytest.raises(InputError, match=rf"damaged\.json: {key}.*: is damaged: "):
        read_result(tmp_path / "damaged.json")


def test_journal_stands_for_the_summary_beside_it(results: Results) -> None:
    journals = [path.removesuffix(".json") + SUFFIX for path in (results.baseline, results.candidate)]
    done = results.project.agent_eval("compare", *journals)
    assert done.code == 1
    assert "2 regressed" in done.stdout


def test_there_is_a_written_result_of_every_version() -> None:
    versions = {json.loads(path.read_bytes())["schema_version"] for path in WRITTEN}
    assert versions == set(range(1, SCHEMA_VERSION + 1))


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_every_result_ever_written_is_compared(results: Results, path: Path) -> None:
    done = results.project.agent_eval("compare", str(path), results.candidate, "--json")
    assert done.code in (0, 1)
    written = json.loads(path.read_bytes())
    assert done.document["comparisons"][0]["baseline"] == written["result_id"]
    compared = {one["eval_id"] for one in done.document["cases"] if one["before"]}
    assert compared == {one["eval_id"] for one in written["cases"]}
