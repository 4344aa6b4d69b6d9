"""Evaluations from code: sync, in an event loop, with names and with objects."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agent_eval
from agent_eval import EvalConfig, EvalResult, EvalSet
from agent_eval.errors import AgentError, InputError
from tests.cli_support import RESPONSES, Project, case, eval_set

pytestmark = pytest.mark.usefixtures("own_imports")


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.root)
    project.agent()
    project.write("eval_config.json", RESPONSES)
    project.write("set.json", eval_set(case("good"), case("bad", answer="something else")))
    return project


def verdicts(result: EvalResult) -> dict[str, str]:
    return {one.eval_id: one.verdict.value for one in result.cases}


def echo(message: agent_eval.Content, session: agent_eval.Session) -> str:
    return message.text or ""


class Shouting:
    name = "loud"

    async def __call__(self, message: agent_eval.Content, session: agent_eval.Session) -> str:
        return (message.text or "").upper()


SET = EvalSet.model_validate(eval_set(case("good"), case("bad", answer="something else")))

WAYS: dict[str, tuple[Any, Any, Any]] = {
    "names": ("bot", "set.json", None),
    "paths": (Path("bot"), Path("set.json"), Path("eval_config.json")),
    "objects": (echo, SET, EvalConfig.model_validate(RESPONSES)),
    "a dict as config": (Shouting(), SET, RESPONSES),
}


@pytest.mark.parametrize(("agent", "cases", "config"), WAYS.values(), ids=WAYS.keys())
def test_evaluate_gives_the_result_that_it_wrote(here: Project, agent: Any, cases: Any, config: Any) -> None:
    result = agent_eval.evaluate(agent, cases, config=config)

    assert verdicts(result) == {"good": "PASSED", "bad": "FAILED"}
    assert not result.is_passed
    assert result.case("good").verdict is agent_eval.EvalStatus.PASSED
    written = here.summary()
    assert written["result_id"] == result.result_id
    assert written["agent"]["name"] in ("bot", "echo", "loud")


def test_settings_and_cases(here: Project) -> None:
    result = agent_eval.evaluate("bot", "set.json", cases=["good"], num_runs=3, output="kept")

    assert result.is_passed
    assert [one.attempts for one in result.cases] == [3]
    assert len(here.results("kept")) == 1


class Told:
    def __init__(self) -> None:
        self.started_runs: list[str] = []
        self.verdicts: list[str] = []

    def started(self, spec: Any) -> None:
        self.started_runs.append(spec.case.eval_id)

    def finished(self, record: Any) -> None:
        self.verdicts.append(f"{record.eval_id} {record.metrics[0].score:g}")


def test_progress_is_told_of_each_run(here: Project) -> None:
    told = Told()

    agent_eval.evaluate("bot", "set.json", progress=told)

    assert sorted(told.started_runs) == ["bad", "good"]
    assert sorted(told.verdicts) == ["bad 0", "good 1"]


def test_evaluate_in_an_event_loop(here: Project) -> None:
    async def main() -> EvalResult:
        with pytest.raises(RuntimeError, match="evaluate_async"):
            agent_eval.evaluate("bot", "set.json")
        return await agent_eval.evaluate_async("bot", "set.json")

    assert verdicts(asyncio.run(main())) == {"good": "PASSED", "bad": "FAILED"}


PROBLEMS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such file": ({"eval_set": "sets.json"}, InputError, "did you mean `set.json`"),
    "no such case": ({"cases": ["god"]}, InputError, "did you mean `good`"),
    "no such metric": ({"config": {"criteria": {"match": 1}}}, InputError, "match"),
    "no config": ({"config": {"criteria": 3}}, InputError, "criteria"),
    "no agent": ({"agent": 3}, AgentError, "cannot be called"),
    "no such setting": ({"num_run": 3}, TypeError, "did you mean `num_runs`"),
    "no eval set": ({"eval_set": EvalConfig()}, InputError, "eval_set_id"),
}


@pytest.mark.parametrize(("arguments", "kind", "told"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_what_cannot_be_used_is_raised(
    here: Project, arguments: dict[str, Any], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=told):
        agent_eval.evaluate(**{"agent": "bot", "eval_set": "set.json", **arguments})
    assert here.results() == []


def test_warnings_are_logged(here: Project, caplog: pytest.LogCaptureFixture) -> None:
    agent_eval.evaluate("bot", "set.json", config={**RESPONSES, "criterion": {}})
    here.write("odd.json", {**RESPONSES, "criterion": {}})
    agent_eval.evaluate("bot", "set.json", config="odd.json")
    assert "unknown key `criterion`" in caplog.text


def test_the_package_is_cheap_to_import() -> None:
    code = "import sys, agent_eval; print(json.dumps(sorted(sys.modules)))".replace("sys,", "sys, json,", 1)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert [name for name in loaded if name.startswith(("agent_eval.", "pydantic", "asyncio"))] == []
