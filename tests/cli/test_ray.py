"""Runs on a Ray cluster of two nodes: as on this machine, and nothing lost with a node, an actor, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli_support import RESPONSES, RESULTS, Project, case, custom, decided, eval_set

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("ray")]  # one cluster is enough

AGENT = """\
    import asyncio
    import os
    from pathlib import Path

    from .data import PLACE

    HOME = Path(PLACE)


    async def root_agent(message, session):
        word, _, rest = message.text.partition(" ")
        if word == "exit":
            os._exit(3)
        if word == "block":
            while True:
                pass
        if word == "variable":
            return os.environ.get(rest, "none")
        if word == "wait":
            (HOME / f"waiting-{rest}").touch()
            while not (HOME / "go").exists():
                await asyncio.sleep(0.05)
        if word == "chance" and session.random.random() < 0.5:
            return "nonsense"
        return message.text
    """


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray")
    from tests.ray_cluster import ray_cluster

    with ray_cluster() as nodes:
        yield nodes


@pytest.fixture
def here(project: Project) -> Project:
    project.agent(AGENT)
    project.write("bot/data.py", f"PLACE = {str(project.root)!r}\n")
    project.write("eval_config.json", RESPONSES)
    return project


def on(cluster: Any) -> tuple[str, ...]:
    return ("--executor", "ray", "--ray-address", cluster.address)


def logs() -> Iterator[str]:
    for file in Path("/tmp/ray/session_latest/logs").resolve().rglob("*"):
        if file.is_file():
            yield file.read_text(errors="replace")


def test_same_verdicts_as_on_this_machine_and_all_that_it_takes_travels(here: Project, cluster: Any) -> None:
    here.write("gates/__init__.py", "")
    here.write(
        "gates/shape.py",
        """\
        def short(eval_metric, actual_invocations, expected_invocations, conversation_scenario):
            from agent_eval import EvaluationResult, EvalStatus
            return EvaluationResult(overall_score=1.0, overall_eval_status=EvalStatus.PASSED)
        """,
    )
    here.write("eval_config.json", custom("short", module="gates.shape", response_match_score=0.8))
    cases = [case(f"c{number}", f"chance {number}") for number in range(4)]
    variables = [
        case("theirs", "variable OF_AGENT", answer="of agent"),
        case("ours", "variable OF_FILE", answer="s3cret of file"),
        case("shell", "variable OF_SHELL", answer="none"),
    ]
    here.write("bot/.env", "OF_AGENT='of agent'\n")
    here.write("variables", "OF_FILE='s3cret of file'\n")
    here.write("set.json", eval_set(*cases, *variables))
    arguments = ("run", "set.json", "--num-runs", "3", "--json", "--env-file", "variables")
    local = here.agent_eval(*arguments, "--agent", "bot", OF_SHELL="x")
    placed = ("--agent", str(here.root / "bot"))  # an absolute path is no obstacle
    remote = here.agent_eval(*arguments, *placed, *on(cluster), OF_SHELL="x")

    assert remote.code == 1, remote.stderr
    assert {case["eval_id"]: case["verdict"] for case in remote.document["cases"]}["ours"] == "PASSED"
    others = [[one for one in decided(out.document) if one["eval_id"] != "shell"] for out in (local, remote)]
    assert others[0] == others[1]
    assert remote.document["cases"][-1]["verdict"] == "PASSED", "only what files name travels"
    assert "Traceback" not in remote.stderr
    assert not any("s3cret" in text for text in logs())


def test_an_actor_that_dies_costs_the_run_that_did_it(here: Project, cluster: Any) -> None:
    cases = [*(case(f"c{number}", f"chance {number}") for number in range(6)), case("last", "exit now")]
    here.write("set.json", eval_set(*reversed(cases)))
    limits = ("--workers", "2", "--parallelism", "8", "--retry-crashed", "1")
    outcome = here.agent_eval("run", "bot", "set.json", *limits, "--json", *on(cluster))
    assert outcome.code == 1, outcome.stderr
    (dead,) = (run for one in outcome.document["cases"] for run in one["runs"] if run["status"] == "CRASHED")
    assert outcome.document["cases"][0]["eval_id"] == "last"
    assert dead["error"]["type"] == "WorkerDiedError"
    assert "the run ended its Ray actor" in dead["error"]["message"]
    assert "worker process has died" in dead["error"]["message"]
    assert dead["retries"] == 1
    assert len(here.records()) == 7


def test_an_actor_that_is_blocked_is_killed(here: Project, cluster: Any) -> None:
    here.write("set.json", eval_set(case("stuck", "block"), case("fine")))
    limits = ("--workers", "2", "--parallelism", "2", "--timeout", "1")
    outcome = here.agent_eval("run", "bot", "set.json", *limits, "--json", *on(cluster))
    stuck, fine = outcome.document["cases"]
    assert stuck["runs"][0]["error"]["type"] == "RunTimeoutError"
    assert "blocked its actor" in stuck["runs"][0]["error"]["message"]
    assert fine["verdict"] == "PASSED"


def waiting_for(project: Project, count: int, process: subprocess.Popen[str]) -> None:
    while len(list(project.root.glob("waiting-*"))) < count:
        assert process.poll() is None, process.communicate()
        threading.Event().wait(0.05)


def test_runs_of_a_lost_node_are_made_elsewhere(here: Project, cluster: Any) -> None:
    here.write("set.json", eval_set(*(case(f"c{number}", f"wait {number}") for number in range(8))))
    arguments = ("run", "bot", "set.json", "--workers", "4", "--parallelism", "8", "--json", *on(cluster))
    with here.running(*arguments) as process:
        waiting_for(here, 8, process)
        cluster.lose_node()
        (here.root / "go").touch()
        stdout, stderr = process.communicate(timeout=60)
    cluster.add_node()
    assert process.returncode == 0, stderr
    document = json.loads(stdout)
    assert [one["verdict"] for one in document["cases"]] == ["PASSED"] * 8
    assert len(here.records()) == 8


def test_ctrl_c_keeps_what_had_finished_and_leaves_no_actor_behind(here: Project, cluster: Any) -> None:
    here.write("set.json", eval_set(case("first"), case("second", "wait 2"), case("third")))
    arguments = ("run", "bot", "set.json", "--workers", "1", "--parallelism", "1", *on(cluster))
    with here.running(*arguments) as process:
        waiting_for(here, 1, process)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            threading.Event().wait(0.3)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert [record.eval_id for record in here.records()] == ["first"]
    (here.root / "go").touch()
    resumed = here.agent_eval("run", "--resume", "--workers", "4", "-q", *on(cluster))
    assert resumed.code == 0, resumed.stderr
    assert sorted(record.eval_id for record in here.records()) == ["first", "second", "third"]


def test_what_a_node_cannot_load_is_told(here: Project, cluster: Any) -> None:
    here.write("set.json", eval_set(case("one")))
    here.write(".gitignore", "data.py\n")
    outcome = here.agent_eval("run", "bot", "set.json", *on(cluster))
    assert outcome.code == 2
    assert "No module named 'bot.data'" in outcome.stderr
    assert here.results() == []


def test_a_cluster_that_is_not_there_is_told(here: Project) -> None:
    pytest.importorskip("ray")
    here.write("set.json", eval_set(case("one")))
    arguments = ("run", "bot", "set.json", "--executor", "ray", "--ray-address", "127.0.0.1:1")
    outcome = here.agent_eval(*arguments)
    assert outcome.code == 2
    assert "cannot use the Ray cluster at 127.0.0.1:1" in outcome.stderr
    assert outcome.stdout == ""
    assert not (here.root / RESULTS).exists()
