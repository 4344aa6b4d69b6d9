"""`agent-eval grade`, as a real process on results that real processes left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli_support import RESPONSES, RESULTS, Project, case, custom, eval_set
from tests.model_server import ModelServer

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"

AGENT = """\
    def root_agent(message, session):
        open("asked", "a").write("x")
        if message.text == "crash":
            raise RuntimeError("broken")
        return "half of it" if message.text == "half of the rest" else message.text
    """
SEEING = """\
    def root_agent(message, session):
        session.state["seen"] = True
        return message.text
    """
STRICT = {"criteria": {"response_match_score": 0.9}}


@pytest.fixture
def ran(project: Project) -> Project:
    """A project with a result: one case that passes, one that half passes, one that crashes."""
    project.agent(AGENT)
    project.write(
        "set.json", eval_set(case("same", "same"), case("half", "half of the rest"), case("crash", "crash"))
    )
    project.write(
        "config.json", {"criteria": {"response_match_score": 0.5}, "multi_run_config": {"num_runs": 2}}
    )
    project.agent_eval("run", "bot", "set.json", "--config", "config.json")
    project.write("new.json", STRICT)
    return project


def times_asked(project: Project) -> int:
    return len((project.root / "asked").read_text())


def verdicts(project: Project) -> dict[str, str]:
    return {one["eval_id"]: one["verdict"] for one in project.summary()["cases"]}


def test_stored_runs_are_scored_by_another_config_without_the_agent(ran: Project) -> None:
    before, asked = ran.summary(), times_asked(ran)
    assert verdicts(ran) == {"same": "PASSED", "half": "PASSED", "crash": "FAILED"}
    done = ran.agent_eval("grade", "latest", "--config", "new.json")
    assert done.code == 1, done.stderr
    assert done.stderr == ""
    assert times_asked(ran) == asked
    assert verdicts(ran) == {"same": "PASSED", "half": "FAILED", "crash": "FAILED"}
    graded = ran.summary()
    assert graded["result_id"] != before["result_id"]
    assert graded["config"]["criteria"]["response_match_score"]["threshold"] == 0.9
    assert graded["config"]["multi_run_config"]["num_runs"] == 2
    assert graded["provenance"]["graded_from"] == before["result_id"]
    assert "graded_from" not in before["provenance"]
    assert graded["eval_set"] == before["eval_set"]
    assert graded["agent"] == before["agent"]
    assert [one["sha256"] for one in graded["cases"]] == [one["sha256"] for one in before["cases"]]


def test_grading_by_the_same_config_changes_nothing(ran: Project) -> None:
    before, records = ran.summary(), ran.records()
    ran.agent_eval("grade", "latest", "--config", "config.json")
    assert ran.summary()["cases"] == before["cases"]
    assert ran.summary()["config"] == before["config"]
    assert ran.records() == records


def test_graded_result_is_compared_with_what_it_was(ran: Project) -> None:
    ran.agent_eval("grade", "latest", "--config", "new.json")
    done = ran.agent_eval("compare", "previous", "latest", "--json")
    assert done.code == 0
    changes = {one["eval_id"]: (one["change"], one["note"]) for one in done.document["cases"]}
    assert changes["half"] == ("moved", "fails by the moved goalposts alone")
    assert changes["same"][0] == changes["crash"][0] == "unchanged"


def test_what_cannot_be_compared_can_after_grading(ran: Project) -> None:
    in_order = {"threshold": 1.0, "match_type": "IN_ORDER"}
    ran.write("tools.json", {"criteria": {"tool_trajectory_avg_score": 1.0}})
    ran.write("loose.json", {"criteria": {"tool_trajectory_avg_score": in_order}})
    ran.agent_eval("run", "bot", "set.json", "--config", "tools.json")
    ran.agent_eval("run", "bot", "set.json", "--config", "loose.json")
    baseline, loose = (str(path) for path in ran.results()[-2:])
    moved = ran.agent_eval("compare", baseline, loose)
    assert "tool_trajectory_avg_score.match_type changed" in " ".join(moved.stdout.split())
    assert "`agent-eval grade` scores the runs of either side" in " ".join(moved.stdout.split())
    ran.agent_eval("grade", loose, "--config", "tools.json")
    fair = ran.agent_eval("compare", baseline, "latest", "--json")
    assert fair.document["comparisons"][0]["goalposts"] == []
    assert fair.document["comparisons"][0]["suite"]["cases"] == 3


def test_edited_expectations_are_used_only_when_asked_for(ran: Project) -> None:
    edited = [case("same", "same", answer="other"), case("half", "half of the rest")]
    ran.write("set.json", eval_set(*edited))
    recorded = ran.agent_eval("grade", "latest", "--config", "new.json")
    assert (
        "2 cases: what is expected is taken from the runs, as set.json has another version" in recorded.stderr
    )
    assert verdicts(ran)["same"] == "PASSED"
    asked = ran.agent_eval("grade", str(ran.results()[0]), "--config", "new.json", "--evalset", "set.json")
    assert "case `crash` is not in set.json, and left out" in asked.stderr
    assert verdicts(ran) == {"same": "FAILED", "half": "FAILED"}
    changes = ran.agent_eval("compare", str(ran.results()[0]), "latest").stdout
    assert "goalpost  case same: as it was → edited" in changes


def test_runs_tell_what_was_expected_where_the_eval_set_is_gone(project: Project) -> None:
    rubric = {"rubric_id": "r", "rubric_content": {"text_property": "Kind."}}
    given = case("one", "hi", "ho", final_session_state={"seen": True}, rubrics=[rubric])
    project.agent(
        "def root_agent(message, session):\n    session.state['seen'] = True\n    return message.text\n"
    )
    project.write("set.json", eval_set(given))
    project.write("state.json", {"criteria": {"final_session_state_v1": 1.0, "response_match_score": 1.0}})
    project.agent_eval("run", "bot", "set.json", "--config", "state.json")
    before = project.summary()["cases"]
    (project.root / "set.json").unlink()
    done = project.agent_eval("grade", "latest", "--config", "state.json")
    assert done.code == 0, done.stderr
    assert (
        "case `one`: what is expected is taken from the runs, as their eval set is not there" in done.stderr
    )
    assert project.summary()["cases"] == before
    (record,) = project.records()
    assert record.final_session_state == {"seen": True}
    assert record.rubrics is not None


def test_metrics_of_ones_own_score_stored_runs(ran: Project) -> None:
    ran.write(
        "gates.py", "def short(metric, actual, expected, scenario):\n    return float(len(actual) < 2)\n"
    )
    ran.write("own.json", custom("short"))
    done = ran.agent_eval("grade", "latest", "--config", "own.json", "--json")
    assert done.code == 1
    (half,) = (one for one in done.document["cases"] if one["eval_id"] == "half")
    assert half["verdict"] == "PASSED"
    assert ran.summary()["config"]["custom_metrics"] == {"short": "gates.short"}


def test_judges_score_stored_runs(ran: Project, model_server: ModelServer) -> None:
    quick = {"judge_model": "openai/local", "num_samples": 1}
    criterion = {"threshold": 0.5, "judge_model_options": quick}
    ran.write("judged.json", {"criteria": {"final_response_match_v2": criterion}})
    model_server.always = lambda asked: {
        name: inner["enum"][0] if "enum" in inner else "so it is"
        for name, inner in asked.schema["properties"].items()
    }
    asked = times_asked(ran)
    done = ran.agent_eval("grade", "latest", "--config", "judged.json", "--json", "--no_preflight")
    assert times_asked(ran) == asked
    totals = done.document["results"][0]["totals"]
    assert totals["judges"][0]["model"] == "openai/local"
    (same,) = (one for one in done.document["cases"] if one["eval_id"] == "same")
    assert same["verdict"] in ("PASSED", "FAILED")
    limited = ran.agent_eval(
        "grade",
        str(ran.results()[0]),
        "--config",
        "judged.json",
        "--max_judge_calls",
        "0",
        "--no_judge_cache",
    )
    assert "NOT_EVALUATED" in limited.stdout


def test_results_of_adk_are_scored_again(project: Project) -> None:
    file = DATA / "adk_results" / "one_failing.evalset_result.json"
    project.write(
        "tools.json",
        {"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "IN_ORDER"}}},
    )
    exact = project.agent_eval("report", str(file), "--json").document["cases"][0]
    done = project.agent_eval("grade", str(file), "--config", "tools.json", "--json")
    loose = done.document["cases"][0]
    assert (exact["eval_id"], exact["verdict"]) == ("extra_tool", "FAILED")
    assert (loose["eval_id"], loose["verdict"], done.code) == ("extra_tool", "PASSED", 0)
    assert project.summary()["provenance"]["graded_from"]


def test_traces_are_scored_by_an_eval_set(project: Project) -> None:
    events = [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "hi"}]}},
        {"author": "bot", "content": {"role": "model", "parts": [{"text": "hi"}]}},
    ]
    project.write(
        "traces.json",
        {"eval_cases": [{"eval_case_id": "one", "agent_data": {"turns": [{"events": events}]}}]},
    )
    project.write("set.json", eval_set(case("one", "hi")))
    project.write("config.json", RESPONSES)
    alone = project.agent_eval("grade", "traces.json", "--config", "config.json")
    assert alone.code == 3
    assert "compares with expected turns" in " ".join(alone.stdout.split())
    done = project.agent_eval("grade", "traces.json", "--config", "config.json", "--evalset", "set.json")
    assert done.code == 0, done.stderr
    assert project.summary()["eval_set"]["eval_set_id"] == "demo"
    assert [record.eval_set_id for record in project.records()] == ["demo"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["latest", "--config", "none.json"], "none.json: no such file"),
        (["latest", "--config", "empty.json"], "there are no criteria"),
        (["latest", "--config", "unknown.json"], "neither a metric nor declared"),
        (["none.json", "--config", "new.json"], "none.json: no such file"),
        (["set.json", "--config", "new.json"], "is not a result of agent-eval, but an eval set"),
        (["latest", "--config", "new.json", "--evalset", "other.json"], "other.json has none of the cases"),
        (["lonely.json", "--config", "new.json"], "its journal is not beside it"),
    ],
)
def test_what_cannot_be_graded_is_told_and_nothing_is_written(
    ran: Project, arguments: list[str], said: str
) -> None:
    ran.write("empty.json", {"criteria": {}})
    ran.write("unknown.json", {"criteria": {"no_such_metric": 1.0}})
    ran.write("other.json", eval_set(case("another")))
    ran.write("lonely.json", json.dumps(ran.summary()))
    written = len(ran.results())
    done = ran.agent_eval("grade", *arguments)
    assert (done.code, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(ran.results()) == written


def test_damaged_journal_is_told_with_its_line(ran: Project) -> None:
    (journal,) = (ran.root / RESULTS).glob("*/*.runs.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:2], b"{}\n", *lines[2:]]))
    done = ran.agent_eval("grade", "latest", "--config", "new.json")
    assert done.code == 2
    assert f"{journal.name}:3: not a run record" in done.stderr


def test_runs_of_a_killed_evaluation_are_graded_and_said_to_be_too_few(ran: Project) -> None:
    (journal,) = (ran.root / RESULTS).glob("*/*.runs.jsonl")
    journal.with_name(journal.name.replace(".runs.jsonl", ".json")).unlink()
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:4]))
    done = ran.agent_eval("grade", str(journal.relative_to(ran.root)), "--config", "config.json")
    assert done.code == 1, done.stderr
    found: dict[str, Any] = ran.summary()
    assert "broken off" in found["stopped"]
    assert sum(one["attempts"] for one in found["cases"]) == 4
    assert verdicts(ran) == {"same": "PASSED", "half": "NOT_EVALUATED", "crash": "FAILED"}
