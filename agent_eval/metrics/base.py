"""What a metric is: an `Evaluator` that turns invocations into an `EvaluationResult`.

Names, fields and call shapes are ADK's, so that metrics written for it work here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, SerializeAsAny
from pydantic.alias_generators import to_camel

from agent_eval.schema.config import BaseCriterion
from agent_eval.schema.evalset import ConversationScenario, EvalCase
from agent_eval.schema.result import JudgeUsage, RubricScore
from agent_eval.schema.trace import EvalStatus, Invocation


class EvalMetric(BaseModel):
    """A metric as configured: its name, threshold and criterion."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    metric_name: str
    threshold: float | None = None
    criterion: SerializeAsAny[BaseCriterion] | None = None
    custom_function_path: str | None = None


_BY_NUMBER = {
    1: EvalStatus.PASSED,
    2: EvalStatus.FAILED,
    3: EvalStatus.NOT_EVALUATED,
    4: EvalStatus.INFORMATIONAL,
}


def _status(value: object) -> object:
    """A status as ADK takes it: an `EvalStatus` or its number, and no text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _BY_NUMBER.get(value, value)
    if isinstance(value, str) and not isinstance(value, EvalStatus):
        raise ValueError("expected an EvalStatus, such as EvalStatus.PASSED")
    return value


Status = Annotated[EvalStatus, BeforeValidator(_status)]


def threshold_of(eval_metric: EvalMetric) -> float:
    """The threshold a metric is configured with.

    Raises:
        ValueError: it was configured without one.
    """
    if eval_metric.criterion is not None:
        return eval_metric.criterion.threshold
    if eval_metric.threshold is None:
        raise ValueError(f"`{eval_metric.metric_name}` needs a threshold.")
    return eval_metric.threshold


class PerInvocationResult(BaseModel):
    """A metric's value for one turn."""

    actual_invocation: Invocation | None = None
    expected_invocation: Invocation | None = None
    score: float | None = None
    eval_status: Status = EvalStatus.NOT_EVALUATED
    rationale: str | None = None
    """Why, in the judge's words."""
    rubric_scores: list[RubricScore] | None = None
    details: dict[str, float | None] | None = None


class EvaluationResult(BaseModel):
    """A metric's value for one run. The default means: not evaluated."""

    overall_score: float | None = None
    overall_eval_status: Status = EvalStatus.NOT_EVALUATED
    per_invocation_results: list[PerInvocationResult] = []
    overall_rubric_scores: list[RubricScore] | None = None
    reason: str | None = None
    """Why it was not evaluated."""
    warnings: list[str] = []
    """What to know of the score, whatever it is."""
    judge: JudgeUsage | None = None
    details: dict[str, float | None] | None = None


@dataclass(frozen=True, slots=True)
class RunContext:
    """A finished run, as metrics see it."""

    case: EvalCase
    invocations: list[Invocation]
    """The turns as the agent did them."""
    state: Mapping[str, Any]
    """The session's state at the end."""
    context: Sequence[Invocation] = ()
    """Turns before those, which are not scored."""


class Evaluator(ABC):
    """Computes one metric. Built once an evaluation with the metric as configured."""

    criterion_type: ClassVar[type[BaseCriterion]] = BaseCriterion
    """The criterion's model; the config's object is validated by it before anything runs."""

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._eval_metric = eval_metric

    @classmethod
    def criterion_problems(cls, criterion: BaseCriterion) -> Iterable[str]:
        """What no case can be scored by, though the criterion has the right form."""
        return ()

    @classmethod
    def case_problems(cls, criterion: BaseCriterion, case: EvalCase) -> Iterable[str]:
        """What keeps a case from being scored by the criterion, as far as it can be told before it runs."""
        return ()

    @property
    def threshold(self) -> float:
        """The configured threshold.

        Raises:
            ValueError: the metric was configured without one.
        """
        return threshold_of(self._eval_metric)

    def evaluate_run(self, run: RunContext) -> EvaluationResult | Awaitable[EvaluationResult]:
        """Scores one run; the place for metrics that need more of it than its turns."""
        return self.evaluate_invocations(
            run.invocations, run.case.conversation, run.case.conversation_scenario
        )

    async def aclose(self) -> None:
        """Gives back what the evaluator holds; called once, at the end of the evaluation."""
        return

    @abstractmethod
    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult | Awaitable[EvaluationResult]:
        """Scores one run.

        Args:
            actual_invocations: the turns as the agent did them.
            expected_invocations: the turns as the eval case has them; None for a scenario.
            conversation_scenario: the scenario that was played, if one was.
        """


def paired_turns(
    actual: list[Invocation], expected: list[Invocation] | None
) -> list[tuple[Invocation, Invocation]]:
    """Each actual turn with the expected one.

    Raises:
        ValueError: there is nothing expected, or not as many turns.
    """
    if expected is None:
        raise ValueError("this metric compares with expected turns, and the case has none.")
    if len(actual) != len(expected):
        raise ValueError(f"the agent took {len(actual)} turns where {len(expected)} are expected.")
    return list(zip(actual, expected, strict=True))


def mean_over_turns(scores: list[float], threshold: float) -> EvaluationResult:
    """Each turn and their mean against one threshold; higher is better. No turns: not evaluated."""
    if not scores:
        return EvaluationResult()

    def status(score: float) -> EvalStatus:
        return EvalStatus.PASSED if score >= threshold else EvalStatus.FAILED

    overall = sum(scores) / len(scores)
    return EvaluationResult(
        overall_score=overall,
        overall_eval_status=status(overall),
        per_invocation_results=[
            PerInvocationResult(score=score, eval_status=status(score)) for score in scores
        ],
    )
