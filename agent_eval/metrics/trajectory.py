"""`tool_trajectory_avg_score`: did the agent call the expected tools?"""

from __future__ import annotations

from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator, mean_over_turns, paired_turns
from agent_eval.schema.config import MatchType, TrajectoryCriterion
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import FunctionCall, Invocation, get_all_tool_calls


class TrajectoryEvaluator(Evaluator):
    """Share of turns whose tool calls match the expected ones (see `MatchType`), from 0 to 1.

    A call matches by name and arguments, compared as Python values: `1`, `1.0` and `true` are
    equal, key order does not matter, absent and empty arguments are the same. `ignore_args`
    compares names alone.
    """

    criterion_type = TrajectoryCriterion

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric)
        criterion = eval_metric.criterion
        if not isinstance(criterion, TrajectoryCriterion):
            criterion = TrajectoryCriterion(threshold=self.threshold)
        self._match_type = criterion.match_type
        self._ignore_args = criterion.ignore_args

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Scores each turn 1 or 0."""
        scores = [
            float(
                trajectory_matches(
                    get_all_tool_calls(actual.intermediate_data),
                    get_all_tool_calls(expected.intermediate_data),
                    self._match_type,
                    self._ignore_args,
                )
            )
            for actual, expected in paired_turns(actual_invocations, expected_invocations)
        ]
        return mean_over_turns(scores, self.threshold)


def call_matches(actual: FunctionCall, expected: FunctionCall, ignore_args: bool) -> bool:
    """Same name and, unless ignored, equal arguments."""
    return actual.name == expected.name and (ignore_args or (actual.args or {}) == (expected.args or {}))


def trajectory_matches(
    actual: list[FunctionCall], expected: list[FunctionCall], match_type: MatchType, ignore_args: bool
) -> bool:
    """Whether the calls of one turn match the expected ones."""
    if match_type is MatchType.EXACT:
        return len(actual) == len(expected) and all(
            call_matches(call, wanted, ignore_args) for call, wanted in zip(actual, expected, strict=True)
        )
    if match_type is MatchType.IN_ORDER:
        calls = iter(actual)
        return all(any(call_matches(call, wanted, ignore_args) for call in calls) for wanted in expected)
    rest = list(actual)
    for wanted in expected:
        found = next((i for i, call in enumerate(rest) if call_matches(call, wanted, ignore_args)), None)
        if found is None:
            return False
        del rest[found]
    return True
