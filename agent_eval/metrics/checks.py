"""Ready-made checks that need no judge: final state, texts, tools, limits.

Each one's options are keys of its criterion, the same for every case of the eval set.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from agent_eval import serde
from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator, RunContext, mean_over_turns
from agent_eval.metrics.efficiency import duration_details, token_details
from agent_eval.schema.config import BaseCriterion
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.patterns import checked_pattern, is_close, matches
from agent_eval.schema.trace import EvalStatus, FunctionCall, Invocation, get_all_tool_calls


def _regex(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise PydanticCustomError(
            "regex", "no regular expression: {reason}", {"reason": str(error)}
        ) from None
    return pattern


Regex = Annotated[str, AfterValidator(_regex)]
Texts = Annotated[list[str], Field(min_length=1)]


class ContainsCriterion(BaseCriterion):
    """`response_contains_v1`: the texts that each response must contain."""

    texts: Texts
    case_sensitive: bool = False


class RegexCriterion(BaseCriterion):
    """`response_regex_v1`: the expression that must be found in each response."""

    pattern: Regex


class JsonSchemaCriterion(BaseCriterion):
    """`response_json_schema_v1`: the JSON Schema that each response, read as JSON, must meet."""

    json_schema: dict[str, Any]


class NumbersCriterion(BaseCriterion):
    """`response_numbers_v1`: how far a number may be from the expected one."""

    tolerance: float = Field(0.0, ge=0.0)
    relative: bool = False
    """The tolerance is a share of the expected number."""


class ToolsCriterion(BaseCriterion):
    """`required_tools_v1` and `forbidden_tools_v1`: the tools, by name."""

    tools: Texts


class ToolArgsCriterion(BaseCriterion):
    """`tool_args_v1`: for each tool, the values or patterns that its arguments must have."""

    tools: dict[str, Annotated[dict[str, Any], AfterValidator(checked_pattern)]] = Field(min_length=1)


class FinalStateCriterion(BaseCriterion):
    """`final_session_state_v1`: how the final state must agree with the case's."""

    match: Literal["subset", "exact"] = "subset"


class CostCriterion(BaseCriterion):
    """`max_cost_v1`: prices for a million tokens, in whatever currency the threshold is."""

    input_price: float = Field(ge=0.0)
    output_price: float = Field(ge=0.0)


class TurnCheck(Evaluator):
    """A check of each turn alone: the mean over the turns, higher is better."""

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Scores each turn."""
        expected: list[Invocation | None] = list(expected_invocations or [])
        expected += [None] * (len(actual_invocations) - len(expected))
        scores = [
            self.score(actual, wanted) for actual, wanted in zip(actual_invocations, expected, strict=False)
        ]
        return mean_over_turns(scores, self.threshold)

    @abstractmethod
    def score(self, actual: Invocation, expected: Invocation | None) -> float:
        """One turn's score."""


def _response(invocation: Invocation) -> str:
    return invocation.final_response.text if invocation.final_response else ""


class ResponseContains(TurnCheck):
    """Share of the given texts that the response contains, the mean over turns."""

    criterion_type = ContainsCriterion

    def score(self, actual: Invocation, expected: Invocation | None) -> float:
        """Share of the texts."""
        criterion = _criterion(self._eval_metric, ContainsCriterion)
        fold = str if criterion.case_sensitive else str.casefold
        response = fold(_response(actual))
        return sum(fold(text) in response for text in criterion.texts) / len(criterion.texts)


class ResponseRegex(TurnCheck):
    """Share of turns in whose response the expression is found."""

    criterion_type = RegexCriterion

    def score(self, actual: Invocation, expected: Invocation | None) -> float:
        """1 if it is found."""
        pattern = _criterion(self._eval_metric, RegexCriterion).pattern
        return float(re.search(pattern, _response(actual)) is not None)


class ResponseJsonSchema(TurnCheck):
    """Share of turns whose response is JSON that meets the schema. A fenced block is read too."""

    criterion_type = JsonSchemaCriterion

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric)
        schema = _criterion(eval_metric, JsonSchemaCriterion).json_schema
        self._validator = serde.schema_validator(schema)
        self._validator.check_schema(schema)

    def score(self, actual: Invocation, expected: Invocation | None) -> float:
        """1 if it is JSON of the schema."""
        text = _response(actual).strip()
        if fenced := re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", text, re.DOTALL):
            text = fenced[1]
        try:
            return float(self._validator.is_valid(json.loads(text)))
        except (ValueError, RecursionError):
            return 0.0


_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def numbers_in(text: str) -> list[float]:
    """The numbers in a text, thousands separated by commas or not."""
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


class ResponseNumbers(TurnCheck):
    """Share of the expected response's numbers that the response has, within a tolerance.

    Each number of the response stands for one expected number. A turn that expects none scores 1.
    """

    criterion_type = NumbersCriterion

    def score(self, actual: Invocation, expected: Invocation | None) -> float:
        """Share of the expected numbers."""
        criterion = _criterion(self._eval_metric, NumbersCriterion)
        if expected is None:
            raise ValueError("this metric compares with expected turns, and the case has none.")
        wanted = numbers_in(_response(expected))
        rest = numbers_in(_response(actual))
        found = 0
        for number in wanted:
            allowed = criterion.tolerance * abs(number) if criterion.relative else criterion.tolerance
            close = [other for other in rest if is_close(other, number, allowed)]
            if close:
                rest.remove(min(close, key=lambda other: abs(other - number)))
                found += 1
        return found / len(wanted) if wanted else 1.0


