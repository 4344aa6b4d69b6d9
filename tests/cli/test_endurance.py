"""Evaluations that are broken off: nothing that had finished is lost, and they go on."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_eval import clock
from agent_eval.store.journal import SUFFIX, read_journal
from agent_eval.store.unfinished import unfinished
from tests.cli_support import RESPONSES, RESULTS, Project, case, decided, eval_set

pytestmark = pytest.mark.slow

AGENT = """\
    import asyncio
    from pathlib import Path


    async def root_agent(message, session):
        if message.text.startswith("wait"):
            Path("waiting").touch()
            while not Path("go").exists():
                await asyncio.sleep(0.02)
        if message.text == "hang" and not Path("go").exists():
            Path("waiting").touch()
            while True:
                pass
        await asyncio.sleep(0.01)
        return message.text if session.random.random() < 0.7 else "nonsense"
    """


@pytest.fixture
def here(project: Project) -> Project:
    project.agent(AGENT)
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("first"), case("second", "wait"), case("third")))
    return project


def plans(project: Project) -> list[Path]:
    return unfinished(project.root / RESULTS)


def interrupted(project: Project, *options: str, times: int = 1) -> subprocess.CompletedProcess[str]:
    """An evaluation that got Ctrl-C while the second case was under way."""
    (project.root / "waiting").unlink(missing_ok=True)
    (project.root / "go").unlink(missing_ok=True)
    arguments = ["run", "bot", "set.json", "--parallelism", "1", *options]
    with project.running(*arguments) as process:
        project.wait_for("waiting", process)
        for _ in range(times):  # two at the same moment would be one
            process.send_signal(signal.SIGINT)
            threading.Event().wait(0.3)
        if times == 1:
            (project.root / "go").touch()
        stdout, stderr = process.communicate(timeout=30)
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def test_first_ctrl_c_lets_the_runs_under_way_finish_and_saves(here: Project) -> None:
    done = interrupted(here)

    assert done.returncode == 130
    assert [record.eval_id for record in here.records()] == ["first", "second"]
    assert here.summary()["stopped"].startswith("interrupted")
    assert here.case("third")["verdict"] == "NOT_EVALUATED"
    assert len(plans(here)) == 1
    assert "press Ctrl-C again to stop now" in done.stderr
    assert (
        done.stderr.splitlines()[-1] == "interrupted; `agent-eval run --resume` makes the runs that are left"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("waits", ["wait", "hang"], ids=["in a task", "with the event loop blocked"])
def test_second_ctrl_c_stops_at_once(here: Project, waits: str) -> None:
    here.write("set.json", eval_set(case("first"), case("second", waits), case("third")))

    done = interrupted(here, times=2)

    assert done.returncode == 130
    assert [record.eval_id for record in here.records()] == ["first"]
    assert here.results() == []
    assert len(plans(here)) == 1


def test_ctrl_c_with_workers_leaves_none_behind(here: Project) -> None:
    done = interrupted(here, "--workers", "2", times=2)

    assert done.returncode == 130
    (here.root / "go").touch()
    assert here.agent_eval("run", "--resume", "--workers", "2", "--quiet").code in (0, 1)
    assert sorted(record.eval_id for record in here.records()) == ["first", "second", "third"]


def test_evaluation_that_went_on_is_as_if_nothing_had_happened(here: Project) -> None:
    (here.root / "go").touch()
    here.agent_eval("run", "bot", "set.json", "--num_runs", "3", "--seed", "5", "--output", "undisturbed")
    interrupted(here, "--num_runs", "3", "--seed", "5")

    done = here.agent_eval("run", "--resume")

    assert "Traceback" not in done.stderr
    assert decided(here.summary()) == decided(here.summary("undisturbed"))
    assert here.summary()["provenance"]["seed"] == 5
    assert "stopped" not in here.summary() or here.summary()["stopped"] is None
    assert len(here.results()) == 1
    assert plans(here) == []
    assert here.agent_eval("run", "--resume").code == 2


def change_case(project: Project) -> None:
    project.write("set.json", eval_set(case("first"), case("second", "wait"), case("third", "changed")))


def change_config(project: Project) -> None:
    project.write("eval_config.json", {"criteria": {"response_match_score": 0.5}})


def change_agent(project: Project) -> None:
    project.agent(AGENT + "    # a comment\n")


CHANGES = {
    "case": (change_case, "case `third` of set.json"),
    "config": (change_config, "the config eval_config.json"),
    "agent": (change_agent, "the agent bot"),
}


@pytest.mark.parametrize(("change", "told"), CHANGES.values(), ids=CHANGES.keys())
def test_what_changed_since_is_named_and_has_to_be_accepted(here: Project, change: Any, told: str) -> None:
    interrupted(here)
    change(here)

    refused = here.agent_eval("run", "--resume")

    assert refused.code == 2
    assert f"this has changed since it began: {told}" in refused.stderr
    assert len(here.records()) == 2

    accepted = here.agent_eval("run", "--resume_anyway", "--quiet")

    assert f"2 runs were made before this changed: {told}" in accepted.stderr
    assert len(here.records()) == 3
    assert here.summary()["provenance"]["changed_midway"] == [told]


def test_what_does_not_change_the_result_may_change(here: Project) -> None:
    interrupted(here)
    change = eval_set(case("new"), case("first"), case("second", "wait"), case("third"))
    here.write("set.json", change)

    assert here.agent_eval("run", "--resume", "--parallelism", "2", "--quiet").code in (0, 1)
    assert [one["eval_id"] for one in here.summary()["cases"]] == ["first", "second", "third"]


WRONG = {
    "an option that decides": (["--resume", "--seed", "3"], "leave out --seed"),
    "a short one": (["--resume", "-k", "first"], "leave out --expression"),
    "one that never ends": (["--resume", "--watch"], "leave out --watch"),
    "two results": (["--resume", "one", "two"], "takes one result"),
    "no such result": (["--resume", "nothing.json"], "belongs to no unfinished evaluation"),
    "a damaged plan": (["--resume", "damaged.plan"], "is damaged"),
    "a plan of the future": (["--resume", "newer.plan"], "newer agent-eval"),
}


@pytest.mark.parametrize(("arguments", "told"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_go_on_is_told(here: Project, arguments: list[str], told: str) -> None:
    here.write("damaged.plan", {"version": 1})
    here.write("newer.plan", {"version": 2})

    done = here.agent_eval("run", *arguments)

    assert (done.code, "Traceback" in done.stderr) == (2, False)
    assert told in done.stderr


def test_evaluation_at_work_is_not_resumed_by_another(here: Project) -> None:
    with here.running("run", "bot", "set.json") as process:
        here.wait_for("waiting", process)
        done = here.agent_eval("run", "--resume")
        (here.root / "go").touch()
        process.communicate(timeout=30)

    assert done.code == 2
    assert "is being worked on by another process" in done.stderr
    assert len(here.records()) == 3


def test_result_named_by_its_file_goes_on(here: Project) -> None:
    interrupted(here)
    older = here.results()[0]
    interrupted(here)

    assert here.agent_eval("run", "--resume", str(older.relative_to(here.root)), "--quiet").code in (0, 1)
    assert len(list(read_journal(older.with_name(older.stem + SUFFIX)))) == 3
    assert len(plans(here)) == 1


def test_full_disk_loses_no_run_that_had_finished(here: Project) -> None:
    cases = [case(f"case {number}") for number in range(30)]
    here.write("set.json", eval_set(*cases))
    limit = 8_000
    done = subprocess.run(
        here.command("run", "bot", "set.json", "--quiet"),
        cwd=here.root,
        env=here.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )

    assert done.returncode == 3
    assert "results cannot be written" in done.stderr
    kept = here.records()
    assert 0 < len(kept) < 30
    (journal,) = (here.root / RESULTS).glob(f"*/*{SUFFIX}")
    assert journal.read_bytes().endswith(b"\n")
    assert here.agent_eval("run", "--resume", "--quiet").code in (0, 1)
    assert len(here.records()) == 30


LOGGED = """\
    import os
    from agent_eval.cli import app, progress

    told = progress.Lines.finished


    def finished(self, record):
        told(self, record)
        with open("kept", "a") as log:
            log.write(f"{record.eval_id}/{record.run_index}\\n")


    progress.Lines.finished = finished
    if __name__ == "__main__":
        app.main()
    """
"""`agent-eval`, which also notes each run that it says is finished."""

KILLS = 100
EVALUATIONS = 10


@pytest.mark.parametrize("seed", range(EVALUATIONS))
def test_evaluation_killed_at_random_moments_loses_nothing(project: Project, seed: int) -> None:
    project.agent(AGENT)
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(*(case(f"case {number}") for number in range(30))))
    script = project.write("logged.py", textwrap.dedent(LOGGED))
    begun = ["run", "bot", "set.json", "--num_runs", "4", "--parallelism", "2"]
    workers = ["--workers", "2"] if seed == 0 else []
    began = clock.monotonic()
    project.agent_eval(*begun, *workers, "--output", "undisturbed")
    whole = clock.monotonic() - began
    log = project.root / "kept"
    moments = random.Random(seed)
    kills = 0
    while kills < KILLS // EVALUATIONS:
        left = bool(plans(project))
        arguments = ["run", "--resume", *workers] if left else [*begun, *workers]
        with project.running(command=[sys.executable, str(script), *arguments]) as process:
            try:
                process.wait(moments.uniform(0.3, 0.9) * whole)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
        assert process.returncode in (-signal.SIGKILL, 0, 1)
        told = log.read_text().split("\n")[:-1] if log.exists() else []
        if journals := sorted((project.root / RESULTS).glob(f"*/*{SUFFIX}")):
            kept = [f"{one.eval_id}/{one.run_index}" for one in read_journal(journals[-1])]
            assert len(kept) == len(set(kept))
            assert set(told) <= set(kept)
        if not plans(project):
            if project.results():
                assert decided(project.summary()) == decided(project.summary("undisturbed"))
            log.unlink(missing_ok=True)
    last = ["run", "--resume"] if plans(project) else begun
    assert project.agent_eval(*last, "--quiet").code == 1
    assert decided(project.summary()) == decided(project.summary("undisturbed"))


def test_evaluations_at_the_same_time_share_no_file(here: Project) -> None:
    with here.running("run", "bot", "set.json") as one, here.running("run", "bot", "set.json") as other:
        while len(list((here.root / RESULTS).glob(f"*/*{SUFFIX}"))) < 2:
            assert one.poll() is None
            assert other.poll() is None
            threading.Event().wait(0.02)
        (here.root / "go").touch()
        one.communicate(timeout=30)
        other.communicate(timeout=30)

    journals = list((here.root / RESULTS).glob(f"*/*{SUFFIX}"))
    assert [len(list(read_journal(path))) for path in journals] == [3, 3]
    assert len(here.results()) == 2
    assert plans(here) == []
