"""The step from an eval config to metrics ready to score."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.judge.models import provider_of
from agent_eval.metrics import adk_bridge
from agent_eval.metrics.base import EvalMetric, Evaluator
from agent_eval.metrics.builtin import Metric
from agent_eval.metrics.custom import (
    AdkClassEvaluator,
    build_custom,
    build_evaluator,
    import_metric,
    is_evaluator_class,
)
from agent_eval.metrics.efficiency import EfficiencyEvaluator
from agent_eval.metrics.registry import DEFAULT_REGISTRY, MetricEvaluatorRegistry
from agent_eval.schema.config import (
    INFORMATIONAL_METRICS,
    Backend,
    BackendCriterion,
    BaseCriterion,
    CustomMetricConfig,
    EvalConfig,
    Interval,
    JudgeCriterion,
    JudgeModelOptions,
    MetricInfo,
    MetricValueInfo,
)
from agent_eval.schema.evalset import EvalCase

if TYPE_CHECKING:
    from agent_eval.metrics.judged.base import Judges


def _no_problems(case: EvalCase) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class ConfiguredMetric:
    """A metric of one evaluation: what the config says, and how to build what computes it."""

    eval_metric: EvalMetric
    info: MetricInfo
    build: Callable[[], Evaluator] | None
    """None where a judge is needed and there are none."""
    needs_reference: bool = False
    needs_judge: bool = False
    """A model has to be asked, by the criterion's `judge_model_options`."""
    problems: tuple[str, ...] = ()
    """What is wrong with the criterion, whatever the case."""
    case_problems: Callable[[EvalCase], Iterable[str]] = _no_problems
    """What keeps a case from being scored, as far as it can be told before it runs."""
    interval: Interval | None = None
    """The range that scores must be in, where it was said."""

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.eval_metric.metric_name

    @property
    def judge_model(self) -> str | None:
        """The model that is asked, if one is."""
        criterion = self.eval_metric.criterion
        if self.needs_judge and isinstance(criterion, JudgeCriterion):
            return criterion.judge_model_options.judge_model
        return None

    @property
    def gates(self) -> bool:
        """Whether the metric has a threshold and so a part in the verdict."""
        return self.eval_metric.criterion is not None

    @property
    def threshold(self) -> float | None:
        """The threshold, None for an informational metric."""
        return self.eval_metric.criterion.threshold if self.eval_metric.criterion else None


def configured_metrics(
    config: EvalConfig,
    *,
    code_folders: tuple[Path, ...] = (),
    file: str | None = None,
    registry: MetricEvaluatorRegistry = DEFAULT_REGISTRY,
    judges: Judges | None = None,
) -> list[ConfiguredMetric]:
    """The metrics of a config in its order, then the informational ones.

    Args:
        config: the eval config.
        code_folders: where the code of custom metrics is looked for, besides installed packages.
        file: the config's name, for errors.
        registry: the metrics there are.
        judges: where judged metrics get their judges; without, they cannot be built.

    Raises:
        InputError: metrics that are not known, cannot be imported, or whose options do not fit;
            all of them together.
    """
    registry = registry.fork()
    if any(registry.find(name) is None for name in config.criteria):
        registry.load_installed()  # looking for them takes a while
    metrics: list[ConfiguredMetric] = []
    problems: list[Problem] = []
    for name in config.criteria:
        try:
            metrics.append(_configured(config, name, code_folders, registry, judges))
        except InputError as error:
            problems += [
                Problem(p.message, file, p.path or f"criteria.{name}", p.line, p.hint) for p in error.problems
            ]
    if problems:
        raise InputError(*problems)
    given = {metric.name for metric in metrics}
    return metrics + [_always_on(name, registry) for name in INFORMATIONAL_METRICS if name not in given]


def _always_on(name: str, registry: MetricEvaluatorRegistry) -> ConfiguredMetric:
    metric = EvalMetric(metric_name=name)
    known = registry.find(name)
    info = known.info if known else MetricInfo(metric_name=name, metric_value_info=MetricValueInfo())
    return ConfiguredMetric(metric, info, lambda: EfficiencyEvaluator(metric))


def _configured(
    config: EvalConfig,
    name: str,
    code_folders: tuple[Path, ...],
    registry: MetricEvaluatorRegistry,
    judges: Judges | None,
) -> ConfiguredMetric:
    criterion = config.criterion(name)
    custom = (config.custom_metrics or {}).get(name)
    if custom:
        return _custom(name, criterion, custom, code_folders)
    if name in INFORMATIONAL_METRICS:
        raise InputError(
            Problem(
                f"`{name}` is always reported and never gates: it takes no threshold",
                hint="remove it from `criteria`",
            )
        )
    metric = registry.find(name)
    if metric is None:
        return _of_adk(name, criterion, registry)
    return _known(name, criterion, metric, judges)


