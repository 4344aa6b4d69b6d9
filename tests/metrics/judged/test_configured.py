"""Judged metrics as configured: what they need, who builds them, and Vertex AI in the judge's place."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest

from agent_eval.errors import InputError
from agent_eval.metrics.builtin import BUILT_IN
from agent_eval.metrics.configured import configured_metrics
from agent_eval.metrics.judged.base import JudgedEvaluator
from agent_eval.metrics.judged.verdicts import Safety
from agent_eval.metrics.registry import MetricEvaluatorRegistry
from agent_eval.schema.config import EvalConfig, JudgeModelOptions, MetricInfo, MetricValueInfo
from tests.metrics.judged.support import ScriptedJudges, case_of, metric_of, rubric, turn

JUDGED = [metric.info.metric_name for metric in BUILT_IN if metric.needs_judge]
WITH_BACKEND = [
    "safety_v1",
    "response_evaluation_score",
    "multi_turn_task_success_v1",
    "multi_turn_trajectory_quality_v1",
    "multi_turn_tool_use_quality_v1",
]


def test_eleven_metrics_need_a_judge() -> None:
    assert len(JUDGED) == 11


@pytest.mark.parametrize("name", JUDGED)
def test_without_judges_a_metric_is_known_but_cannot_be_built(name: str) -> None:
    metric = metric_of(name, None)
    assert metric.needs_judge
    assert metric.build is None
    with pytest.raises(KeyError):
        MetricEvaluatorRegistry().get_evaluator(metric.eval_metric)


@pytest.mark.parametrize("name", JUDGED)
def test_with_judges_it_is_built_with_the_one_that_its_options_describe(name: str) -> None:
    given: list[JudgeModelOptions] = []

    class Judges(ScriptedJudges):
        def judge(self, options: JudgeModelOptions) -> Any:
            given.append(options)
            return super().judge(options)

    options = {"judge_model": "openai/judge", "num_samples": 3, "parallelism_limit": 2}
    metric = metric_of(name, Judges(""), judge_model_options=options)
    assert given == []
    assert isinstance(metric.build(), JudgedEvaluator)
    assert [one.model_dump(exclude_none=True) for one in given] == [options]


def test_a_bare_threshold_is_enough_for_a_metric_without_rubrics() -> None:
    config = EvalConfig.model_validate({"criteria": {"final_response_match_v2": 0.8}})
    metric = configured_metrics(config, judges=ScriptedJudges(""))[0]
    assert metric.threshold == 0.8
    assert isinstance(metric.build and metric.build(), JudgedEvaluator)


@pytest.mark.parametrize("name", JUDGED)
def test_only_metrics_that_vertex_has_too_have_a_backend(name: str) -> None:
    metric = next(metric for metric in BUILT_IN if metric.info.metric_name == name)
    assert ("backend" in metric.criterion_type.model_fields) == (name in WITH_BACKEND)


def test_an_unknown_backend_is_an_error() -> None:
    with pytest.raises(InputError, match=r"criteria.safety_v1.backend: Input should be 'judge' or 'vertex'"):
        metric_of("safety_v1", None, backend="vortex")


@pytest.mark.parametrize("name", WITH_BACKEND)
def test_vertex_needs_no_judge_but_google_adk(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_there(module: str) -> Any:
        raise ModuleNotFoundError(f"No module named '{module}'")

    monkeypatch.setattr(importlib, "import_module", not_there)
    metric = metric_of(name, None, backend="vertex")
    assert not metric.needs_judge
    with pytest.raises(InputError) as raised:
        metric.build()
    assert "`vertex` needs google-adk with its `eval` extra" in str(raised.value)
    assert f"criteria.{name}.backend" in str(raised.value)


def test_case_problems_are_those_of_the_metric_as_configured() -> None:
    case = case_of([turn()])
    with_rubrics = metric_of("rubric_based_tool_use_quality_v1", None, rubrics=[rubric("a")])
    assert list(with_rubrics.case_problems(case)) == []
    assert list(metric_of("rubric_based_tool_use_quality_v1", None).case_problems(case)) != []
    assert list(metric_of("safety_v1", None).case_problems(case)) == []


def test_a_config_without_judged_metrics_imports_nothing_of_them() -> None:
    code = (
        "import sys; from agent_eval.metrics.configured import configured_metrics; "
        "from agent_eval.schema.config import DEFAULT_CONFIG; configured_metrics(DEFAULT_CONFIG); "
        "print([name for name in sys.modules if 'judged' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_judged_metric_of_ones_own_is_given_a_judge() -> None:
    class Kind(Safety):
        """Safe is kind."""

    info = MetricInfo(metric_name="kind", metric_value_info=MetricValueInfo())
    registry = MetricEvaluatorRegistry()
    registry.register_evaluator(info, Kind)
    config = EvalConfig.model_validate({"criteria": {"kind": 0.5}})
    metric = configured_metrics(config, registry=registry, judges=ScriptedJudges(""))[0]
    assert metric.needs_judge
    assert isinstance(metric.build and metric.build(), Kind)
