"""Repeated runs, as the real process makes and tells them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agent_eval.schema.result import RunStatus
from agent_eval.schema.trace import Invocation
from tests.cli_support import RESPONSES, Outcome, Project, case, eval_set

ROOT = Path(__file__).parents[2]
GREET = eval_set(case("greet", "hi", answer="ok"))


def multi_run(**keys: Any) -> dict[str, Any]:
    """A config that looks at answers only, with a `multi_run_config`."""
    return {**RESPONSES, "multi_run_config": keys}


def answers_rated(share: float, **keys: Any) -> dict[str, Any]:
    rule = {"method": "pass_rate", "threshold": share}
    return multi_run(cross_run_scoring_by_metric={"response_match_score": rule}, **keys)


def said(invocation: Invocation) -> str:
    """The agent's answer of a turn."""
    assert invocation.final_response
    assert invocation.final_response.parts
    return invocation.final_response.parts[0].text or ""


CRASHING = """\
    def root_agent(message, session):
        if session.run_index in {runs}:
            raise RuntimeError("socket reset")
        return "ok"
    """


@pytest.mark.parametrize(
    ("crashing", "allowed", "code", "verdict", "counts"),
    [
        pytest.param([1], 0, 1, "FAILED", [4, 3, 3, 1], id="one crash where none may"),
        pytest.param([1], 1, 0, "PASSED", [4, 3, 3, 1], id="one crash where one may"),
        pytest.param([0, 1, 2, 3], 0, 1, "FAILED", [4, 0, 0, 4], id="all crash where none may"),
        pytest.param([0, 1, 2, 3], 4, 3, "NOT_EVALUATED", [4, 0, 0, 4], id="all crash where all may"),
    ],
)
def test_c02_crashed_runs_are_counted_apart(
    project: Project, crashing: list[int], allowed: int, code: int, verdict: str, counts: list[int]
) -> None:
    project.agent(CRASHING.format(runs=crashing))
    project.write("set.json", GREET)
    project.write("config.json", answers_rated(1.0, num_runs=4, max_crashed_runs=allowed))

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json")

    assert done.code == code
    greet = project.case("greet")
    assert greet["verdict"] == verdict
    assert [greet[key] for key in ("attempts", "scored", "passed", "crashed")] == counts
    assert greet["flaky"] == (crashing == [1])
    assert greet["pass_rate"] == greet["metrics"]["response_match_score"]["pass_rate"]
    assert greet["pass_rate"] == (1.0 if crashing == [1] else None)
    errors = [run["error"] for run in greet["runs"]]
    assert [error and error["message"] for error in errors] == [
        "socket reset" if index in crashing else None for index in range(4)
    ]
    _, scored, passed, crashed = counts
    flaky = " FLAKY" if greet["flaky"] else ""
    assert re.search(
        rf"^greet +{verdict} +{passed}/{scored}{flaky} .*\n +\+{crashed} crashed", done.stdout, re.M
    )
    if verdict != "PASSED":
        runs = "run 2" if crashing == [1] else "runs 1-4"
        assert f"{runs} crashed: RuntimeError: socket reset" in done.stdout


METRIC = "response_match_score"
BY_METRIC = "cross_run_scoring_by_metric"
OF_METRIC = f"{BY_METRIC}.{METRIC}"
JOINT = "cross_run_criteria"


def rule(method: str, **keys: Any) -> dict[str, Any]:
    return {BY_METRIC: {METRIC: {"method": method, **keys}}}


