"""Scenarios through the command line: a real process, its user played by a model of this machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_eval.schema.result import RunStatus
from tests.cli_support import ECHO, Outcome, Project, case, eval_set
from tests.model_server import KEY, ModelServer, failing, said, slow
from tests.simulation.support import IMPATIENT, MODEL, SURE, scenario, talk

pytestmark = pytest.mark.slow

GATES = """\
from agent_eval import EvalStatus, EvaluationResult, PerInvocationResult


def goal(metric, actual, expected, scenario):
    passed = EvalStatus.PASSED
    rows = [PerInvocationResult(score=1.0, eval_status=passed) for _ in actual]
    return EvaluationResult(overall_score=1.0, overall_eval_status=passed, per_invocation_results=rows)
"""


def played_by(simulator: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """A config whose one metric passes, with this simulated user."""
    config: dict[str, Any] = {
        "criteria": {"goal": 0.5},
        "custom_metrics": {"goal": {"code_config": {"name": "gates.goal"}}},
        **keys,
    }
    return config | ({"user_simulator_config": simulator} if simulator is not None else {})


@pytest.fixture
def desk(project: Project) -> Project:
    """An agent that says `sure` to everything, and one scenario."""
    project.agent(SURE)
    project.write("gates.py", GATES)
    project.write("set.json", eval_set(scenario()))
    project.write("eval_config.json", played_by({"model": MODEL}))
    return project


def run(project: Project, *options: str) -> Outcome:
    return project.agent_eval("run", "bot", "set.json", *options)


# C12: the end of a conversation


def test_user_who_never_stops_is_stopped_by_the_limit(desk: Project, model_server: ModelServer) -> None:
    desk.write("eval_config.json", played_by({"model": MODEL, "max_allowed_invocations": 3}))
    model_server.always = "tell me more"

    done = run(desk)

    assert done.code == 0, done.stderr
    (record,) = desk.records()
    assert talk(record) == [("Book me a desk", "sure"), ("tell me more", "sure"), ("tell me more", "sure")]
    assert record.stopped_by == "turn_limit"
    assert "the turn limit" in done.stdout
    (summary,) = desk.case("desk")["runs"]
    assert summary["stopped_by"] == "turn_limit"


def test_limit_is_twenty_turns_where_none_is_given(desk: Project, model_server: ModelServer) -> None:
    model_server.always = "tell me more"

    assert run(desk).code == 0
    (record,) = desk.records()
    assert len(record.invocations) == 20
    assert record.stopped_by == "turn_limit"


def test_time_limit_ends_a_conversation_without_a_turn_limit(
    desk: Project, model_server: ModelServer
) -> None:
    desk.write("eval_config.json", played_by({"model": MODEL, "max_allowed_invocations": -1}))
    model_server.always = slow(0.01, "tell me more")

    done = run(desk, "--timeout", "6")

    assert done.code == 1
    (record,) = desk.records()
    assert record.status is RunStatus.CRASHED
    assert record.stopped_by == "time_limit"
    assert len(record.invocations) > 20
    assert "the run took longer than 6 s (--timeout)" in done.stdout


def test_stop_signal_ends_the_conversation_and_never_reaches_the_agent(
    desk: Project, model_server: ModelServer
) -> None:
    desk.agent(ECHO)
    model_server.answers("Thanks! </FINISHED>")

    done = run(desk)

    assert done.code == 0
    (record,) = desk.records()
    assert talk(record) == [("Book me a desk", "Book me a desk")]
    assert record.stopped_by == "stop_signal"
    assert "turn limit" not in done.stdout


# A user who fails


THOUGHTS = said("", thoughts="what would a user say?")


def test_user_who_only_thinks_crashes_the_run_with_the_reason(
    desk: Project, model_server: ModelServer
) -> None:
    model_server.always = THOUGHTS

    done = run(desk)

    assert done.code == 1
    (record,) = desk.records()
    assert record.status is RunStatus.CRASHED
    assert record.stopped_by == "error"
    assert record.error
    assert record.error.type == "SimulatedUserError"
    assert record.error.message.startswith("the simulated user gave no message: gemini-2.5-flash: ")
    assert record.error.traceback is None
    assert talk(record) == [("Book me a desk", "sure")]
    assert len(model_server.requests) == 3
    assert "the simulated user gave no message" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert record.simulator
    assert record.simulator.requests == 3
    assert record.simulator.output_tokens > 0


def test_quota_that_is_used_up_crashes_the_run_with_the_reason(
    desk: Project, model_server: ModelServer
) -> None:
    desk.write("eval_config.json", played_by({"model": MODEL, "model_configuration": IMPATIENT}))
    model_server.always = failing(429, "quota exceeded")

    done = run(desk)

    assert done.code == 1
    (record,) = desk.records()
    assert record.error
    assert record.error.message.startswith("the simulated user gave no message: ")
    assert "429" in record.error.message
    assert len(model_server.requests) == 2
    assert "quota exceeded" in done.stdout


# Many runs


def test_tokens_of_the_user_are_counted_apart(desk: Project, model_server: ModelServer) -> None:
    desk.write(
        "pyproject.toml",
        f'[tool.agent-eval.judge-prices]\n"{MODEL}" = {{input-price = 1.0, output-price = 2.0}}\n',
    )
    model_server.answers(*[said("more", input_tokens=100, output_tokens=10)] * 2)
    model_server.always = said("</finished>", input_tokens=100, output_tokens=10)

    done = run(desk, "--num_runs", "2", "--parallelism", "1")

    totals = desk.summary()["totals"]
    assert totals["tokens"]["total"] == 0
    used = {"model": MODEL, "requests": 4, "input_tokens": 400, "output_tokens": 40}
    assert totals["simulator"] == used | {"cost": pytest.approx(0.00048)}
    assert f"simulated user {MODEL}: 4 requests, 440 tokens" in done.stdout


def test_models_are_asked_before_anything_runs(desk: Project, model_server: ModelServer) -> None:
    model_server.models = ["gemini-3-pro"]

    done = run(desk)

    assert done.code == 2
    assert "there is no gemini-2.5-flash" in done.stderr
    assert model_server.requests == []
    assert not (desk.root / ".agent_eval").exists() or desk.results() == []


def test_key_of_the_user_is_in_no_record(desk: Project, model_server: ModelServer) -> None:
    model_server.always = failing(500, f"bad key {KEY}")
    desk.write("eval_config.json", played_by({"model": MODEL, "model_configuration": IMPATIENT}))

    done = run(desk)

    journal = next((desk.root / ".agent_eval").rglob("*.jsonl")).read_text()
    assert KEY not in journal + done.stdout + done.stderr


def test_record_of_a_replayed_conversation_says_nothing_of_users(project: Project) -> None:
    project.agent()
    project.write("set.json", eval_set(case("a")))
    project.write("eval_config.json", {"criteria": {"response_match_score": 1.0}})

    assert project.agent_eval("run", "bot", "set.json").code == 0
    journal = next((project.root / ".agent_eval").rglob("*.jsonl")).read_text()
    summary = project.results()[0].read_text()
    for word in ("stopped_by", "simulator", "context"):
        assert word not in journal + summary


# Users without a network


def test_script_plays_without_a_model(desk: Project) -> None:
    desk.agent(ECHO)
    turns = [{"when": "by the window", "say": "Thanks."}, "The one by the window."]
    desk.write("eval_config.json", played_by({"type": "scripted", "turns": turns}))

    done = run(desk, "--num_runs", "2")

    assert done.code == 0
    for record in desk.records():
        assert [said for said, _ in talk(record)] == ["Book me a desk", "The one by the window.", "Thanks."]
        assert record.stopped_by == "end_of_script"
        assert record.simulator is None
    assert "user played by a script" in done.stderr
    assert "simulator" not in desk.summary()["totals"]


def test_script_without_a_fitting_turn_is_warned_of(desk: Project) -> None:
    turns = [{"when": "which one", "say": "Any."}]
    desk.write("eval_config.json", played_by({"type": "scripted", "turns": turns}))

    done = run(desk)

    assert done.code == 0
    assert desk.records()[0].stopped_by == "no_turn_fits"
    told = " ".join(done.stdout.split())
    assert "1 of 1 conversations ended as no turn of the script fits the agent's last answer: desk" in told


def test_plan_of_a_run_says_who_plays_the_user(desk: Project) -> None:
    done = run(desk, "--dry_run", "--json")

    assert done.code == 0
    assert done.document["eval_sets"][0]["user_played_by"] == MODEL
    assert f"played by {MODEL}" in done.stderr


def test_details_show_the_conversation_and_its_end(desk: Project, model_server: ModelServer) -> None:
    model_server.answers("The one by the window.", "</finished>")
    given = {
        "app_name": "bot",
        "user_id": "u",
        "events": [{"author": "user", "content": {"parts": [{"text": "hello"}]}}],
    }
    desk.write("set.json", eval_set(scenario(session_input=given)))

    done = run(desk, "--print_detailed_results")

    assert "before user: hello" in done.stdout
    assert "2. user: The one by the window." in done.stdout
    assert "ended by: stop signal" in done.stdout


def test_result_is_reported_again_with_its_users(desk: Project, model_server: ModelServer) -> None:
    desk.write("eval_config.json", played_by({"model": MODEL, "max_allowed_invocations": 2}))
    model_server.always = "tell me more"
    run(desk)
    summary = desk.results()[0]
    summary.unlink()

    done = desk.agent_eval("report", str(summary.with_suffix("")) + ".runs.jsonl")

    assert done.code == 0, done.stderr
    assert f"simulated user {MODEL}: 1 request, 15 tokens" in done.stdout
    assert "the turn limit" in " ".join(done.stdout.split())


def test_adk_result_has_the_whole_session_and_rows_of_what_counts(
    desk: Project, model_server: ModelServer
) -> None:
    model_server.answers("The one by the window.", "</finished>")
    events = [{"author": "user", "content": {"parts": [{"text": "hello"}]}}]
    given = {"app_name": "bot", "user_id": "u", "events": events}
    desk.write("set.json", eval_set(scenario(session_input=given)))

    assert run(desk, "--adk_results").code == 0

    (file,) = (desk.root / "bot" / ".adk" / "eval_history").glob("*.json")
    (found,) = json.loads(file.read_text())["eval_case_results"]
    said_by_user = [
        event["content"]["parts"][0]["text"]
        for event in found["session_details"]["events"]
        if event["author"] == "user"
    ]
    assert said_by_user == ["hello", "Book me a desk", "The one by the window."]
    assert len(found["eval_metric_result_per_invocation"]) == 2
    assert desk.agent_eval("report", str(file)).code == 0
