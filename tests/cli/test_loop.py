"""The loop of a day: only some cases, those that failed, again what broke, and watching."""

from __future__ import annotations

import re
import signal
import subprocess
import textwrap
import threading
from collections.abc import Iterator

import pytest

from agent_eval import clock
from agent_eval.errors import InputError
from agent_eval.inputs.choice import Choice
from agent_eval.options import Options
from agent_eval.preparation import plan_evaluation
from tests.cli_support import RESPONSES, Project, case, custom, eval_set

pytestmark = pytest.mark.slow

AGENT = """\
    from pathlib import Path


    async def root_agent(message, session):
        with Path("asked").open("a") as asked:
            asked.write(f"{message.text}{session.run_index} ")
        if message.text == "crash" and not Path("repaired").exists():
            raise LookupError("no such order")
        if message.text == "wrong" and not Path("repaired").exists():
            return "nonsense"
        return message.text
    """


@pytest.fixture
def here(project: Project) -> Project:
    project.agent(AGENT)
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("good"), case("wrong", "wrong"), case("crash", "crash")))
    return project


def asked(project: Project) -> list[str]:
    """What the agent was asked since this was last asked, with the run's index."""
    file = project.root / "asked"
    texts = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return texts


def verdicts(project: Project) -> dict[str, str]:
    return {one["eval_id"]: one["verdict"] for one in project.summary()["cases"]}


CHOICES: dict[str, tuple[Choice, list[str]]] = {
    "a case": (Choice(("wrong",)), ["wrong"]),
    "cases in the order of the set": (Choice(("crash", "good")), ["good", "crash"]),
    "a word": (Choice(expression="oo"), ["good"]),
    "or, and, not": (Choice(expression="(GOOD or wrong) and not wro"), ["good"]),
    "the set's name": (Choice(expression="demo and not good"), ["wrong", "crash"]),
}


@pytest.mark.usefixtures("own_imports")
@pytest.mark.parametrize(("choice", "eval_ids"), CHOICES.values(), ids=CHOICES.keys())
def test_only_the_cases_that_are_chosen_run(
    here: Project, monkeypatch: pytest.MonkeyPatch, choice: Choice, eval_ids: list[str]
) -> None:
    monkeypatch.chdir(here.root)
    evaluation = plan_evaluation(Options(agent="bot", eval_sets=("set.json",), choice=choice))
    assert [one.case.eval_id for one in evaluation.sets[0].cases] == eval_ids


REFUSED: dict[str, tuple[Choice, str]] = {
    "no such case": (Choice(("god",)), "did you mean `good`?"),
    "nothing fits": (Choice(expression="refund"), "no case fits -k 'refund'"),
    "half an expression": (Choice(expression="good and"), "a word is missing"),
    "an open parenthesis": (Choice(expression="(good"), "a parenthesis is not closed"),
    "two words": (Choice(expression="good wrong"), "`wrong` is one too many"),
    "an empty expression": (Choice(expression=""), "a word is missing"),
}