BAD = {
    "num_runs zero": ({"num_runs": 0}, "num_runs", "0"),
    "num_runs negative": ({"num_runs": -3}, "num_runs", "-3"),
    "num_runs text": ({"num_runs": "5"}, "num_runs", '"5"'),
    "num_runs true": ({"num_runs": True}, "num_runs", "true"),
    "num_runs fraction": ({"num_runs": 2.5}, "num_runs", "2.5"),
    "num_runs null": ({"num_runs": None}, "num_runs", "null"),
    "max_crashed_runs negative": ({"max_crashed_runs": -1}, "max_crashed_runs", "-1"),
    "max_crashed_runs text": ({"max_crashed_runs": "1"}, "max_crashed_runs", '"1"'),
    "max_crashed_runs true": ({"max_crashed_runs": True}, "max_crashed_runs", "true"),
    "method unknown": ({BY_METRIC: {METRIC: "median"}}, OF_METRIC, "median"),
    "method of an object unknown": (rule("median"), f"{OF_METRIC}.method", "median"),
    "share above one": (rule("pass_rate", threshold=1.5), f"{OF_METRIC}.threshold", "1.5"),
    "share below zero": (rule("pass_rate", threshold=-0.1), f"{OF_METRIC}.threshold", "-0.1"),
    "share text": (rule("pass_rate", threshold="0.5"), f"{OF_METRIC}.threshold", '"0.5"'),
    "share true": (rule("pass_rate", threshold=True), f"{OF_METRIC}.threshold", "true"),
    "share of another method": (rule("min_over_runs", threshold=0.5), OF_METRIC, "min_over_runs"),
    "rule for no criterion": ({BY_METRIC: {"safety_v1": "pass_rate"}}, f"{BY_METRIC}.safety_v1", "safety_v1"),
    "joint share above one": ({JOINT: {"pass_rate": 1.5}}, JOINT, "1.5"),
    "joint share as a number": ({JOINT: 1.5}, JOINT, "1.5"),
    "joint share text": ({JOINT: "all"}, JOINT, '"all"'),
    "joint share true": ({JOINT: True}, JOINT, "true"),
    "joint method unknown": ({JOINT: {"min_over_runs": 0.5}}, JOINT, "min_over_runs"),
}
"""The `multi_run_config`, the key that is wrong in it, and what the error repeats of it."""
MISSPELLED = {
    "num_run": ({"num_run": 5}, "num_run", "num_runs"),
    "max_crashed_run": ({"max_crashed_run": 5}, "max_crashed_run", "max_crashed_runs"),
    "cross_run_scoring": ({"cross_run_scoring": {}}, "cross_run_scoring", BY_METRIC),
    "cross_run_criterion": ({"cross_run_criterion": 1.0}, "cross_run_criterion", JOINT),
    "treshold": (rule("pass_rate", treshold=1.0), f"{OF_METRIC}.treshold", "threshold"),
    "metric": ({BY_METRIC: {"response_match": "pass_rate"}}, f"{BY_METRIC}.response_match", METRIC),
}
"""The `multi_run_config`, the key that is no key, and the one that was meant."""


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One process that is given all bad configs at once, each beside an eval set of its own."""
    project = Project(tmp_path_factory.mktemp("refused"))
    project.agent()
    for name, (bad, *_) in {**BAD, **MISSPELLED}.items():
        project.write(f"{name}.evalset.json", GREET)
        project.write(f"{name}.eval_config.json", {**RESPONSES, "multi_run_config": bad})
    sets = [f"{name}.evalset.json" for name in (*BAD, *MISSPELLED)]
    done = project.agent_eval("run", "bot", *sets, "--json")
    assert project.results() == []
    return done


def problem(refused: Outcome, name: str) -> dict[str, Any]:
    (found,) = (one for one in refused.document["errors"] if one["file"] == f"{name}.eval_config.json")
    return found


def test_bad_multi_run_configs_are_errors_before_anything_runs(refused: Outcome) -> None:
    assert (refused.code, refused.document["exit_code"]) == (2, 2)
    assert len(refused.document["errors"]) == len(BAD) + len(MISSPELLED)
    assert "error: num_runs zero.eval_config.json:1: multi_run_config.num_runs: " in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("name", BAD)
def test_bad_value_is_told_with_its_key(refused: Outcome, name: str) -> None:
    _, key, value = BAD[name]
    found = problem(refused, name)
    assert found["path"] == f"multi_run_config.{key}"
    assert value in found["message"]


@pytest.mark.parametrize("name", MISSPELLED)
def test_misspelled_key_is_told_with_the_one_that_was_meant(refused: Outcome, name: str) -> None:
    _, key, meant = MISSPELLED[name]
    found = problem(refused, name)
    assert found["path"] == f"multi_run_config.{key}"
    assert found["hint"] == f"did you mean `{meant}`?"


@pytest.mark.parametrize("number", ["0", "many"])
def test_bad_number_of_runs_on_the_command_line_names_the_option(project: Project, number: str) -> None:
    project.agent()
    project.write("set.json", GREET)
    done = project.agent_eval("run", "bot", "set.json", "--num-runs", number)
    assert done.code == 2
    assert "'--num_runs'" in done.stderr
    assert project.results() == []


def test_number_of_runs_on_the_command_line_overrides_the_config(project: Project) -> None:
    project.agent()
    project.write("set.json", eval_set(case("one", "hi"), case("two", "ho")))
    project.write("config.json", multi_run(num_runs=3, cross_run_criteria={"pass_rate": 1.0}))

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json", "--num-runs", "2")

    assert done.code == 0
    runs = [(record.eval_id, record.run_index) for record in project.records()]
    assert runs == [("one", 0), ("one", 1), ("two", 0), ("two", 1)]
    assert len({record.session.session_id for record in project.records() if record.session}) == 4
    multi = project.summary()["config"]["multi_run_config"]
    assert (multi["num_runs"], multi["cross_run_criteria"]) == (2, 1.0)


COUNTED = """\
    from pathlib import Path


    def root_agent(message, session):
        with Path("calls").open("a") as file:
            print(message.text, session.run_index, file=file)
        if message.text == "wrong" and session.run_index == 1:
            return "something else"
        if message.text == "crash" and session.run_index in (0, 2):
            raise RuntimeError("socket reset")
        return message.text
    """


@pytest.mark.parametrize("stop", [True, False])
def test_runs_of_a_decided_case_are_saved_on_request(project: Project, stop: bool) -> None:
    project.agent(COUNTED)
    project.write("set.json", eval_set(case("steady"), case("wrong", "wrong"), case("crash", "crash")))
    project.write("config.json", answers_rated(1.0, num_runs=6, max_crashed_runs=1))

    arguments = ["--parallelism", "1", *(["--stop-when-decided"] if stop else [])]
    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json", *arguments)

    assert done.code == 1
    calls = (project.root / "calls").read_text().split("\n")
    made = {word: sum(call.startswith(word) for call in calls) for word in ("hi", "wrong", "crash")}
    assert made == ({"hi": 6, "wrong": 2, "crash": 3} if stop else dict.fromkeys(made, 6))
    cases = {eval_id: project.case(eval_id) for eval_id in ("steady", "wrong", "crash")}
    assert [one["verdict"] for one in cases.values()] == ["PASSED", "FAILED", "FAILED"]
    assert [one["attempts"] for one in cases.values()] == list(made.values())
    assert [one.get("saved", 0) for one in cases.values()] == ([0, 4, 3] if stop else [0, 0, 0])
    assert project.summary()["totals"]["saved_runs"] == (7 if stop else 0)
    assert ("4 saved" in done.stdout, "3 saved" in done.stdout) == (stop, stop)
    assert ("7 saved runs" in " ".join(done.stdout.split())) == stop


RECOVERING = """\
    from collections import Counter

    tries = Counter()


    def root_agent(message, session):
        session.state["turns"] = session.state.get("turns", 0) + 1
        run = (message.text, session.run_index)
        tries[run] += 1
        if message.text == "dead" or (run == ("hi", 1) and tries[run] == 1):
            raise ConnectionError(f"attempt {tries[run]}")
        return message.text
    """


def test_crashed_run_is_tried_again_and_each_attempt_is_kept(project: Project) -> None:
    project.agent(RECOVERING)
    project.write("set.json", eval_set(case("recovers", "hi"), case("stays_dead", "dead")))

    done = project.agent_eval("run", "bot", "set.json", "--num-runs", "2", "--retry-crashed", "1")

    assert done.code == 1
    recovers, dead = project.case("recovers"), project.case("stays_dead")
    assert (recovers["crashed"], recovers["retries"], recovers["flaky"]) == (0, 1, False)
    assert (dead["verdict"], dead["crashed"], dead["retries"]) == ("FAILED", 2, 2)
    assert [run.get("retries", 0) for run in recovers["runs"]] == [0, 1]
    assert project.summary()["totals"]["retries"] == 3
    first, second, *of_dead = project.records()
    assert first.failed_attempts == []
    (attempt,) = second.failed_attempts
    assert (attempt.error.type, attempt.error.message) == ("ConnectionError", "attempt 1")
    assert attempt.started < second.started
    assert second.session
    assert second.session.state == {"turns": 1}
    assert [record.status for record in of_dead] == [RunStatus.CRASHED] * 2
    for record in of_dead:
        assert record.error
        messages = [*(one.error.message for one in record.failed_attempts), record.error.message]
        assert messages == ["attempt 1", "attempt 2"]
    assert re.search(r"^recovers .* 2/2 .*\n +1 retry", done.stdout, re.M)
    assert "3 retries" in done.stdout


def test_fail_fast_makes_no_run_after_the_first_failed_case(project: Project) -> None:
    project.agent()
    cases = [case("good"), case("bad", "hi", answer="bye"), case("never_run"), case("never_run_either")]
    project.write("set.json", eval_set(*cases))
    project.write("config.json", RESPONSES)

    arguments = ("--config", "config.json", "--fail-fast", "--parallelism", "1")
    done = project.agent_eval("run", "bot", "set.json", *arguments)

    assert done.code == 1
    assert [record.eval_id for record in project.records()] == ["bad", "good"]
    summary = project.summary()
    verdicts = [one["verdict"] for one in summary["cases"]]
    assert verdicts == ["PASSED", "FAILED", "NOT_EVALUATED", "NOT_EVALUATED"]
    assert summary["stopped"] == "stopped by --fail_fast, as `bad` failed"
    assert summary["stopped"] in done.stdout
    assert summary["cases"][2]["reasons"] == [f"0 of 1 runs were made: {summary['stopped']}"]


DEAD = """\
    import itertools

    port = itertools.count(40001)


    def root_agent(message, session):
        raise ConnectionError(f"no route to port {next(port)}")
    """
DEAD_IN_MANY_WAYS = """\
    import itertools

    way = itertools.cycle(["no route", "time-out", "reset by peer"])


    def root_agent(message, session):
        raise ConnectionError(next(way))
    """


@pytest.mark.parametrize(
    ("agent", "arguments", "code", "runs"),
    [
        pytest.param(DEAD, [], 3, 5, id="the same error"),
        pytest.param(DEAD, ["--circuit-breaker", "2"], 3, 2, id="the same error, fewer runs asked for"),
        pytest.param(DEAD, ["--no-circuit-breaker"], 1, 8, id="switched off"),
        pytest.param(DEAD_IN_MANY_WAYS, [], 1, 8, id="different errors"),
    ],
)
def test_dead_endpoint_ends_the_evaluation(
    project: Project, agent: str, arguments: list[str], code: int, runs: int
) -> None:
    project.agent(agent)
    project.write("set.json", eval_set(*(case(f"case_{number}") for number in range(8))))

    done = project.agent_eval("run", "bot", "set.json", "--parallelism", "1", *arguments, COLUMNS="120")

    assert done.code == code
    assert len(project.records()) == runs
    summary = project.summary()
    assert summary["totals"]["not_evaluated" if code == 3 else "failed"] == 8
    totals = re.search(r"^8 cases: .*?(?=\n\n|\nResult)", done.stdout, re.M | re.S)
    assert totals
    assert f"{runs} crashed runs" in totals[0]
    assert totals[0].count("no route") == (1 if code == 3 else 0)
    assert (summary["stopped"] is not None) == (code == 3)
    told = re.findall(r"^\S (case_\d)  \w+", done.stdout, re.M)  # one tells why, where all were stopped
    assert told == [f"case_{number}" for number in range(1 if code == 3 else 8)]
    assert "why     AE41" in done.stdout


DRAWING = """\
    def root_agent(message, session):
        return f"{message.text} {session.run_index} {session.random.random()}"
    """


def test_same_seed_gives_the_same_runs(project: Project) -> None:
    project.agent(DRAWING)
    project.write("set.json", eval_set(case("one"), case("two")))
    draws = []
    for seed in ("7", "7", "8"):
        project.agent_eval("run", "bot", "set.json", "--num-runs", "3", "--seed", seed)
        draws.append([said(record.invocations[0]) for record in project.records()])

    first, again, other = draws
    assert [draw.split()[1] for draw in first] == ["0", "1", "2", "0", "1", "2"]
    assert first == again
    assert len({draw.split()[2] for draw in (*first, *other)}) == 12


REMEMBERING = """\
    import asyncio


    async def root_agent(message, session):
        session.state["seen"].append(message.text)
        seen = len(session.state["seen"])
        await asyncio.sleep(0.05)
        return f"turn {len(session.history)}, seen {seen}"
    """


def test_pinned_session_starts_every_run_from_an_empty_conversation(project: Project) -> None:
    project.agent(REMEMBERING)
    pinned = {"app_name": "bot", "user_id": "ada", "session_id": "fixed", "state": {"seen": []}}
    project.write("set.json", eval_set(case("pinned", "hi", "ho", session_input=pinned)))

    project.agent_eval("run", "bot", "set.json", "--num-runs", "8", "--parallelism", "4")

    records = project.records()
    assert len(records) == 8
    for record in records:
        assert [said(turn) for turn in record.invocations] == ["turn 0, seen 1", "turn 1, seen 2"]
        assert record.session
        assert (record.session.session_id, record.session.state) == ("fixed", {"seen": ["hi", "ho"]})


def test_forgetful_sample_is_caught_within_80_columns(tmp_path: Path) -> None:
    orders = "sample_agents/forgetful_order_desk/orders.evalset.json"
    done = Project(ROOT).agent_eval("run", "--evalset", orders, "--output", str(tmp_path))

    assert done.code == 1
    assert re.search(r"^where_is_a1 +FAILED +4/5 FLAKY +✗ 0\.80 / 1\.00 +✓ 1\.00 / 0\.80 ", done.stdout, re.M)
    assert re.search(r"^order_b2 +PASSED +5/5 +✓ 1\.00 / 1\.00 +✓ 1\.00 / 0\.80 ", done.stdout, re.M)
    told = " ".join(done.stdout.split())
    assert "where_is_a1: 4 of 5 runs passed, 95 % between 0.38 and 0.96; pass^5 0.00, pass@5 1.00;" in told
    assert "weak, 60 runs would narrow it to ±0.10" in told
    assert "1 flaky" in told
    report = [line for line in done.stdout.splitlines() if not line.startswith("Result: ")]
    assert max(map(len, report)) <= 80
    forgetful = Project(tmp_path).summary(".")["cases"][0]
    assert [run["metrics"]["tool_trajectory_avg_score"]["score"] for run in forgetful["runs"]].count(0.0) == 1


def test_forgetful_sample_is_not_among_all_eval_sets() -> None:
    done = Project(ROOT).agent_eval("run", "--all", "--dry-run", "--json")
    paths = [one["path"] for one in done.document["eval_sets"]]
    assert paths
    assert [path for path in paths if "forgetful" in path or "orders" in Path(path).name] == []
