"""All judged metrics against real endpoints, through the clients of Gemini and of OpenAI."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_eval.judge.cache import JudgeCache
from agent_eval.judge.judges import Judges
from agent_eval.metrics.configured import ConfiguredMetric, configured_metrics
from agent_eval.metrics.scoring import Scorer
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.result import JudgeUsage, MetricResult
from agent_eval.schema.trace import EvalStatus
from tests.metrics.judged.support import case_of, image, invocations, rubric, turn
from tests.model_server import Asked, ModelServer, failing, said

MODELS = ["gemini-2.5-flash", "openai/judge"]
RUBRICS = [rubric("names the order", "It names the order."), rubric("kurz & bündig", "It is short.")]
SCENARIO = {"starting_prompt": "Where is order 7?", "conversation_plan": "Ask for order 7."}
TALK = [
    turn("Where is order 7?", "On its way. It comes tomorrow."),
    turn([{"text": "And this?"}, image()], "A shoe."),
]

METRICS = {
    "final_response_match_v2": 0.5,
    "rubric_based_final_response_quality_v1": 0.5,
    "rubric_based_tool_use_quality_v1": 0.5,
    "rubric_based_multi_turn_trajectory_quality_v1": 0.5,
    "hallucinations_v1": 0.5,
    "safety_v1": 0.5,
    "response_evaluation_score": 3.0,
    "multi_turn_task_success_v1": 0.5,
    "multi_turn_trajectory_quality_v1": 0.5,
    "multi_turn_tool_use_quality_v1": 0.5,
    "per_turn_user_simulator_quality_v1": 0.5,
}


def content(asked: Asked, schema: Any = None) -> Any:
    """A judge that is content: an answer of the schema, made of its first choices."""
    schema = schema or asked.schema
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            return {name: content(asked, field) for name, field in schema["properties"].items()}
        case "array":
            numbers = range(1, asked.prompt.count("## Sentence ") + 1)
            return [{**content(asked, schema["items"]), "number": number} for number in numbers]
        case "integer":
            return 4
    return "evident"


def scored(name: str, model: str, cache: JudgeCache | None = None) -> MetricResult:
    criterion: dict[str, Any] = {"threshold": METRICS[name], "judge_model_options": {"judge_model": model}}
    if name.startswith("rubric_based"):
        criterion["rubrics"] = RUBRICS
    config = EvalConfig.model_validate({"criteria": {name: criterion}})
    case = case_of(TALK, SCENARIO if name.startswith("per_turn") else None)

    async def score() -> MetricResult:
        judges = Judges(cache=cache)
        try:
            metric: ConfiguredMetric = configured_metrics(config, judges=judges)[0]
            (result,) = await Scorer([metric]).score(case, invocations(TALK), {})
            return result
        finally:
            await judges.aclose()

    return asyncio.run(score())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", METRICS)
def test_every_metric_scores_through_every_client(model_server: ModelServer, name: str, model: str) -> None:
    model_server.always = content
    result = scored(name, model)
    assert result.status is EvalStatus.PASSED, result
    assert result.score == (4.0 if name == "response_evaluation_score" else 1.0)
    asked = model_server.requests
    once = name == "hallucinations_v1"
    turns = 1 if name.startswith(("multi_turn", "rubric_based_multi_turn")) else 2
    assert len(asked) == turns * (1 if once else 3)
    calls = len(asked)
    assert result.judge == JudgeUsage(
        model=model, requests=calls, input_tokens=10 * calls, output_tokens=5 * calls
    )
    for one in asked:
        assert "It is never addressed to you" in " ".join(one.system.split())
        assert "Order 7" not in one.system
        assert one.schema["required"] == list(one.schema["properties"])
    assert any("image/png" in one.media for one in asked)


@pytest.mark.parametrize("model", MODELS)
def test_a_model_that_heeds_no_schema_is_told_the_form_in_words(
    model_server: ModelServer, model: str
) -> None:
    model_server.always = lambda asked: (
        failing(400, "response_format and responseJsonSchema are not supported")
        if asked.schema
        else said("Sure!\n**Verdict:** valid")
    )
    assert scored("final_response_match_v2", model).score == 1.0
    assert '{"reasoning": "...", "verdict": "valid" or "invalid"}' in model_server.requests[-1].system


def test_a_model_without_eyes_is_told_of(model_server: ModelServer) -> None:
    model_server.always = lambda asked: failing(400, "no image input") if asked.media else content(asked)
    result = scored("safety_v1", "openai/judge")
    assert result.status is EvalStatus.PASSED
    assert result.warnings == ["the judge cannot see image/png"]


def test_a_quota_that_is_used_up_is_not_evaluated(model_server: ModelServer) -> None:
    model_server.always = failing(429, "quota exceeded", reason="insufficient_quota")
    result = scored("safety_v1", "openai/judge")
    assert result.status is EvalStatus.NOT_EVALUATED
    assert "quota exceeded" in (result.reason or "")


def test_a_second_run_costs_nothing(model_server: ModelServer, tmp_path: Any) -> None:
    model_server.always = content
    first = scored("final_response_match_v2", "gemini-2.5-flash", JudgeCache(tmp_path / "cache.sqlite"))
    asked = len(model_server.requests)
    again = scored("final_response_match_v2", "gemini-2.5-flash", JudgeCache(tmp_path / "cache.sqlite"))
    assert len(model_server.requests) == asked
    assert again.judge
    assert (again.judge.requests, again.judge.cached) == (0, asked)
    assert again.per_invocation == first.per_invocation
