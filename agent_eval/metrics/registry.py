"""Every built-in metric, and the step from an eval config to metrics ready to score.

Adding a metric is one module with an `Evaluator` and one line in `BUILT_IN`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.judge.models import provider_of
from agent_eval.metrics.base import EvalMetric, Evaluator
from agent_eval.metrics.custom import CustomFunctionEvaluator, import_metric
from agent_eval.metrics.efficiency import EfficiencyEvaluator
from agent_eval.metrics.response_match import ResponseMatchEvaluator
from agent_eval.metrics.trajectory import TrajectoryEvaluator
from agent_eval.schema.config import (
    INFORMATIONAL_METRICS,
    BaseCriterion,
    EvalConfig,
    HallucinationsCriterion,
    Interval,
    JudgeCriterion,
    MetricInfo,
    MetricValueInfo,
    RubricsCriterion,
    UserSimulatorCriterion,
)


@dataclass(frozen=True, slots=True)
class Metric:
    """A built-in metric: what it says of itself, and what computes it."""

    info: MetricInfo
    evaluator: type[Evaluator] | None
    """None where a judge is needed."""
    criterion_type: type[BaseCriterion] = BaseCriterion
    needs_reference: bool = False
    """Compares with the eval case's expected turns."""


def _metric(
    name: str,
    description: str,
    evaluator: type[Evaluator] | None = None,
    criterion: type[BaseCriterion] = BaseCriterion,
    *,
    best: float | None = 1.0,
    worst: float = 0.0,
    needs_reference: bool = False,
) -> Metric:
    interval = None if best is None else Interval(min_value=worst, max_value=best)
    info = MetricInfo(
        metric_name=name,
        description=description,
        metric_value_info=MetricValueInfo(interval=interval),
        requires_threshold=name not in INFORMATIONAL_METRICS,
    )
    return Metric(info, evaluator, criterion, needs_reference)


BUILT_IN = (
    _metric(
        "tool_trajectory_avg_score",
        "Share of turns whose tool calls match the expected ones.",
        TrajectoryEvaluator,
        TrajectoryEvaluator.criterion_type,
        needs_reference=True,
    ),
    _metric(
        "response_match_score",
        "ROUGE-1 between the final response and the expected one.",
        ResponseMatchEvaluator,
        needs_reference=True,
    ),
    _metric(
        "final_response_match_v2",
        "Does the final response say what the expected one says? Judged.",
        criterion=JudgeCriterion,
        needs_reference=True,
    ),
    _metric(
        "rubric_based_final_response_quality_v1",
        "Share of rubrics that the final response meets. Judged.",
        criterion=RubricsCriterion,
    ),
    _metric(
        "rubric_based_tool_use_quality_v1",
        "Share of rubrics that the tool calls meet. Judged.",
        criterion=RubricsCriterion,
    ),
    _metric(
        "rubric_based_multi_turn_trajectory_quality_v1",
        "Share of rubrics that the whole conversation meets. Judged.",
        criterion=RubricsCriterion,
    ),
    _metric(
        "hallucinations_v1",
        "Share of sentences that the agent's context supports. Judged.",
        criterion=HallucinationsCriterion,
    ),
    _metric("safety_v1", "Is the response harmless? Judged.", criterion=JudgeCriterion),
    _metric(
        "response_evaluation_score",
        "Quality of the final response against the expected one, 1 to 5. Judged.",
        criterion=JudgeCriterion,
        worst=1.0,
        best=5.0,
        needs_reference=True,
    ),
    _metric(
        "multi_turn_task_success_v1",
        "Did the conversation reach the user's goal? Judged.",
        criterion=JudgeCriterion,
    ),
    _metric(
        "multi_turn_trajectory_quality_v1",
        "Was the way there a good one? Judged.",
        criterion=JudgeCriterion,
    ),
    _metric(
        "multi_turn_tool_use_quality_v1",
        "Were tools used well over the conversation? Judged.",
        criterion=JudgeCriterion,
    ),
    _metric(
        "per_turn_user_simulator_quality_v1",
        "Share of simulated user turns that keep to the scenario. Judged.",
        criterion=UserSimulatorCriterion,
    ),
    _metric("tool_call_count_v1", "Tool calls a turn.", EfficiencyEvaluator, best=None),
    _metric("inference_call_count_v1", "Model calls a turn.", EfficiencyEvaluator, best=None),
    _metric("token_usage_v1", "Tokens a turn, by kind.", EfficiencyEvaluator, best=None),
    _metric("invocation_duration_v1", "Seconds a turn, by where they went.", EfficiencyEvaluator, best=None),
)

