"""Eval configs: criteria, custom metrics, and who plays the user."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SerializeAsAny,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from agent_eval.schema.base import Value, checked_by_sdk
from agent_eval.schema.multi_run import MultiRunConfig
from agent_eval.schema.tools import ToolConfirmation, ToolMocks
from agent_eval.schema.trace import Rubric

INFORMATIONAL_METRICS = (
    "tool_call_count_v1",
    "inference_call_count_v1",
    "token_usage_v1",
    "invocation_duration_v1",
)
"""Always computed, never a gate, and so never in `criteria`."""

STOP_SIGNAL = "</finished>"
"""What a simulated user says when the conversation is over, in any case; it is never sent to the agent."""

FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]


class OpenValue(Value):
    """A value that keeps keys it does not know."""

    model_config = ConfigDict(extra="allow")


def _generation_config(value: dict[str, Any]) -> dict[str, Any]:
    return checked_by_sdk("GenerateContentConfig", value) if value else value


GenerationConfig = Annotated[dict[str, Any], AfterValidator(_generation_config)]
"""Model settings with the keys of `google.genai.types.GenerateContentConfig`."""


class JudgeModelOptions(Value):
    """Which model judges, how, and how often it is asked."""

    judge_model: str = "gemini-2.5-flash"
    judge_model_config: GenerationConfig | None = None
    num_samples: int = Field(5, ge=1)
    """Votes for one verdict."""
    parallelism_limit: int = Field(1, ge=1)
    """Judge calls under way at once for one metric of one run."""


class BaseCriterion(OpenValue):
    """What every metric's criterion has; keys of its own come on top."""

    threshold: FiniteFloat
    include_intermediate_responses_in_final: bool = False
    """Judge the text said before and between tool calls together with the final response."""


class JudgeCriterion(BaseCriterion):
    """The criterion of a metric that a judge scores."""

    judge_model_options: JudgeModelOptions = JudgeModelOptions()


class Backend(StrEnum):
    """Who scores a metric that Vertex AI has too."""

    JUDGE = "judge"
    VERTEX = "vertex"


class BackendCriterion(JudgeCriterion):
    """The criterion of a metric that a judge scores, or Vertex AI through google-adk."""

    backend: Backend = Backend.JUDGE


class RubricsCriterion(JudgeCriterion):
    """The criterion of a metric that a judge scores by rubrics."""

    rubrics: list[Rubric] = []


class OneSampleOptions(JudgeModelOptions):
    """Options of a metric whose judge is asked once unless told otherwise, as in ADK."""

    num_samples: int = Field(1, ge=1)


class HallucinationsCriterion(JudgeCriterion):
    """The criterion of `hallucinations_v1`."""

    judge_model_options: OneSampleOptions = OneSampleOptions()
    evaluate_intermediate_nl_responses: bool = False
    """Check what was said on the way too, not only the final response."""


class UserSimulatorCriterion(JudgeCriterion):
    """The criterion of `per_turn_user_simulator_quality_v1`."""

    stop_signal: str = STOP_SIGNAL


class MatchType(StrEnum):
    """How the tool calls of a turn must match the expected ones.

    With `[look_up, refund]` expected:

    EXACT: the same calls, in the same order, and no others. `[look_up, refund]` matches,
        `[look_up, log, refund]` does not.
    IN_ORDER: the expected calls in their order, with others allowed in between.
        `[look_up, log, refund]` matches, `[refund, look_up]` does not.
    ANY_ORDER: every expected call, in any order, with others allowed. `[refund, log, look_up]`
        matches, `[refund, refund]` does not.
    """

    EXACT = "EXACT"
    IN_ORDER = "IN_ORDER"
    ANY_ORDER = "ANY_ORDER"


def _match_type(value: object) -> object:
    """`in-order`, `IN ORDER` and `in_order` are the same match type; ADK's numbers are read too."""
    if isinstance(value, str):
        return value.strip().upper().replace("-", "_").replace(" ", "_")
    if isinstance(value, (int, float)) and value in (0, 1, 2):
        return list(MatchType)[int(value)]
    return value


class TrajectoryCriterion(BaseCriterion):
    """The criterion of `tool_trajectory_avg_score`."""

    match_type: Annotated[MatchType, BeforeValidator(_match_type)] = MatchType.EXACT
    ignore_args: bool | Annotated[list[str], Field(min_length=1)] = False
    """Compare names only, or leave these arguments out."""


class Interval(Value):
    """The range of a metric's values; closed unless said otherwise."""

    min_value: float
    open_at_min: bool = False
    max_value: float
    open_at_max: bool = False


class MetricValueInfo(Value):
    """What a metric's values look like; no interval means any number."""

    interval: Interval | None = None


class Better(StrEnum):
    """Which scores of a metric are better."""

    HIGHER = "higher"
    LOWER = "lower"


class MetricInfo(Value):
    """What is known of a metric without running it."""

    metric_name: str
    description: str | None = None
    metric_value_info: MetricValueInfo
    requires_threshold: bool = True
    better: Better | None = None
    """Not said: it is told from how the evaluator judges."""