def _known(name: str, criterion: BaseCriterion, metric: Metric, judges: Judges | None) -> ConfiguredMetric:
    typed = _typed_criterion(name, criterion, metric.criterion_type)
    eval_metric = EvalMetric(metric_name=name, threshold=typed.threshold, criterion=typed)
    evaluator = metric.load()
    needs_judge = metric.needs_judge
    build: Callable[[], Evaluator] | None = None
    if isinstance(typed, BackendCriterion) and typed.backend is Backend.VERTEX:
        needs_judge, build = False, partial(_of_vertex, eval_metric)
    elif not needs_judge:
        build = partial(build_evaluator, eval_metric, evaluator)
    elif judges is not None:
        build = partial(_judged, eval_metric, evaluator, judges)
    return ConfiguredMetric(
        eval_metric,
        metric.info,
        build,
        metric.needs_reference,
        needs_judge,
        tuple(evaluator.criterion_problems(typed)),
        partial(evaluator.case_problems, typed),
        metric.info.metric_value_info.interval,
    )


def _of_vertex(eval_metric: EvalMetric) -> Evaluator:
    from agent_eval.metrics.judged.vertex import vertex_evaluator

    return vertex_evaluator(eval_metric)


def _judged(eval_metric: EvalMetric, evaluator: Callable[..., Evaluator], judges: Judges) -> Evaluator:
    criterion = eval_metric.criterion
    options = criterion.judge_model_options if isinstance(criterion, JudgeCriterion) else JudgeModelOptions()
    return evaluator(eval_metric, judges.judge(options))


def _custom(
    name: str, criterion: BaseCriterion, custom: CustomMetricConfig, code_folders: tuple[Path, ...]
) -> ConfiguredMetric:
    reference = custom.code_config.name
    found = import_metric(reference, code_folders, f"custom_metrics.{name}.code_config.name")
    if isinstance(found, type) and issubclass(found, Evaluator):
        criterion = _typed_criterion(name, criterion, found.criterion_type)
    elif is_evaluator_class(found):
        _validated(name, criterion, found.criterion_type)
    eval_metric = EvalMetric(
        metric_name=name,
        threshold=criterion.threshold,
        criterion=criterion,
        custom_function_path=reference,
    )
    said = custom.metric_info
    interval = said.metric_value_info.interval if said else None
    return ConfiguredMetric(
        eval_metric, custom.info(name), lambda: build_custom(eval_metric, found), interval=interval
    )


def _of_adk(name: str, criterion: BaseCriterion, registry: MetricEvaluatorRegistry) -> ConfiguredMetric:
    """A metric that the agent's code has registered with google-adk itself.

    Raises:
        InputError: nobody knows it.
    """
    found = adk_bridge.registered_with_adk(name)
    if found is None or not is_evaluator_class(found):
        known = [metric.info.metric_name for metric in registry.metrics()]
        raise InputError(
            Problem(
                f"`{name}` is neither a metric nor declared in `custom_metrics`",
                hint=did_you_mean(name, known) or "`agent-eval metrics` lists the metrics",
            )
        )
    eval_metric = EvalMetric(metric_name=name, threshold=criterion.threshold, criterion=criterion)
    info = MetricInfo(metric_name=name, metric_value_info=MetricValueInfo())
    return ConfiguredMetric(eval_metric, info, lambda: AdkClassEvaluator(eval_metric, found))


def _typed_criterion(name: str, criterion: BaseCriterion, wanted: type[BaseCriterion]) -> BaseCriterion:
    """The criterion with the metric's own keys checked.

    Raises:
        InputError: they do not fit, or no provider is known for the judge model.
    """
    typed = _validated(name, criterion, wanted)
    if isinstance(typed, JudgeCriterion):
        model = typed.judge_model_options.judge_model
        if provider_of(model) is None:
            raise InputError(
                Problem(
                    f"no provider is known for the judge model `{model}`",
                    path=f"criteria.{name}.judge_model_options.judge_model",
                    hint="name a Gemini model (`gemini-...`), or `openai/<model>` or `litellm/<model>`",
                )
            )
    return typed


C = TypeVar("C", bound=BaseModel)


def _validated(name: str, criterion: BaseCriterion, wanted: type[C]) -> C:
    """The criterion as a model of ours or ADK's.

    Raises:
        InputError: it does not fit.
    """
    by_alias = {field.alias: key for key, field in wanted.model_fields.items() if field.alias}
    try:
        return wanted.model_validate(criterion.model_dump())
    except ValidationError as error:
        raise InputError(
            *(
                Problem(
                    "required, but not there"
                    if detail["type"] == "missing"
                    else f"{detail['msg']}, got {detail['input']!r:.80}",
                    path=".".join(["criteria", name, *(by_alias.get(p, p) for p in map(str, detail["loc"]))]),
                )
                for detail in error.errors(include_url=False)
            )
        ) from None
