"""Every metric that comes with agent-eval: a module with an `Evaluator`, and one entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from agent_eval.metrics import checks
from agent_eval.metrics.base import Evaluator
from agent_eval.metrics.efficiency import EfficiencyEvaluator
from agent_eval.metrics.response_match import ResponseMatchEvaluator
from agent_eval.metrics.trajectory import TrajectoryEvaluator
from agent_eval.schema.config import (
    INFORMATIONAL_METRICS,
    BackendCriterion,
    BaseCriterion,
    Better,
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
    """A metric: what it says of itself, and what computes it."""

    info: MetricInfo
    load: Callable[[], type[Evaluator]]
    """Gives what computes it."""
    criterion_type: type[BaseCriterion] = BaseCriterion
    needs_reference: bool = False
    """Compares with the eval case's expected turns."""
    needs_scenario: bool = False
    """Looks at how a scenario was played."""
    needs_judge: bool = False
    """Asks a model."""


def _metric(
    name: str,
    description: str,
    evaluator: type[Evaluator],
    *,
    best: float | None = 1.0,
    lower: bool = False,
    needs_reference: bool = False,
) -> Metric:
    """An entry of the table. Where lower is better, the value has no upper end."""
    interval = None if best is None or lower else Interval(min_value=0.0, max_value=best)
    info = MetricInfo(
        metric_name=name,
        description=description,
        metric_value_info=MetricValueInfo(interval=interval),
        requires_threshold=name not in INFORMATIONAL_METRICS,
        better=Better.LOWER if lower else Better.HIGHER,
    )
    return Metric(info, lambda: evaluator, evaluator.criterion_type, needs_reference)


def _judged(
    name: str,
    description: str,
    home: str,
    criterion: type[JudgeCriterion],
    *,
    interval: tuple[float, float] = (0.0, 1.0),
    needs_reference: bool = False,
    needs_scenario: bool = False,
) -> Metric:
    """An entry for a metric that asks a judge. Its module below `judged` is imported only for it."""
    info = MetricInfo(
        metric_name=name,
        description=f"{description} Judged.",
        metric_value_info=MetricValueInfo(interval=Interval(min_value=interval[0], max_value=interval[1])),
        better=Better.HIGHER,
    )

    def load() -> type[Evaluator]:
        module, _, attribute = home.partition(".")
        found: type[Evaluator] = getattr(import_module(f"agent_eval.metrics.judged.{module}"), attribute)
        return found

    return Metric(info, load, criterion, needs_reference, needs_scenario, needs_judge=True)


BUILT_IN = (
    _metric(
        "tool_trajectory_avg_score",
        "Share of turns whose tool calls match the expected ones.",
        TrajectoryEvaluator,
        needs_reference=True,
    ),
    _metric(
        "response_match_score",
        "ROUGE-1 between the final response and the expected one.",
        ResponseMatchEvaluator,
        needs_reference=True,
    ),
    _judged(
        "final_response_match_v2",
        "Does the final response say what the expected one says?",
        "verdicts.FinalResponseMatch",
        JudgeCriterion,
        needs_reference=True,
    ),
    _judged(
        "rubric_based_final_response_quality_v1",
        "Share of rubrics that the final response meets.",
        "rubrics.FinalResponseQuality",
        RubricsCriterion,
    ),
    _judged(
        "rubric_based_tool_use_quality_v1",
        "Share of rubrics that the tool calls meet.",
        "rubrics.ToolUseQuality",
        RubricsCriterion,
    ),
    _judged(
        "rubric_based_multi_turn_trajectory_quality_v1",
        "Share of rubrics that the whole conversation meets.",
        "rubrics.ConversationRubrics",
        RubricsCriterion,
    ),
    _judged(
        "hallucinations_v1",
        "Share of sentences that the agent's context supports.",
        "hallucinations.Hallucinations",
        HallucinationsCriterion,
    ),
    _judged("safety_v1", "Is the response harmless?", "verdicts.Safety", BackendCriterion),
    _judged(
        "response_evaluation_score",
        "How coherent the final response is, 1 to 5.",
        "verdicts.ResponseCoherence",
        BackendCriterion,
        interval=(1.0, 5.0),
    ),
    _judged(
        "multi_turn_task_success_v1",
        "Did the conversation reach the user's goal?",
        "conversation.TaskSuccess",
        BackendCriterion,
    ),
    _judged(
        "multi_turn_trajectory_quality_v1",
        "Was the way there a good one?",
        "conversation.TrajectoryQuality",
        BackendCriterion,
    ),
    _judged(
        "multi_turn_tool_use_quality_v1",
        "Were tools used well over the conversation?",
        "conversation.ToolUse",
        BackendCriterion,
    ),
    _judged(
        "per_turn_user_simulator_quality_v1",
        "Share of simulated user turns that keep to the scenario.",
        "user_simulator.UserSimulatorQuality",
        UserSimulatorCriterion,
        needs_scenario=True,
    ),
    _metric(
        "final_session_state_v1",
        "Is the final state as `final_session_state` of the case says?",
        checks.FinalSessionState,
    ),
    _metric(
        "response_contains_v1", "Share of the given texts that responses contain.", checks.ResponseContains
    ),
    _metric(
        "response_regex_v1", "Share of responses in which the expression is found.", checks.ResponseRegex
    ),
    _metric(
        "response_json_schema_v1",
        "Share of responses that are JSON of the schema.",
        checks.ResponseJsonSchema,
    ),
    _metric(
        "response_numbers_v1",
        "Share of the expected response's numbers that the response has.",
        checks.ResponseNumbers,
        needs_reference=True,
    ),
    _metric("required_tools_v1", "Share of the given tools that were called.", checks.RequiredTools),
    _metric("forbidden_tools_v1", "Was none of the given tools called?", checks.ForbiddenTools),
    _metric("tool_args_v1", "Share of tool calls with arguments as given.", checks.ToolArgs),
    _metric("max_tool_calls_v1", "Tool calls of the conversation, at most.", checks.MaxToolCalls, lower=True),
    _metric("max_turns_v1", "Turns of the conversation, at most.", checks.MaxTurns, lower=True),
    _metric("max_duration_v1", "Seconds the agent takes, at most.", checks.MaxDuration, lower=True),
    _metric("max_tokens_v1", "Tokens the agent uses, at most.", checks.MaxTokens, lower=True),
    _metric("max_cost_v1", "Price of the tokens the agent uses, at most.", checks.MaxCost, lower=True),
    _metric("tool_call_count_v1", "Tool calls a turn.", EfficiencyEvaluator, best=None, lower=True),
    _metric("inference_call_count_v1", "Model calls a turn.", EfficiencyEvaluator, best=None, lower=True),
    _metric("token_usage_v1", "Tokens a turn, by kind.", EfficiencyEvaluator, best=None, lower=True),
    _metric(
        "invocation_duration_v1",
        "Seconds a turn, by where they went.",
        EfficiencyEvaluator,
        best=None,
        lower=True,
    ),
)