class CodeConfig(BaseModel):
    """A dotted path to the code of a metric."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str


class CustomMetricConfig(Value):
    """A metric of the user's own. Unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    code_config: CodeConfig
    metric_info: MetricInfo | None = None
    description: str = ""

    def info(self, metric_name: str) -> MetricInfo:
        """What is known of the metric; a range of [0, 1] is taken where the config gives none."""
        if self.metric_info:
            return self.metric_info.model_copy(update={"metric_name": metric_name})
        return MetricInfo(
            metric_name=metric_name,
            description=self.description,
            metric_value_info=MetricValueInfo(interval=Interval(min_value=0.0, max_value=1.0)),
        )


SIMULATOR_PLACEHOLDERS = ("stop_signal", "conversation_plan", "conversation_history")


def _template_with_placeholders(template: str) -> str:
    from jinja2 import TemplateSyntaxError, meta  # only configs with instructions of their own need it
    from jinja2.sandbox import SandboxedEnvironment

    try:
        found = meta.find_undeclared_variables(SandboxedEnvironment().parse(template))
    except (TemplateSyntaxError, ValueError, RecursionError) as error:  # of huge numbers, deep nesting
        raise PydanticCustomError(
            "template_syntax", "not a Jinja template: {reason}", {"reason": str(error)}
        ) from None
    missing = [name for name in SIMULATOR_PLACEHOLDERS if name not in found]
    if missing:
        raise PydanticCustomError(
            "template_placeholders",
            "the instructions lack {missing}",
            {"missing": ", ".join(f"{{{{ {name} }}}}" for name in missing)},
        )
    return template


DEFAULT_MAX_INVOCATIONS = 20


class ModelSimulatorConfig(OpenValue):
    """A simulated user whose turns a model writes."""

    model: str = "gemini-2.5-flash"
    model_configuration: GenerationConfig = {
        "thinking_config": {"include_thoughts": True, "thinking_budget": 10240}
    }
    max_allowed_invocations: int = DEFAULT_MAX_INVOCATIONS
    """Turns at most, the opening included; -1 for no limit."""
    custom_instructions: Annotated[str, AfterValidator(_template_with_placeholders)] | None = None
    include_function_calls: bool = False
    """Show the player the agent's tool calls too."""


class LlmBackedSimulatorConfig(ModelSimulatorConfig):
    """A simulated user who writes."""

    type: Literal["llm_backed"] = "llm_backed"


class LlmAudioSimulatorConfig(ModelSimulatorConfig):
    """A simulated user who speaks."""

    type: Literal["llm_audio"] = "llm_audio"


def _expression(given: str) -> str:
    try:
        re.compile(given)
    except re.error as error:
        raise PydanticCustomError(
            "bad_expression",
            "`{given}` is no regular expression: {reason}",
            {"given": given, "reason": str(error)},
        ) from None
    return given


class ScriptedTurn(Value):
    """What a scripted user says, and to which answers. A text alone is said to any."""

    say: str
    when: Annotated[str, AfterValidator(_expression)] | None = None
    """An expression that is found in the agent's last answer, in any case."""

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, data: object) -> object:
        return {"say": data} if isinstance(data, str) else data


class ScriptedSimulatorConfig(Value):
    """A simulated user without a model: says what its turns say, each of them once."""

    type: Literal["scripted"]
    turns: Annotated[list[ScriptedTurn], Field(min_length=1)]
    """After each answer, the first one that was not said yet and fits the answer."""
    max_allowed_invocations: int = DEFAULT_MAX_INVOCATIONS
    """Turns at most, the opening included; -1 for no limit."""


SimulatorConfig = LlmBackedSimulatorConfig | LlmAudioSimulatorConfig | ScriptedSimulatorConfig


class LiveModelConfig(Value):
    """Settings of live (bidirectional streaming) models. Unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    timeout_seconds: int = 300


def _criterion_form(value: object) -> str:
    return "object" if isinstance(value, (dict, BaseCriterion)) else "number"


Criterion = Annotated[
    Annotated[SerializeAsAny[BaseCriterion], Tag("object")] | Annotated[FiniteFloat, Tag("number")],
    Discriminator(_criterion_form),
]


class EvalConfig(Value):
    """Which metrics gate, at which thresholds. Unknown top-level keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    criteria: dict[str, Criterion] = {}
    """Metric name -> threshold, or an object with `threshold` and the metric's own keys."""
    custom_metrics: dict[str, CustomMetricConfig] | None = None
    user_simulator_config: Annotated[SimulatorConfig, Field(discriminator="type")] | None = None
    live_model_config: LiveModelConfig | None = None
    multi_run_config: MultiRunConfig = MultiRunConfig()
    tool_mocks: ToolMocks | None = None
    tool_confirmation: ToolConfirmation = ToolConfirmation.FAIL

    @model_validator(mode="before")
    @classmethod
    def _default_simulator_type(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in ("user_simulator_config", "userSimulatorConfig"):
                inner = data.get(key)
                if isinstance(inner, dict) and inner.get("type") is None:
                    data = {**data, key: {**inner, "type": "llm_backed"}}
        return data

    def criterion(self, metric_name: str) -> BaseCriterion:
        """The metric's criterion as an object, also where the config gives a bare number."""
        given = self.criteria[metric_name]
        return given if isinstance(given, BaseCriterion) else BaseCriterion(threshold=given)


DEFAULT_CONFIG = EvalConfig(criteria={"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8})
