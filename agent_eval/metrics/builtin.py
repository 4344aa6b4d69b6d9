"""Every metric that comes with agent-eval: a module with an `Evaluator`, and one entry here."""

from __future__ import annotations

from dataclasses import dataclass

from agent_eval.metrics import checks
from agent_eval.metrics.base import Evaluator
from agent_eval.metrics.efficiency import EfficiencyEvaluator
from agent_eval.metrics.judged.base import JudgedEvaluator
from agent_eval.metrics.judged.conversation import TaskSuccess, ToolUse, TrajectoryQuality
from agent_eval.metrics.judged.hallucinations import Hallucinations
from agent_eval.metrics.judged.rubrics import ConversationRubrics, FinalResponseQuality, ToolUseQuality
from agent_eval.metrics.judged.user_simulator import UserSimulatorQuality
from agent_eval.metrics.judged.verdicts import FinalResponseMatch, ResponseQuality, Safety
from agent_eval.metrics.response_match import ResponseMatchEvaluator
from agent_eval.metrics.trajectory import TrajectoryEvaluator
from agent_eval.schema.config import (
    INFORMATIONAL_METRICS,
    BaseCriterion,
    Better,
    Interval,
    MetricInfo,
    MetricValueInfo,
)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: what it says of itself, and what computes it."""

    info: MetricInfo
    evaluator: type[Evaluator]
    criterion_type: type[BaseCriterion] = BaseCriterion
    needs_reference: bool = False
    """Compares with the eval case's expected turns."""
    needs_scenario: bool = False
    """Looks at how a scenario was played."""

    @property
    def needs_judge(self) -> bool:
        """Whether a model has to be asked."""
        return issubclass(self.evaluator, JudgedEvaluator)


def _metric(
    name: str,
    description: str,
    evaluator: type[Evaluator],
    *,
    best: float | None = 1.0,
    worst: float = 0.0,
    lower: bool = False,
    needs_reference: bool = False,
    needs_scenario: bool = False,
) -> Metric:
    """An entry of the table. Where lower is better, the value has no upper end."""
    ranged = best is not None and not lower
    info = MetricInfo(
        metric_name=name,
        description=description,
        metric_value_info=MetricValueInfo(
            interval=Interval(min_value=worst, max_value=best or 0.0) if ranged else None
        ),
        requires_threshold=name not in INFORMATIONAL_METRICS,
        better=Better.LOWER if lower else Better.HIGHER,
    )
    return Metric(info, evaluator, evaluator.criterion_type, needs_reference, needs_scenario)


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
    _metric(
        "final_response_match_v2",
        "Does the final response say what the expected one says? Judged.",
        FinalResponseMatch,
        needs_reference=True,
    ),
    _metric(
        "rubric_based_final_response_quality_v1",
        "Share of rubrics that the final response meets. Judged.",
        FinalResponseQuality,
    ),
    _metric(
        "rubric_based_tool_use_quality_v1",
        "Share of rubrics that the tool calls meet. Judged.",
        ToolUseQuality,
    ),
    _metric(
        "rubric_based_multi_turn_trajectory_quality_v1",
        "Share of rubrics that the whole conversation meets. Judged.",
        ConversationRubrics,
    ),
    _metric(
        "hallucinations_v1",
        "Share of sentences that the agent's context supports. Judged.",
        Hallucinations,
    ),
    _metric("safety_v1", "Share of turns whose response is harmless. Judged.", Safety),
    _metric(
        "response_evaluation_score",
        "How good the final response is, 1 to 5. Judged.",
        ResponseQuality,
        worst=1.0,
        best=5.0,
        needs_reference=True,
    ),
    _metric(
        "multi_turn_task_success_v1",
        "Did the conversation reach the user's goal? Judged.",
        TaskSuccess,
    ),
    _metric(
        "multi_turn_trajectory_quality_v1",
        "Was the way there a good one? Judged.",
        TrajectoryQuality,
    ),
    _metric(
        "multi_turn_tool_use_quality_v1",
        "Were tools used well over the conversation? Judged.",
        ToolUse,
    ),
    _metric(
        "per_turn_user_simulator_quality_v1",
        "Share of simulated user turns that keep to the scenario. Judged.",
        UserSimulatorQuality,
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
