from __future__ import annotations

import pytest

from agent_eval.errors import InputError
from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator
from agent_eval.metrics.configured import configured_metrics
from agent_eval.metrics.registry import DEFAULT_REGISTRY, MetricEvaluatorRegistry
from agent_eval.schema.config import BaseCriterion, Better, EvalConfig, Interval, MetricInfo, MetricValueInfo


class Half(Evaluator):
    """Always a half."""

    def evaluate_invocations(self, *turns: object) -> EvaluationResult:
        return EvaluationResult(overall_score=0.5)


INFO = MetricInfo(
    metric_name="half",
    metric_value_info=MetricValueInfo(interval=Interval(min_value=0.0, max_value=1.0)),
    better=Better.LOWER,
)


def test_fork_keeps_what_is_registered_in_it_to_itself() -> None:
    origin = MetricEvaluatorRegistry()
    fork = origin.fork()
    fork.register_evaluator(INFO, Half)

    assert fork.get_registered_metrics() == [*origin.get_registered_metrics(), INFO]
    assert origin.find("half") is None
    assert fork.fork().find("half")
    assert DEFAULT_REGISTRY.find("half") is None


def test_evaluator_is_built_with_the_metric() -> None:
    registry = MetricEvaluatorRegistry()
    registry.register_evaluator(INFO, Half)
    metric = EvalMetric(metric_name="half", criterion=BaseCriterion(threshold=0.7))

    evaluator = registry.get_evaluator(metric)

    assert isinstance(evaluator, Half)
    assert evaluator.threshold == 0.7
    with pytest.raises(KeyError):
        registry.get_evaluator(EvalMetric(metric_name="none"))


def test_evaluation_uses_the_registry_that_it_is_given() -> None:
    registry = MetricEvaluatorRegistry()
    registry.register_evaluator(INFO, Half)
    config = EvalConfig(criteria={"half": 0.7})

    metric = configured_metrics(config, registry=registry)[0]

    assert (metric.name, metric.threshold, metric.info) == ("half", 0.7, INFO)
    assert metric.interval == Interval(min_value=0.0, max_value=1.0)
    with pytest.raises(InputError, match="`half` is neither a metric nor declared"):
        configured_metrics(config)


def test_registering_under_a_known_name_takes_its_place_in_that_registry_only() -> None:
    registry = MetricEvaluatorRegistry()
    registry.register_evaluator(INFO.model_copy(update={"metric_name": "response_match_score"}), Half)

    found, builtin = registry.find("response_match_score"), DEFAULT_REGISTRY.find("response_match_score")

    assert found
    assert builtin
    assert found.load() is Half
    assert builtin.load() is not Half
