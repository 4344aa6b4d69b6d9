"""`AgentEvaluator`: ADK's parameters, with plain Python agents."""

from __future__ import annotations

import asyncio
import csv
import json
from typing import Any

import pytest

from agent_eval import AgentEvaluator, EvalSet
from agent_eval.errors import AgentEvalError
from tests.cli_support import RESPONSES, Project, case, eval_set

pytestmark = pytest.mark.usefixtures("own_imports")

AGENT = """\
    def look_up(order_id):
        return {}

    async def root_agent(message, session):
        if message.text == "crash":
            raise LookupError("no such order")
        if session.state.get("tier") == "gold":
            return "gold"
        return message.text
    """


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.root)
    project.agent(AGENT)
    project.write("test_config.json", RESPONSES)
    project.write("good.test.json", eval_set(case("good"), eval_set_id="good"))
    project.write("bad.test.json", eval_set(case("bad", answer="something else"), eval_set_id="bad"))
    return project


def evaluate(*arguments: Any, **keys: Any) -> None:
    asyncio.run(AgentEvaluator.evaluate(*arguments, **keys))


def test_a_file_that_passes(here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate("bot", "good.test.json")
    assert "PASSED" in capsys.readouterr().out
    assert here.case("good")["attempts"] == 2


def test_what_failed_is_raised_with_its_causes(here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError, match=r"response_match_score  0\.00 / 0\.80") as told:
        evaluate("bot", "bad.test.json", print_detailed_results=False)
    assert "AE" in str(told.value)
    assert capsys.readouterr().out == ""


def test_every_file_of_a_folder_is_evaluated_before_anything_is_raised(here: Project) -> None:
    here.write("deep/also.test.json", eval_set(case("crashes", "crash"), eval_set_id="also"))
    here.write("deep/test_config.json", RESPONSES)
    with pytest.raises(AssertionError) as told:
        evaluate("bot.agent", str(here.root), num_runs=1)
    assert "bad: 1 failed" in str(told.value)
    assert "also: 1 failed" in str(told.value)
    assert len(here.results()) == 3


def test_how_often_is_said_by_the_caller_else_by_the_config(here: Project) -> None:
    here.write("test_config.json", {**RESPONSES, "multi_run_config": {"num_runs": 3}})
    evaluate("bot", "good.test.json")
    assert here.case("good")["attempts"] == 3
    evaluate("bot", "good.test.json", 1)
    assert here.case("good")["attempts"] == 1


def test_not_evaluated_is_raised(here: Project) -> None:
    here.write("gates.py", "def gate(*_):\n    raise RuntimeError('quota exceeded')\n")
    here.write(
        "test_config.json",
        {"criteria": {"gate": 1}, "custom_metrics": {"gate": {"code_config": {"name": "gates.gate"}}}},
    )
    with pytest.raises(AssertionError, match="quota exceeded"):
        evaluate("bot", "good.test.json")


def test_csv_and_initial_session(here: Project) -> None:
    here.write("old.test.json", [{"query": "hi", "expected_tool_use": [], "reference": "gold"}])
    here.write("session.json", {"state": {"tier": "gold"}, "app_name": "bot", "user_id": "u"})
    for _ in range(2):
        evaluate("bot", "old.test.json", 1, initial_session_file="session.json", output_file="out/rows.csv")
    with (here.root / "out" / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric_name"] == "response_match_score"]
    assert [(row["score"], row["actual_response"], row["eval_status"]) for row in rows] == [
        ("1.0", "gold", "PASSED")
    ] * 2
    with pytest.raises(ValueError, match="takes no initial session file"):
        evaluate("bot", "good.test.json", initial_session_file="session.json")


def test_an_eval_set_as_an_object(here: Project) -> None:
    good = EvalSet.model_validate(eval_set(case("good")))
    asyncio.run(AgentEvaluator.evaluate_eval_set("bot", good, criteria={"response_match_score": 0.8}))
    with pytest.raises(ValueError, match="eval_config"):
        asyncio.run(AgentEvaluator.evaluate_eval_set("bot", good))
    empty = EvalSet.model_validate(eval_set())
    with pytest.raises(ValueError, match="no cases"):
        asyncio.run(AgentEvaluator.evaluate_eval_set("bot", empty, criteria={"response_match_score": 1}))


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no run": ({"num_runs": 0}, ValueError, "at least 1"),
    "no test file": ({"eval_dataset_file_path_or_dir": "bot"}, ValueError, "nothing to evaluate"),
    "no file": ({"eval_dataset_file_path_or_dir": "goood.test.json"}, AgentEvalError, "did you mean"),
    "no agent": ({"agent_module": "boot"}, AgentEvalError, "there is no agent `boot`"),
    "no sub-agent": ({"agent_name": "clerk"}, AgentEvalError, "there is no sub-agent `clerk`"),
    "no app name": ({"eval_set_results_manager": object()}, ValueError, "app_name"),
}


@pytest.mark.parametrize(("arguments", "kind", "told"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_used_is_no_assertion(
    here: Project, arguments: dict[str, Any], kind: type[Exception], told: str
) -> None:
    given = {"agent_module": "bot", "eval_dataset_file_path_or_dir": "good.test.json", **arguments}
    with pytest.raises(kind, match=told):
        evaluate(**given)


def test_old_files_are_migrated(here: Project) -> None:
    here.write("old.test.json", [{"query": "hi", "expected_tool_use": [], "reference": "hi"}])
    AgentEvaluator.migrate_eval_data_to_new_schema("old.test.json", "new.test.json")
    document = json.loads((here.root / "new.test.json").read_text())
    assert document["eval_set_id"] == "old"
    evaluate("bot", "new.test.json")


def test_the_config_of_a_file(here: Project) -> None:
    assert AgentEvaluator.find_config_for_test_file("good.test.json").criteria == RESPONSES["criteria"]
