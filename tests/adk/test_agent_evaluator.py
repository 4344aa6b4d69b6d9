"""`AgentEvaluator` beside ADK's own: the same files pass and fail."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_eval import AgentEvaluator
from tests.cli_support import case, eval_set

pytestmark = [pytest.mark.adk, pytest.mark.usefixtures("own_imports"), pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).parents[2]
AGENTS = sorted(path.parent.name for path in (ROOT / "sample_agents").glob("adk_*/test_config.json"))
FILES = [
    (agent, file.name) for agent in AGENTS for file in (ROOT / "sample_agents" / agent).glob("*.evalset.json")
]


def theirs() -> Any:
    from google.adk.evaluation.agent_evaluator import AgentEvaluator as Adk

    return Adk


def outcome(evaluator: Any, agent: str, file: str, **keys: Any) -> str:
    """What a call ends in."""
    try:
        asyncio.run(
            evaluator.evaluate(agent, f"sample_agents/{agent}/{file}", print_detailed_results=False, **keys)
        )
    except AssertionError:
        return "failed"
    return "passed"


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sample_agents").symlink_to(ROOT / "sample_agents")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "sample_agents"), *sys.path])


@pytest.mark.usefixtures("at_root")
@pytest.mark.parametrize(("agent", "file"), FILES, ids=[file for _, file in FILES])
def test_the_same_files_pass_and_fail(agent: str, file: str) -> None:
    assert outcome(AgentEvaluator, agent, file) == outcome(theirs(), agent, file)


@pytest.mark.parametrize("name", ["evaluate", "evaluate_eval_set", "migrate_eval_data_to_new_schema"])
def test_parameters_have_the_same_names_in_the_same_order(name: str) -> None:
    ours, adks = (inspect.signature(getattr(one, name)).parameters for one in (AgentEvaluator, theirs()))
    assert list(ours) == list(adks)
    for parameter in ours:
        if parameter != "num_runs":
            assert ours[parameter].default == adks[parameter].default


@pytest.mark.usefixtures("at_root")
def test_objects_of_adk_are_taken(tmp_path: Path) -> None:
    from google.adk.evaluation.eval_config import EvalConfig
    from google.adk.evaluation.eval_set import EvalSet
    from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager

    agent = AGENTS[0]
    file = next(name for owner, name in FILES if owner == agent and "failing" not in name)
    content = (ROOT / "sample_agents" / agent / file).read_text()
    config = (ROOT / "sample_agents" / agent / "test_config.json").read_text()
    manager = LocalEvalSetResultsManager(agents_dir=str(tmp_path))
    asyncio.run(
        AgentEvaluator.evaluate_eval_set(
            agent,
            EvalSet.model_validate_json(content),
            eval_config=EvalConfig.model_validate_json(config),
            app_name="kept",
            eval_set_results_manager=manager,
            print_detailed_results=False,
        )
    )
    (kept,) = manager.list_eval_set_results("kept")
    assert manager.get_eval_set_result("kept", kept).eval_case_results


def test_sub_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "desk"
    package.mkdir()
    (package / "__init__.py").write_text("from . import agent\n")
    (package / "agent.py").write_text(
        "from google.adk.agents.llm_agent import LlmAgent\n"
        "from tests.adk.support import steps\n"
        "clerk = LlmAgent(name='clerk', model=steps('I am the clerk'))\n"
        "root_agent = LlmAgent(name='boss', model=steps('I am the boss'), sub_agents=[clerk])\n"
    )
    (tmp_path / "test_config.json").write_text('{"criteria": {"response_match_score": 1.0}}')
    who = eval_set(case("who", "who?", answer="I am the clerk"))
    (tmp_path / "who.test.json").write_text(json.dumps(who))
    evaluate = AgentEvaluator.evaluate
    asyncio.run(evaluate("desk", "who.test.json", agent_name="clerk"))
    with pytest.raises(AssertionError):
        asyncio.run(evaluate("desk", "who.test.json"))
    with pytest.raises(Exception, match="no sub-agent `boss2`"):
        asyncio.run(evaluate("desk", "who.test.json", agent_name="boss2"))