@pytest.mark.parametrize(("choice", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_what_chooses_nothing_is_refused(
    here: Project, monkeypatch: pytest.MonkeyPatch, choice: Choice, told: str
) -> None:
    monkeypatch.chdir(here.root)
    with pytest.raises(InputError, match=re.escape(told)):
        plan_evaluation(Options(agent="bot", eval_sets=("set.json",), choice=choice))


def test_last_failed_and_failed_first(here: Project) -> None:
    one_by_one = ("run", "bot", "set.json", "--parallelism", "1")
    first = here.agent_eval(*one_by_one, "--lf")
    assert "no case is known to have failed, so all of them run" in first.stderr
    assert asked(here) == ["hi0", "wrong0", "crash0"]

    here.agent_eval(*one_by_one, "--last-failed", "-k", "wrong")
    assert asked(here) == ["wrong0"]

    here.agent_eval(*one_by_one, "--lf")  # the last result has not the case that crashed before it
    assert asked(here) == ["wrong0", "crash0"]

    here.agent_eval(*one_by_one, "--failed_first")
    assert asked(here) == ["wrong0", "crash0", "hi0"]


RERUNS: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "errors": (
        "errors",
        ["crash0", "crash1"],
        {"good": "PASSED", "wrong": "FAILED", "crash": "PASSED"},
    ),
    "failed": (
        "failed",
        ["crash0", "crash1", "wrong0", "wrong1"],
        {"good": "PASSED", "wrong": "PASSED", "crash": "PASSED"},
    ),
}


@pytest.mark.parametrize(("which", "texts", "expected"), RERUNS.values(), ids=RERUNS.keys())
def test_rerun_joins_new_runs_with_those_that_stand(
    here: Project, which: str, texts: list[str], expected: dict[str, str]
) -> None:
    here.agent_eval("run", "bot", "set.json", "--num_runs", "2")
    before = here.summary()["result_id"]
    asked(here)
    here.write("repaired", "")

    here.agent_eval("run", "--rerun", which, str(here.results()[-1]))

    assert sorted(asked(here)) == texts
    assert verdicts(here) == expected
    assert {one["attempts"] for one in here.summary()["cases"]} == {2}
    assert len(here.records()) == 6
    assert here.summary()["provenance"]["rerun_of"] == before


def test_rerun_of_what_could_not_be_evaluated_and_of_changed_cases(here: Project) -> None:
    here.write(
        "gates.py",
        """\
        from pathlib import Path

        from agent_eval import EvalStatus, EvaluationResult

        def gate(*_):
            if not Path("repaired").exists():
                raise RuntimeError("quota exceeded")
            return EvaluationResult(overall_score=1.0, overall_eval_status=EvalStatus.PASSED)
        """,
    )
    here.write("eval_config.json", custom("gate"))
    assert here.agent_eval("run", "bot", "set.json", "--case", "good").code == 3
    here.write("repaired", "")

    assert here.agent_eval("run", "--rerun", "errors", str(here.results()[-1])).code == 0
    asked(here)
    here.write("set.json", eval_set(case("good", "another"), case("wrong", "wrong"), case("crash", "crash")))
    assert here.agent_eval("run", "--rerun", "errors", str(here.results()[-1])).code == 0
    assert asked(here) == ["another0"]


RERUN_REFUSED: dict[str, tuple[list[str], str]] = {
    "neither errors nor failed": (["--rerun", "all", "R"], "--rerun takes errors or failed"),
    "no result": (["--rerun", "failed", "none.json"], "none.json: no such file"),
    "with an eval set": (["--rerun", "failed", "R", "bot", "set.json"], "name no eval set"),
    "with a case": (["--rerun", "failed", "R", "--case", "good"], "name no eval set and no case"),
    "another config": (["--rerun", "failed", "R", "--config", "other.json"], "another config"),
}


@pytest.mark.parametrize(("arguments", "told"), RERUN_REFUSED.values(), ids=RERUN_REFUSED.keys())
def test_what_cannot_be_joined_is_refused(here: Project, arguments: list[str], told: str) -> None:
    here.write("other.json", {"criteria": {"response_match_score": 0.1}})
    here.agent_eval("run", "bot", "set.json")
    asked(here)
    words = [str(here.results()[-1]) if word == "R" else word for word in arguments]

    outcome = here.agent_eval("run", *words)

    assert (outcome.code, asked(here)) == (2, [])
    assert told in outcome.stderr


@pytest.fixture
def watching(here: Project) -> Iterator[Project]:
    log = (here.root / "log").open("wb")
    process = subprocess.Popen(
        here.command("run", "bot", "set.json", "--watch", "-q"),
        cwd=here.root,
        env=here.environment(),
        stdout=log,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background has none
    )
    try:
        yield here
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(timeout=30)
        finally:
            process.kill()
            log.close()
    assert code == 130


def eventually(project: Project, results: int) -> list[str]:
    """What was asked once there are this many results, and the watcher waits again."""
    log = project.root / "log"
    deadline = clock.monotonic() + 40
    while log.read_text().count("watching;") < results or len(project.results()) < results:
        assert clock.monotonic() < deadline, log.read_text()
        threading.Event().wait(0.05)
    return sorted(asked(project))


def test_watch_runs_what_a_change_touches(watching: Project) -> None:
    assert eventually(watching, 1) == ["crash0", "hi0", "wrong0"]

    watching.write("set.json", eval_set(case("good", "new"), case("wrong", "wrong"), case("crash", "crash")))
    assert eventually(watching, 2) == ["new0"]

    watching.write("bot/agent.py", textwrap.dedent(AGENT) + "\n# changed\n")
    assert eventually(watching, 3) == ["crash0", "new0", "wrong0"]

    watching.write("eval_config.json", {"criteria": {"response_match_score": 0.5}})
    assert eventually(watching, 4) == ["crash0", "new0", "wrong0"]


def test_watch_outlives_a_broken_file(watching: Project) -> None:
    eventually(watching, 1)
    (watching.root / "set.json").write_text("{")
    deadline = clock.monotonic() + 30
    while "error: set.json" not in (watching.root / "log").read_text():
        assert clock.monotonic() < deadline
        threading.Event().wait(0.05)

    watching.write("set.json", eval_set(case("good", "mended")))
    assert eventually(watching, 2) == ["mended0"]
