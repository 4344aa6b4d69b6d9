"""`run --workers`: what kills a process costs one run, and everything else is as without."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from agent_eval.schema.result import RunRecord
from agent_eval.store.journal import SUFFIX
from tests.cli_support import RESPONSES, RESULTS, Outcome, Project, case, custom, eval_set

pytestmark = pytest.mark.slow

AGENT = """\
    import asyncio
    import ctypes
    import os
    import signal
    import sys
    import threading
    import time
    from pathlib import Path


    def deadly(text):
        if text == "segfault":
            ctypes.string_at(0)
        if text == "exit":
            os._exit(3)
        if text == "out of memory":
            os.kill(os.getpid(), signal.SIGKILL)
        if text == "endless loop":
            while True:
                pass
        if text == "once" and not Path("died").exists():
            Path("died").touch()
            os._exit(7)


    async def root_agent(message, session):
        text = message.text
        print("words of an agent")
        await asyncio.sleep(0.05)  # so that others are under way
        deadly(text)
        if text == "raises":
            raise LookupError("no such order")
        if text == "who":
            return str(os.getpid())
        return text
    """

DEADLY = ["segfault", "exit", "out of memory", "endless loop"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("workers"))
    project.agent(AGENT)
    project.write("eval_config.json", RESPONSES)
    texts = [*DEADLY, "raises", *(f"fine {number}" for number in range(8))]
    project.write("set.json", eval_set(*(case(text, text) for text in texts)))
    return project


@pytest.fixture(scope="module")
def evaluated(shop: Project) -> Outcome:
    options = ["--workers", "2", "--parallelism", "6", "--timeout", "2"]
    return shop.agent_eval("run", "bot", "set.json", "--quiet", *options)


@pytest.fixture(scope="module")
def records(shop: Project, evaluated: Outcome) -> dict[str, RunRecord]:
    return {record.eval_id: record for record in shop.records()}


CAUSES = {
    "segfault": ("WorkerDiedError", "the run's worker process was killed by SIGSEGV (Segmentation fault)"),
    "exit": ("WorkerDiedError", "the run ended its worker process with exit code 3"),
    "out of memory": (
        "WorkerDiedError",
        "the run's worker process was killed by SIGKILL (the system does that when memory runs out)",
    ),
    "endless loop": (
        "RunTimeoutError",
        "the run took longer than 2 s (--timeout) and blocked its worker, which was killed",
    ),
    "raises": ("LookupError", "no such order"),
}


@pytest.mark.parametrize(("eval_id", "cause"), CAUSES.items(), ids=CAUSES.keys())
def test_deadly_run_alone_is_crashed_and_says_by_what(
    records: dict[str, RunRecord], eval_id: str, cause: tuple[str, str]
) -> None:
    error = records[eval_id].error

    assert error is not None
    assert (error.type, error.message) == cause


def test_all_others_are_as_if_nothing_had_happened(evaluated: Outcome, records: dict[str, RunRecord]) -> None:
    assert len(records) == 13
    assert [name for name, record in records.items() if record.error] == sorted(CAUSES)
    assert evaluated.code == 1
    assert "Traceback" not in evaluated.stderr


def test_segfault_has_the_stack_that_it_happened_in(records: dict[str, RunRecord]) -> None:
    error = records["segfault"].error

    assert error is not None
    assert "in deadly" in (error.traceback or "")


def test_what_agents_print_stays_out_of_the_report(evaluated: Outcome) -> None:
    assert evaluated.stdout == "1 eval set, 13 cases: 8 passed, 5 failed, 0 not evaluated\n"
    assert "words of an agent" in evaluated.stderr


def test_several_processes_make_the_runs(shop: Project) -> None:
    shop.write("who.json", eval_set(*(case(f"who {number}", "who") for number in range(8))))

    shop.agent_eval("run", "bot", "who.json", "--workers", "2", "--parallelism", "2", "--output", "who")

    answers = {
        turn.final_response.text
        for one in shop.records("who")
        for turn in one.invocations
        if turn.final_response
    }
    assert len(answers) == 2
    assert str(os.getpid()) not in answers


def test_run_that_killed_its_worker_is_tried_again_if_crashed_ones_are(project: Project) -> None:
    project.agent(AGENT)
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("once", "once")))

    done = project.agent_eval("run", "bot", "set.json", "--workers", "1", "--retry_crashed", "1", "--quiet")

    assert done.code == 0
    (once,) = (record for record in project.records() if record.eval_id == "once")
    assert [attempt.error.message for attempt in once.failed_attempts] == [
        "the run ended its worker process with exit code 7"
    ]


def test_death_that_does_not_happen_again_is_told(project: Project) -> None:
    project.agent(AGENT)
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("once", "once"), case("fine")))

    done = project.agent_eval("run", "bot", "set.json", "--workers", "1", "--quiet")

    assert done.code == 0
    assert (
        "warning: one of several runs ended its worker process with exit code 7; made again alone, "
        "none of them did" in done.stderr
    )


def test_tool_that_never_returns_does_not_slow_the_runs_after_it(project: Project) -> None:
    project.agent(
        """\
        import os
        import threading


        def root_agent(message, session):  # in a thread that cannot be ended
            if message.text == "hang":
                threading.Event().wait()
            return str(os.getpid())
        """
    )
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("hang", "hang"), case("after", answer="1")))
    options = ["--workers", "1", "--parallelism", "1", "--timeout", "0.5", "--num_runs", "2"]

    project.agent_eval("run", "bot", "set.json", *options)

    hung = [record for record in project.records() if record.eval_id == "hang"]
    after = {
        answer.text
        for record in project.records()
        if not record.error and (answer := record.invocations[0].final_response)
    }
    assert [record.error and record.error.type for record in hung] == ["RunTimeoutError"] * 2
    assert len(after) == 2  # each from a worker that no thread was left in


def test_agent_that_no_worker_can_load_is_told_once(project: Project) -> None:
    project.agent(
        """\
        import multiprocessing

        if multiprocessing.parent_process() is not None:
            raise RuntimeError("not in here")


        def root_agent(message, session):
            return message.text
        """
    )
    project.write("set.json", eval_set(case("a")))

    done = project.agent_eval("run", "bot", "set.json", "--workers", "2")

    assert done.code == 2
    assert done.stderr.count("not in here") == 1


def test_worker_that_dies_while_it_loads_is_told(project: Project) -> None:
    project.agent(
        """\
        import multiprocessing
        import os

        if multiprocessing.parent_process() is not None:
            os._exit(9)


        def root_agent(message, session):
            return message.text
        """
    )
    project.write("set.json", eval_set(case("a")))

    done = project.agent_eval("run", "bot", "set.json", "--workers", "2")

    assert done.code == 2
    assert "a worker cannot start" in done.stderr
    assert "exit code 9" in done.stderr


def test_workers_end_with_the_evaluation_however_it_ends(project: Project) -> None:
    project.agent(
        """\
        import os
        from pathlib import Path


        async def root_agent(message, session):
            Path("started").write_text(str(os.getpid()))
            while True:
                pass
        """
    )
    project.write("set.json", eval_set(case("a")))
    with project.running("run", "bot", "set.json", "--workers", "1") as process:
        project.wait_for("started", process)
        worker = int((project.root / "started").read_text() or "0")
        process.send_signal(signal.SIGKILL)
        process.wait()
    for _ in range(500):
        if not Path(f"/proc/{worker}").exists() or is_dead(worker):
            return
        threading.Event().wait(0.02)
    pytest.fail(f"worker {worker} goes on")


def is_dead(pid: int) -> bool:
    """Whether a process has ended, though nobody has asked how."""
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


GATES = """\
    import os


    def own(metric, actual, expected, scenario):
        said = actual[0].final_response.parts[0].text
        return float(said == "fine" and os.getpid() != int(os.environ["PARENT"]))