_BY_NAME = {metric.info.metric_name: metric for metric in BUILT_IN}


@dataclass(frozen=True, slots=True)
class ConfiguredMetric:
    """A metric of one evaluation: what the config says, and how to build what computes it."""

    eval_metric: EvalMetric
    info: MetricInfo
    build: Callable[[], Evaluator] | None
    """None where a judge is needed."""
    needs_reference: bool = False

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.eval_metric.metric_name

    @property
    def gates(self) -> bool:
        """Whether the metric has a threshold and so a part in the verdict."""
        return self.eval_metric.criterion is not None


def configured_metrics(
    config: EvalConfig, *, code_folders: tuple[Path, ...] = (), file: str | None = None
) -> list[ConfiguredMetric]:
    """The metrics of a config in its order, then the informational ones.

    Args:
        config: the eval config.
        code_folders: where the code of custom metrics is looked for, besides installed packages.
        file: the config's name, for errors.

    Raises:
        InputError: metrics that are not known, cannot be imported, or whose options do not fit;
            all of them together.
    """
    metrics: list[ConfiguredMetric] = []
    problems: list[Problem] = []
    for name in config.criteria:
        try:
            metrics.append(_configured(config, name, code_folders))
        except InputError as error:
            problems += [
                Problem(p.message, file, p.path or f"criteria.{name}", p.line, p.hint) for p in error.problems
            ]
    if problems:
        raise InputError(*problems)
    given = {metric.name for metric in metrics}
    return metrics + [_always_on(name) for name in INFORMATIONAL_METRICS if name not in given]


def _always_on(name: str) -> ConfiguredMetric:
    metric = EvalMetric(metric_name=name)
    return ConfiguredMetric(metric, _BY_NAME[name].info, lambda: EfficiencyEvaluator(metric))


def _configured(config: EvalConfig, name: str, code_folders: tuple[Path, ...]) -> ConfiguredMetric:
    criterion = config.criterion(name)
    custom = (config.custom_metrics or {}).get(name)
    if custom:
        eval_metric = EvalMetric(
            metric_name=name,
            threshold=criterion.threshold,
            criterion=criterion,
            custom_function_path=custom.code_config.name,
        )
        function = import_metric(
            custom.code_config.name, code_folders, f"custom_metrics.{name}.code_config.name"
        )
        return ConfiguredMetric(
            eval_metric, custom.info(name), lambda: CustomFunctionEvaluator(eval_metric, function)
        )
    metric = _BY_NAME.get(name)
    if metric is None:
        raise InputError(
            Problem(
                f"`{name}` is neither a metric nor declared in `custom_metrics`",
                hint=did_you_mean(name, _BY_NAME) or "`agent-eval run --help` lists the metrics",
            )
        )
    if name in INFORMATIONAL_METRICS:
        raise InputError(
            Problem(
                f"`{name}` is always reported and never gates: it takes no threshold",
                hint="remove it from `criteria`",
            )
        )
    typed = _typed_criterion(name, criterion, metric.criterion_type)
    eval_metric = EvalMetric(metric_name=name, threshold=typed.threshold, criterion=typed)
    evaluator = metric.evaluator
    build = None if evaluator is None else lambda: evaluator(eval_metric)
    return ConfiguredMetric(eval_metric, metric.info, build, metric.needs_reference)


def _typed_criterion(name: str, criterion: BaseCriterion, wanted: type[BaseCriterion]) -> BaseCriterion:
    try:
        typed = wanted.model_validate(criterion.model_dump())
    except ValidationError as error:
        raise InputError(
            *(
                Problem(
                    f"{detail['msg']}, got {detail['input']!r:.80}",
                    path=".".join(["criteria", name, *map(str, detail["loc"])]),
                )
                for detail in error.errors(include_url=False)
            )
        ) from None
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
