"""Inputs on which users of such tools stumbled: the first cause is the one that is behind it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agent_eval.options import JudgeOptions, Options
from agent_eval.pipeline import evaluate
from agent_eval.preparation import plan_evaluation
from agent_eval.schema.result import CaseResult
from tests.cli_support import Project, custom

pytestmark = pytest.mark.usefixtures("own_imports")


def turn(asked: str, answer: str | None = None, *calls: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"user_content": {"parts": [{"text": asked}]}}
    if answer is not None:
        found["final_response"] = {"parts": [{"text": answer}]}
    if calls:
        found["intermediate_data"] = {"tool_uses": list(calls)}
    return found


def explained(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    agent: str,
    case: dict[str, Any],
    config: dict[str, Any],
) -> CaseResult:
    """The result of the one case."""
    monkeypatch.chdir(project.root)
    project.agent(agent)
    project.write("set.json", {"eval_set_id": "demo", "eval_cases": [{"eval_id": "one", **case}]})
    project.write("config.json", config)
    judges = JudgeOptions(cache=False)
    options = Options(agent="bot", eval_sets=("set.json",), config="config.json", judges=judges)
    (finished,) = asyncio.run(evaluate(plan_evaluation(options)))
    return finished.result.cases[0]


def first(case: CaseResult, metric: str) -> tuple[str, str]:
    causes = next(one.causes for one in case.metrics if one.metric_name == metric)
    return causes[0].code, causes[0].seen


PARIS = "def root_agent(message, session):\n    return 'Paris'\n"
CAPITAL = {"conversation": [turn("Capital of France?", "Paris")]}


def test_c01_metric_that_raises(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("gates.py", "def latency_gate(*arguments):\n    raise RuntimeError('quota exceeded')\n")
    case = explained(project, monkeypatch, PARIS, CAPITAL, custom("latency_gate", response_match_score=0.5))
    code, seen = first(case, "latency_gate")
    assert code == "AE509"
    assert "RuntimeError: quota exceeded" in seen


def test_c02_crashed_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = """\
        def root_agent(message, session):
            if session.run_index == 1:
                raise RuntimeError("socket reset")
            return "ok"
        """
    rate = {"response_match_score": {"method": "pass_rate", "threshold": 1.0}}
    multi = {"num_runs": 4, "cross_run_scoring_by_metric": rate}
    config = {"criteria": {"response_match_score": 0.8}, "multi_run_config": multi}
    case = explained(project, monkeypatch, agent, {"conversation": [turn("hi", "ok")]}, config)
    (cause,) = case.causes
    assert (cause.code, cause.runs) == ("AE413", [1])
    assert "RuntimeError: socket reset" in cause.seen


@pytest.mark.parametrize("match_type", ["EXACT", "IN_ORDER"])
def test_c05_parallel_calls_in_another_order(
    project: Project, monkeypatch: pytest.MonkeyPatch, match_type: str
) -> None:
    agent = """\
        def lookup(city): ...
        def ping(): ...
        async def root_agent(message, session):
            await session.call_tool(lookup, city="Lima")
            await session.call_tool(lookup, city="Oslo")
            await session.call_tool(ping)
            return "done"
        """
    wanted = [{"name": "lookup", "args": {"city": city}} for city in ("Oslo", "Lima")]
    case = {"conversation": [turn("compare", "done", *wanted, {"name": "ping"})]}
    config = {"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": match_type}}}
    code, seen = first(explained(project, monkeypatch, agent, case, config), "tool_trajectory_avg_score")
    assert code == "AE102"
    assert 'lookup(city="Lima"), lookup(city="Oslo"), ping() instead of lookup(city="Oslo")' in seen


def test_c07_half_of_the_words(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = "def root_agent(message, session):\n    return message.text\n"
    case = {"conversation": [turn("Заказ отменён", "Заказ отправлен")]}
    found = explained(project, monkeypatch, agent, case, {"criteria": {"response_match_score": 1.0}})
    code, seen = first(found, "response_match_score")
    assert code == "AE213"
    assert seen.startswith("1 of the 2 expected words")


JUDGED = {"threshold": 0.5, "judge_model_options": {"judge_model": "python/judge:judge", "num_samples": 1}}


@pytest.mark.parametrize(
    ("reply", "code", "told"),
    [
        (
            '{"reasoning": "half", "is_the_agent_response_valid": "partially valid"}',
            "AE306",
            'the judge found: "half"',
        ),
        ("I cannot judge this.", "AE511", "I cannot judge this."),
    ],
    ids=["half valid", "no verdict"],
)
def test_c08_verdicts_of_a_judge(
    project: Project, monkeypatch: pytest.MonkeyPatch, reply: str, code: str, told: str
) -> None:
    project.write("judge.py", f"def judge(request):\n    return {reply!r}\n")
    config = {"criteria": {"final_response_match_v2": JUDGED}}
    found = explained(project, monkeypatch, PARIS, CAPITAL, config)
    assert first(found, "final_response_match_v2")[0] == code
    assert told in first(found, "final_response_match_v2")[1]


def test_c09_rubric_that_the_judge_forgot(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = "\n\n".join(
        f"Property: {text}\nRationale: fine\nVerdict: yes"
        for text in ("Names the city", "Answers the question asked")
    )
    project.write("judge.py", f"def judge(request):\n    return {verdicts!r}\n")
    texts = {"city": "Names the city", "relevant": "Answers the question asked", "short": "Uses one sentence"}
    rubrics = [{"rubric_id": name, "rubric_content": {"text_property": text}} for name, text in texts.items()]
    metric = "rubric_based_final_response_quality_v1"
    config = {"criteria": {metric: {**JUDGED, "rubrics": rubrics}}}
    code, seen = first(explained(project, monkeypatch, PARIS, CAPITAL, config), metric)
    assert code == "AE511"
    assert "short" in seen


def test_c10_lower_is_better(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(
        "gates.py",
        """\
        from agent_eval import EvalStatus, EvaluationResult

        def spend(metric, actual, expected, scenario):
            score = float(actual[0].final_response.text)
            passed = score <= metric.criterion.threshold
            status = EvalStatus.PASSED if passed else EvalStatus.FAILED
            return EvaluationResult(overall_score=score, overall_eval_status=status)
        """,
    )
    agent = "def root_agent(message, session):\n    return message.text\n"
    config = custom("spend", threshold=0.05)
    code, seen = first(
        explained(project, monkeypatch, agent, {"conversation": [turn("0.09")]}, config), "spend"
    )
    assert (code, seen) == ("AE516", "the metric says FAILED with 0.09 (its threshold is 0.05)")


def test_c12_simulated_user_who_never_stops(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("judge.py", "def user(request):\n    return 'tell me more'\n")
    project.write("gates.py", "def goal(*arguments):\n    return 0.0\n")
    case = {
        "conversation_scenario": {
            "starting_prompt": "Book a desk",
            "conversation_plan": "Book one, then stop.",
        }
    }
    config = custom("goal") | {
        "user_simulator_config": {"model": "python/judge:user", "max_allowed_invocations": 3}
    }
    agent = "def root_agent(message, session):\n    return 'sure'\n"
    code, seen = first(explained(project, monkeypatch, agent, case, config), "goal")
    assert code == "AE307"
    assert "ended by `max_allowed_invocations` after 3 turns" in seen


def test_m04_metric_that_reads_the_wrong_threshold(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "async def heuristic(eval_metric, *arguments):\n    return float(4 >= eval_metric.threshold)\n"
    project.write("gates.py", source)
    code, seen = first(explained(project, monkeypatch, PARIS, CAPITAL, custom("heuristic")), "heuristic")
    assert code == "AE502"
    assert "`eval_metric.threshold` is None by contract" in seen
    assert "read `eval_metric.criterion.threshold` instead" in json.dumps(project.summary())