"""


def test_metrics_of_ones_own_score_in_the_workers(project: Project) -> None:
    project.agent(AGENT)
    project.write("gates.py", GATES)
    project.write("set.json", eval_set(case("good", "fine"), case("wrong", "other")))
    project.write("eval_config.json", custom("own", response_match_score=0.8))

    done = project.agent_eval("run", "bot", "set.json", "--json", "--workers", "2", PARENT=str(os.getpid()))

    scores = {one["eval_id"]: [m["score"] for m in one["metrics"][:2]] for one in done.document["cases"]}
    assert scores == {"good": [1.0, 1.0], "wrong": [1.0, 0.0]}


MEASURED = """\
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""
"""Runs a command, and prints its exit code and the most memory that it or a child had, in MB."""


def test_memory_stays_flat_over_fifty_thousand_runs(project: Project) -> None:
    project.agent("async def root_agent(message, session):\n    return 'y' * 19_000\n")
    project.write("eval_config.json", {"criteria": {"tool_trajectory_avg_score": 1.0}})
    project.write("set.json", eval_set(*(case(f"case {number}") for number in range(500))))
    options = ["--num_runs", "100", "--workers", "2", "--parallelism", "16", "--quiet"]
    command = [sys.executable, "-c", MEASURED, *project.command("run", "bot", "set.json", *options)]

    with project.running(command=command) as process:
        stdout, _ = process.communicate()

    (journal,) = (project.root / RESULTS).glob(f"*/*{SUFFIX}")
    size = journal.stat().st_size
    with journal.open("rb") as lines:
        runs = sum(1 for _ in lines)
    journal.unlink()
    code, megabytes = map(int, stdout.splitlines()[-1].split())
    assert (code, runs) == (0, 50_000)
    assert size > runs * 19_000
    assert megabytes < 400