class RunCheck(Evaluator):
    """A check of a whole run."""

    unknown: ClassVar[str] = ""
    """Why the value cannot be told where it cannot."""

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """The run's value against the threshold."""
        value = self.value(actual_invocations)
        if value is None:
            raise ValueError(self.unknown)
        return self.result(value)

    @abstractmethod
    def value(self, invocations: list[Invocation]) -> float | None:
        """The run's value; None if it cannot be told."""

    def result(self, value: float) -> EvaluationResult:
        """A value as a result: higher is better."""
        passed = value >= self.threshold
        return EvaluationResult(
            overall_score=value, overall_eval_status=EvalStatus.PASSED if passed else EvalStatus.FAILED
        )


def _calls(invocations: Iterable[Invocation]) -> list[FunctionCall]:
    return [call for turn in invocations for call in get_all_tool_calls(turn.intermediate_data)]


class RequiredTools(RunCheck):
    """Share of the given tools that were called at least once in the conversation."""

    criterion_type = ToolsCriterion

    def value(self, invocations: list[Invocation]) -> float:
        """Share of the tools."""
        tools = _criterion(self._eval_metric, ToolsCriterion).tools
        called = {call.name for call in _calls(invocations)}
        return sum(tool in called for tool in tools) / len(tools)


class ForbiddenTools(RunCheck):
    """1 if none of the given tools was called in the conversation, else 0."""

    criterion_type = ToolsCriterion

    def value(self, invocations: list[Invocation]) -> float:
        """1 or 0."""
        forbidden = set(_criterion(self._eval_metric, ToolsCriterion).tools)
        return float(not any(call.name in forbidden for call in _calls(invocations)))


class ToolArgs(RunCheck):
    """Share of the calls to the given tools whose arguments are as they must be.

    Arguments that no pattern names do not count. No call of these tools scores 1.
    """

    criterion_type = ToolArgsCriterion

    def value(self, invocations: list[Invocation]) -> float:
        """Share of the calls."""
        tools = _criterion(self._eval_metric, ToolArgsCriterion).tools
        calls = [call for call in _calls(invocations) if call.name in tools]
        good = sum(
            all(
                key in (call.args or {}) and matches(wanted, (call.args or {})[key])
                for key, wanted in tools[call.name or ""].items()
            )
            for call in calls
        )
        return good / len(calls) if calls else 1.0


class FinalSessionState(Evaluator):
    """1 if the final state is as the case's `final_session_state` says, else 0.

    `subset` looks only at the keys that the case names, at every depth of objects; `exact` at all of
    them. Values may be patterns. A case that names none expects nothing, and scores 1.
    """

    criterion_type = FinalStateCriterion

    def evaluate_run(self, run: RunContext) -> EvaluationResult:
        """Compares the states."""
        expected = run.case.final_session_state or {}
        exact = _criterion(self._eval_metric, FinalStateCriterion).match == "exact"
        same = matches(expected, run.state) if exact else _is_subset(expected, run.state)
        score = float(same or not expected)
        passed = score >= self.threshold
        return EvaluationResult(
            overall_score=score, overall_eval_status=EvalStatus.PASSED if passed else EvalStatus.FAILED
        )

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Turns alone do not have the state."""
        raise ValueError("this metric needs the session's state, which turns do not have.")


def _is_subset(expected: Any, actual: Any) -> bool:
    if (
        isinstance(expected, dict)
        and isinstance(actual, dict)
        and not any(key[:1] == "$" for key in expected)
    ):
        return all(key in actual and _is_subset(value, actual[key]) for key, value in expected.items())
    return matches(expected, actual)


class Limit(RunCheck):
    """A value of the whole run that must not exceed the threshold: lower is better."""

    def result(self, value: float) -> EvaluationResult:
        """A value as a result: lower is better."""
        passed = value <= self.threshold
        return EvaluationResult(
            overall_score=value, overall_eval_status=EvalStatus.PASSED if passed else EvalStatus.FAILED
        )


class MaxToolCalls(Limit):
    """Tool calls of the conversation."""

    def value(self, invocations: list[Invocation]) -> float:
        """Their number."""
        return float(len(_calls(invocations)))


class MaxTurns(Limit):
    """Turns of the conversation."""

    def value(self, invocations: list[Invocation]) -> float:
        """Their number."""
        return float(len(invocations))


class MaxDuration(Limit):
    """Seconds that the agent took for all turns. Not evaluated where turns were not timed."""

    unknown = "the turns were not timed"

    def value(self, invocations: list[Invocation]) -> float | None:
        """Their sum."""
        return _sum(duration_details(turn)["total_seconds"] for turn in invocations)


class MaxTokens(Limit):
    """Input and output tokens of all turns. Not evaluated where the model reported none."""

    unknown = "no model reported tokens"

    def value(self, invocations: list[Invocation]) -> float | None:
        """Their sum."""
        return _sum(token_details(turn)["total_tokens"] for turn in invocations)


class MaxCost(Limit):
    """Price of all tokens. Not evaluated where the model reported none."""

    unknown = "no model reported tokens"

    criterion_type = CostCriterion

    def value(self, invocations: list[Invocation]) -> float | None:
        """Their price."""
        prices = _criterion(self._eval_metric, CostCriterion)
        given = _sum(token_details(turn)["input_tokens"] for turn in invocations)
        made = _sum(token_details(turn)["output_tokens"] for turn in invocations)
        if given is None and made is None:
            return None
        return ((given or 0.0) * prices.input_price + (made or 0.0) * prices.output_price) / 1_000_000


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


C = TypeVar("C", bound=BaseCriterion)


def _criterion(metric: EvalMetric, wanted: type[C]) -> C:
    if not isinstance(metric.criterion, wanted):
        raise TypeError(f"`{metric.metric_name}` needs a {wanted.__name__}")
    return metric.criterion
