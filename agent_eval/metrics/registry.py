"""Which metrics there are: the built-in ones, those of installed packages, and those registered in code."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points

from agent_eval.errors import InputError, Problem
from agent_eval.metrics.base import EvalMetric, Evaluator
from agent_eval.metrics.builtin import BUILT_IN, Metric
from agent_eval.schema.config import MetricInfo

ENTRY_POINTS = "agent_eval.metrics"
"""Group of entry points; each is a function that takes a registry and registers metrics in it."""


class MetricEvaluatorRegistry:
    """Metrics by name. A fork has the same ones, and keeps what is registered in it to itself."""

    def __init__(self, metrics: Iterable[Metric] = BUILT_IN) -> None:
        self._metrics = {metric.info.metric_name: metric for metric in metrics}

    def register_evaluator(self, metric_info: MetricInfo, evaluator: type[Evaluator]) -> None:
        """Adds a metric, or puts another evaluator behind its name."""
        from agent_eval.metrics.judged.base import JudgedEvaluator  # only to register there is a need for it

        self._metrics[metric_info.metric_name] = Metric(
            metric_info,
            lambda: evaluator,
            evaluator.criterion_type,
            needs_judge=issubclass(evaluator, JudgedEvaluator),
        )

    def fork(self) -> MetricEvaluatorRegistry:
        """A registry with the same metrics."""
        return MetricEvaluatorRegistry(self._metrics.values())

    def find(self, name: str) -> Metric | None:
        """The metric of a name; None if there is none."""
        return self._metrics.get(name)

    def metrics(self) -> list[Metric]:
        """All of them, in the order of registration."""
        return list(self._metrics.values())

    def get_registered_metrics(self) -> list[MetricInfo]:
        """What all of them say of themselves."""
        return [metric.info for metric in self._metrics.values()]

    def get_evaluator(self, eval_metric: EvalMetric) -> Evaluator:
        """What computes a metric.

        Raises:
            KeyError: no such metric, or one that needs a judge.
        """
        metric = self._metrics.get(eval_metric.metric_name)
        if metric is None or metric.needs_judge:
            raise KeyError(eval_metric.metric_name)
        return metric.load()(eval_metric)

    def load_installed(self) -> None:
        """Lets installed packages register their metrics.

        Raises:
            InputError: one of them cannot.
        """
        for entry_point in entry_points(group=ENTRY_POINTS):
            try:
                entry_point.load()(self)
            except Exception as error:  # whatever an installed package does
                told = f"`{entry_point.name} = {entry_point.value}`: {type(error).__name__}: {error}"
                raise InputError(Problem(f"cannot register the metrics of entry point {told}")) from error


DEFAULT_REGISTRY = MetricEvaluatorRegistry()
"""What evaluations start from. Each works on a fork."""
