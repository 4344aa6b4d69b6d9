"""The form of ADK's result files: what is read of them, and the numbers that stand for statuses.

A key that a version of ADK lacks has a default, and keys that are not here are passed over.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator
from pydantic.alias_generators import to_snake
from pydantic_core import PydanticCustomError

from agent_eval import serde
from agent_eval.clock import LAST_MOMENT
from agent_eval.schema.base import Many, Value
from agent_eval.schema.config import INFORMATIONAL_METRICS, BaseCriterion
from agent_eval.schema.multi_run import MultiRunConfig
from agent_eval.schema.result import InvocationScore, RubricScore
from agent_eval.schema.trace import EvalStatus, Invocation

STATUS_NUMBERS = {
    EvalStatus.PASSED: 1,
    EvalStatus.FAILED: 2,
    EvalStatus.NOT_EVALUATED: 3,
    EvalStatus.INFORMATIONAL: 4,
}
"""How ADK writes a status."""

_STATUSES = {number: status for status, number in STATUS_NUMBERS.items()}


def _status(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value in _STATUSES:
        return _STATUSES[value]
    raise PydanticCustomError(
        "adk_status",
        "{given} is no status; ADK has the numbers {known}",
        {
            "given": serde.to_json(value).decode()[:60],
            "known": ", ".join(f"{number} ({status.value})" for number, status in _STATUSES.items()),
        },
    )


def _criterion(value: object) -> object:
    """Read by itself, as it keeps keys that it does not know where everything else drops them."""
    return BaseCriterion.model_validate(value) if isinstance(value, dict) else value


class AdkDetails(Value):
    """What is behind a metric's value."""

    rubric_scores: Many[RubricScore] | None = None
    token_usage_details: dict[str, float | None] | None = None
    duration_details: dict[str, float | None] | None = None

    def numbers(self) -> dict[str, float] | None:
        """The parts of the value that there are."""
        parts = self.token_usage_details or self.duration_details or {}
        return {to_snake(key): value for key, value in parts.items() if value is not None} or None


class AdkMetric(Value):
    """A metric's value: an object, or in older versions a pair of the metric and its result."""

    metric_name: str
    threshold: float | None = None
    criterion: Annotated[SerializeAsAny[BaseCriterion], BeforeValidator(_criterion)] | None = None
    score: float | None = None
    eval_status: Annotated[EvalStatus, BeforeValidator(_status)]
    details: AdkDetails | None = None
    custom_function_path: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_pair(cls, data: Any) -> Any:
        if isinstance(data, list) and len(data) == 2 and all(isinstance(item, dict) for item in data):
            metric, result = data
            return {**result, **metric}
        return data

    @property
    def status(self) -> EvalStatus:
        """The status; a metric without a threshold that never gates does not fail to, either."""
        gates = self.metric_name not in INFORMATIONAL_METRICS or self.held_against() is not None
        return self.eval_status if gates else EvalStatus.INFORMATIONAL

    def held_against(self) -> BaseCriterion | None:
        """The criterion, made of the threshold where there is only that."""
        if self.criterion is None and self.threshold is not None:
            return BaseCriterion(threshold=self.threshold)
        return self.criterion

    def of_turn(self) -> InvocationScore:
        """The value as that of one turn."""
        return InvocationScore(
            score=self.score,
            status=self.status,
            rubric_scores=self.details and self.details.rubric_scores,
            details=self.details and self.details.numbers(),
        )


class AdkRow(Value):
    """One turn: what was done, what was expected, what each metric says."""

    actual_invocation: Invocation
    expected_invocation: Invocation | None = None
    eval_metric_results: Many[AdkMetric] = []

    def score_of(self, metric_name: str) -> InvocationScore | None:
        """A metric's value for this turn."""
        found = (metric for metric in self.eval_metric_results if metric.metric_name == metric_name)
        return next((metric.of_turn() for metric in found), None)


class AdkEvent(Value):
    """What an event says of an error; its conversation is in the turns."""

    error_code: str | None = None
    error_message: str | None = None


class AdkSession(Value):
    """The session at the end of a run."""

    id: str = ""
    app_name: str = ""
    user_id: str = ""
    state: dict[str, Any] = {}
    events: Many[AdkEvent] = []


class AdkCaseResult(Value):
    """One run of a case."""

    eval_id: str
    final_eval_status: Annotated[EvalStatus, BeforeValidator(_status)]
    overall_eval_metric_results: Many[AdkMetric] | None = None
    eval_metric_results: Many[AdkMetric] | None = None
    """Where older versions have the overall results."""
    eval_metric_result_per_invocation: Many[AdkRow] | None = None
    session_id: str = ""
    session_details: AdkSession | None = None
    user_id: str | None = None

    @property
    def metrics(self) -> list[AdkMetric]:
        """The overall results."""
        return self.overall_eval_metric_results or self.eval_metric_results or []

    @property
    def rows(self) -> list[AdkRow]:
        """The turns."""
        return self.eval_metric_result_per_invocation or []

    @property
    def is_crashed(self) -> bool:
        """Whether the run broke off, which ADK writes as a failure without any metric."""
        return self.final_eval_status is EvalStatus.FAILED and not self.metrics and not self.rows


class Origin(Value):
    """What ADK's form has no place for, under a key of our own that ADK passes over."""

    multi_run_config: MultiRunConfig = MultiRunConfig()
    """How the runs of a case become its verdict."""
    seed: int = 0


class AdkEvalSetResult(Value):
    """A whole file."""

    eval_set_result_id: str = ""
    eval_set_id: str
    eval_case_results: Annotated[Many[AdkCaseResult], Field(min_length=1)]
    creation_timestamp: Annotated[float, Field(ge=0, le=LAST_MOMENT)] = 0.0
    agent_eval: Origin | None = None
    """Only in files that agent-eval wrote."""
