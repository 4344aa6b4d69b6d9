"""Eval cases as tests: pytest as a real process, in a project that has no other tests than these."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import agent_eval.pytest_cases
from agent_eval.diagnose.rules import RULES
from tests.cli_support import RESPONSES, RESULTS, Project, case, eval_set

assert agent_eval.pytest_cases
assert RULES
"""Imported here, so that what a test run in this process forgets of its imports is nothing of ours."""

AGENT = """\
    from pathlib import Path


    async def root_agent(message, session):
        with Path("asked").open("a") as asked:
            asked.write(message.text + "\\n")
        if message.text == "crash":
            raise LookupError("no such order")
        return message.text
    """

GATES = """\
    def gate(metric, actual, expected, scenario):
        raise RuntimeError("quota exceeded")
    """


@dataclass
class Ran:
    """What became of the tests, from pytest's own report."""

    code: int
    text: str
    outcomes: dict[str, str]
    """By name: passed, failure, error or skipped."""
    properties: dict[str, dict[str, str]]


class Suite(Project):
    """A project whose tests are run in this process, or in one of their own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        super().__init__(pytester.path)
        self._pytester = pytester

    def pytest(self, *arguments: str, process: bool = False) -> Ran:
        report = self.root / "report.xml"
        report.unlink(missing_ok=True)
        run = self._pytester.runpytest_subprocess if process else self._pytester.runpytest_inprocess
        done = run(f"--junit-xml={report}", "-W", "error", *arguments)
        tests = list(ET.parse(report).iter("testcase")) if report.exists() else []
        return Ran(
            int(done.ret),
            f"{done.stdout}\n{done.stderr}",
            {test.get("name", ""): _outcome(test) for test in tests},
            {
                test.get("name", ""): {p.get("name", ""): p.get("value", "") for p in test.iter("property")}
                for test in tests
            },
        )


def _outcome(test: ET.Element) -> str:
    return next((e.tag for e in test if e.tag in ("failure", "error", "skipped")), "passed")


def asked(project: Project) -> list[str]:
    """What the agent was asked, in order."""
    file = project.root / "asked"
    return file.read_text().split() if file.exists() else []


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """An eval set with a case that passes, one that fails and one that crashes."""
    monkeypatch.setenv("COLUMNS", "120")
    project = Suite(pytester)
    project.agent(AGENT)
    project.write("pytest.ini", "[pytest]\nagent_eval_agent = bot\n")
    project.write("evals/eval_config.json", RESPONSES)
    cases = [case("good", "good"), case("wrong", "wrong", answer="right"), case("crashes", "crash")]
    project.write("evals/orders.evalset.json", eval_set(*cases))
    return project


def test_nothing_happens_unless_it_is_wanted(suite: Suite) -> None:
    suite.write(
        "test_own.py",
        "def test_own():\n    import sys\n    assert 'agent_eval.api' not in sys.modules\n"
        "    assert not [name for name in sys.modules if name.startswith('pydantic')]\n",
    )

    tests = suite.pytest(process=True)

    assert tests.outcomes == {"test_own": "passed"}, tests.text
    assert asked(suite) == []


@pytest.mark.parametrize("way", ["option", "ini"])
def test_a_case_is_a_test(suite: Suite, way: str) -> None:
    if way == "ini":
        suite.write("pytest.ini", "[pytest]\nagent_eval = true\nagent_eval_agent = bot\n")
    suite.write("evals/more.test.json", eval_set(case("other", "other"), eval_set_id="more"))
    suite.write("evals/data.json", {"not": "an eval set"})

    tests = suite.pytest(*(["--agent-eval"] if way == "option" else []))

    assert tests.outcomes == {"good": "passed", "wrong": "failure", "crashes": "failure", "other": "passed"}
    assert tests.code == 1
    assert sorted(asked(suite)) == ["crash", "good", "other", "wrong"]


def test_failures_are_told_with_their_causes_and_without_our_frames(suite: Suite) -> None:
    tests = suite.pytest("--agent-eval")

    assert "response_match_score  0.00 / 0.80" in tests.text
    assert "AE" in tests.text
    assert "the run crashed: LookupError: no such order" in tests.text
    assert "FAILED evals/orders.evalset.json::wrong - FAILED: response_match_score 0.00 / 0.80" in tests.text
    assert "FAILED evals/orders.evalset.json::crashes - FAILED: LookupError: no such order" in tests.text
    assert "pytest_cases.py" not in tests.text
    assert tests.properties["good"] == {"response_match_score": "1.0"}


SELECTIONS: dict[str, tuple[list[str], list[str]]] = {
    "-k": (["-k", "good"], ["good"]),
    "id": (["evals/orders.evalset.json::wrong"], ["wrong"]),
    "-x": (["-x"], ["good", "wrong"]),
    "deselect": (["--deselect", "evals/orders.evalset.json::crashes"], ["good", "wrong"]),
    "collect only": (["--collect-only"], []),
}


@pytest.mark.parametrize(("arguments", "wanted"), SELECTIONS.values(), ids=SELECTIONS.keys())
def test_only_what_pytest_selects_is_run(suite: Suite, arguments: list[str], wanted: list[str]) -> None:
    suite.pytest("--agent-eval", *arguments)
    assert asked(suite) == wanted


def test_last_failed(suite: Suite) -> None:
    suite.pytest("--agent-eval")
    (suite.root / "asked").unlink()

    suite.pytest("--agent-eval", "--lf")

    assert asked(suite) == ["wrong", "crash"]


def test_one_result_for_all_cases_that_were_run(suite: Suite) -> None:
    suite.pytest("--agent-eval", "-k", "good or wrong")

    assert len(suite.results()) == 1
    summary = suite.summary()
    assert [(one["eval_id"], one["verdict"]) for one in summary["cases"]] == [
        ("good", "PASSED"),
        ("wrong", "FAILED"),
    ]
    assert summary["totals"]["cases"] == 2
    assert [record.eval_id for record in suite.records()] == ["good", "wrong"]


@pytest.mark.slow
def test_workers_share_the_cases_and_leave_one_result(suite: Suite) -> None:
    cases = [case(f"case_{number}", f"text{number}") for number in range(8)]
    cases[3] = case("case_3", "text3", answer="something else")
    suite.write("evals/orders.evalset.json", eval_set(*cases))
    suite.write("evals/more.evalset.json", eval_set(case("other", "crash"), eval_set_id="more"))

    tests = suite.pytest("--agent-eval", "-n", "2", "--agent-eval-num-runs=2", process=True)

    passed = {f"case_{number}": "passed" for number in range(8)}
    assert tests.outcomes == passed | {"case_3": "failure", "other": "failure"}, tests.text
    assert len(asked(suite)) == 18
    assert tests.text.count("agent-eval result: .agent_eval") == 2
    results = [json.loads(path.read_bytes()) for path in suite.results()]
    orders, more = sorted(results, key=lambda result: result["eval_set"]["eval_set_id"])
    assert [one["eval_id"] for one in orders["cases"]] == [f"case_{number}" for number in range(8)]
    assert [(one["attempts"], one["passed"]) for one in orders["cases"]] == [
        (2, 0 if number == 3 else 2) for number in range(8)
    ]
    assert orders["cases"][3]["metrics"][0]["causes"]
    assert (orders["totals"]["cases"], orders["totals"]["failed"]) == (8, 1)
    assert more["totals"]["crashed_runs"] == 2
    assert len(list(suite.root.glob(f"{RESULTS}/*/*.runs.jsonl"))) == 2
    shown = suite.agent_eval("report", f"{RESULTS}/demo", "--print-detailed-results")
    assert shown.stdout.count("text0") >= 2, shown.stderr


@pytest.mark.slow
def test_a_worker_that_dies_takes_no_case_with_it_that_was_done(suite: Suite) -> None:
    suite.agent(
        """\
        import os

        def root_agent(message, session):
            if message.text == "die":
                os._exit(9)
            return message.text
        """
    )
    names = ["one", "two", "die", "three", "four"]
    suite.write("evals/orders.evalset.json", eval_set(*(case(name, name) for name in names)))

    tests = suite.pytest("--agent-eval", "-n", "1", "--max-worker-restart=2", process=True)

    assert "crashed while running 'evals/orders.evalset.json::die'" in tests.text
    assert [one["eval_id"] for one in suite.summary()["cases"]] == ["one", "two", "three", "four"]
    assert len(suite.results()) == 1


NOT_EVALUATED: dict[str, str] = {
    "alone": "",
    "expected to fail": "xfail",
    "expected to fail strictly": "xfail(strict=True)",
}


@pytest.mark.parametrize("mark", NOT_EVALUATED.values(), ids=NOT_EVALUATED.keys())
def test_what_could_not_be_evaluated_is_no_pass(suite: Suite, mark: str) -> None:
    suite.write("evals/gates.py", GATES)
    config: dict[str, Any] = {
        "criteria": {"gate": 0.5},
        "custom_metrics": {"gate": {"code_config": {"name": "gates.gate"}}},
    }
    suite.write("evals/eval_config.json", config)
    if mark:
        suite.write(
            "conftest.py",
            f"""\
            import pytest

            def pytest_collection_modifyitems(items):
                for item in items:
                    item.add_marker(pytest.mark.{mark})
            """,
        )

    tests = suite.pytest("--agent-eval", "-k", "good")

    assert tests.outcomes == {"good": "failure"}, tests.text
    assert tests.code == 1
    assert "quota exceeded" in tests.text


def test_a_case_may_be_expected_to_fail_or_skipped(suite: Suite) -> None:
    suite.write(
        "conftest.py",
        """\
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                mark = pytest.mark.skip if item.name == "crashes" else pytest.mark.xfail(strict=True)
                item.add_marker(mark)
        """,
    )

    tests = suite.pytest("--agent-eval")

    assert tests.outcomes == {"good": "failure", "wrong": "skipped", "crashes": "skipped"}
    assert asked(suite) == ["good", "wrong"]


PROBLEMS: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "a file that is no eval set": (
        {"evals/orders.evalset.json": {"eval_set_id": "x", "eval_case": []}},
        [],
        "eval_cases: required, but not there",
    ),
    "no such agent": ({}, ["--agent-eval-agent", "bott"], "there is no agent `bott`"),
    "no such metric": ({"evals/eval_config.json": {"criteria": {"match": 1}}}, [], "match"),
    "no such config": ({}, ["--agent-eval-config", "none.json"], "none.json: no such file"),
}


@pytest.mark.parametrize(("files", "arguments", "told"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_what_cannot_be_used_is_an_error_without_a_traceback(
    suite: Suite, files: dict[str, Any], arguments: list[str], told: str
) -> None:
    for name, content in files.items():
        suite.write(name, content)

    tests = suite.pytest("--agent-eval", *arguments)

    assert tests.code not in (0, 5)
    assert told in tests.text
    assert "Traceback" not in tests.text
    assert asked(suite) == []


def test_options_and_other_folders(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.root / "evals")

    tests = suite.pytest("--agent-eval", "--agent-eval-num-runs=3", "--agent-eval-output=kept", "-k", "good")

    assert tests.outcomes == {"good": "passed"}, tests.text
    assert tests.properties["good"]["runs"] == "3/3 passed"
    assert len(list((suite.root / "evals" / "kept").glob("demo/*.json"))) == 1


def test_tests_with_event_loops_of_their_own_are_not_disturbed(suite: Suite) -> None:
    suite.write(
        "test_own.py",
        """\
        import asyncio

        async def answer():
            return 42

        def test_before():
            assert asyncio.run(answer()) == 42

        def test_no_loop_is_left():
            import pytest
            with pytest.raises(RuntimeError):
                asyncio.get_running_loop()
        """,
    )

    tests = suite.pytest("--agent-eval", "evals", "test_own.py", "-k", "good or before or left")

    assert set(tests.outcomes.values()) == {"passed"}, tests.text


def test_all_cases_share_one_event_loop(suite: Suite) -> None:
    suite.agent(
        """\
        import asyncio
        from pathlib import Path

        async def root_agent(message, session):
            with Path("asked").open("a") as asked:
                asked.write(f"{id(asyncio.get_running_loop())}\\n")
            return message.text
        """
    )
    cases = [case(f"case_{number}", "good") for number in range(20)]
    suite.write("evals/orders.evalset.json", eval_set(*cases))

    tests = suite.pytest("--agent-eval")

    assert list(tests.outcomes.values()) == ["passed"] * 20, tests.text
    assert len(set(asked(suite))) == 1
    assert len(asked(suite)) == 20


def test_the_door_is_light(tmp_path: Path) -> None:
    code = (
        "import sys; import agent_eval.pytest_plugin; "
        "print(*(name for name in sys.modules if name.startswith(('agent_eval', 'pydantic', 'asyncio'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["agent_eval", "agent_eval.pytest_plugin"]
