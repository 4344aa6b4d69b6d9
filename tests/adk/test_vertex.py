"""`"backend": "vertex"`: ADK's evaluators in the place of the judge; the call to Vertex AI is replaced."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.metrics.custom import AdkClassEvaluator
from agent_eval.metrics.scoring import Scorer
from agent_eval.schema.trace import EvalStatus
from tests.metrics.judged.support import case_of, invocations, metric_of, turn

pytestmark = [
    pytest.mark.adk,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]

NAMES = [
    "safety_v1",
    "response_evaluation_score",
    "multi_turn_task_success_v1",
    "multi_turn_trajectory_quality_v1",
    "multi_turn_tool_use_quality_v1",
]
VARIABLES = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_API_KEY")


@pytest.fixture(autouse=True)
def no_project(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_project_it_is_an_input_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = metric_of(name, None, backend="vertex")
    with pytest.raises(InputError, match="GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION not set"):
        metric.build()
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "project")
    with pytest.raises(InputError, match="project: GOOGLE_CLOUD_LOCATION not set"):
        metric.build()


@pytest.mark.parametrize("name", NAMES)
def test_with_one_adks_evaluator_scores(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.adk.evaluation.vertex_ai_eval_facade import _VertexAiEvalFacade

    asked: list[Any] = []
    score = 4.0 if name == "response_evaluation_score" else 0.75

    def answered(self: Any, dataset: Any, metrics: Any) -> Any:
        asked.append(dataset)
        said = SimpleNamespace(
            metric_results={"m": SimpleNamespace(explanation="because", error_message=None)}
        )
        return SimpleNamespace(
            summary_metrics=[SimpleNamespace(mean_score=score)],
            eval_case_results=[SimpleNamespace(response_candidate_results=[said])],
        )

    monkeypatch.setenv("GOOGLE_API_KEY", "a key")
    monkeypatch.setattr(_VertexAiEvalFacade, "_perform_eval", answered)
    metric = metric_of(name, None, threshold=0.5, backend="vertex")
    assert isinstance(metric.build(), AdkClassEvaluator)
    turns = [turn("q", "an answer"), turn("q", "another")]
    scored = Scorer([metric]).score(case_of(turns), invocations(turns), {})
    (result,) = asyncio.run(scored)
    assert (result.status, result.score) == (EvalStatus.PASSED, score), result.reason
    assert len(asked) == (1 if name.startswith("multi_turn") else 2)
    scores = result.per_invocation[-1].rubric_scores or []
    assert [score.rationale for score in scores] == ["because"]
