"""`tool_trajectory_avg_score`: did the agent call the expected tools?"""

from __future__ import annotations

from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator, mean_over_turns, paired_turns
from agent_eval.schema.calls import matched_calls, trajectory_matches
from agent_eval.schema.config import TrajectoryCriterion
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import Invocation, get_all_tool_calls


class TrajectoryEvaluator(Evaluator):
    """Share of turns whose tool calls match the expected ones (see `MatchType`), from 0 to 1.

    A call matches by name and arguments, compared as Python values: `1`, `1.0` and `true` are
    equal, key order does not matter, absent and empty arguments are the same. An expected argument
    may be a pattern (see `schema.patterns.matches`). `ignore_args` compares names alone, or leaves
    the named arguments out.

    The details of a turn that does not match have the partial credit, which decides nothing: how
    many calls were `expected`, how many of them `matched` in any order, and how many were `extra`.
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
        turns = [
            (get_all_tool_calls(actual.intermediate_data), get_all_tool_calls(expected.intermediate_data))
            for actual, expected in paired_turns(actual_invocations, expected_invocations)
        ]
        scores = [
            float(trajectory_matches(actual, expected, self._match_type, self._ignore_args))
            for actual, expected in turns
        ]
        result = mean_over_turns(scores, self.threshold)
        for row, (actual, expected) in zip(result.per_invocation_results, turns, strict=True):
            if not row.score:
                matched = matched_calls(actual, expected, self._ignore_args)
                row.details = {
                    "expected": float(len(expected)),
                    "matched": float(matched),
                    "extra": float(len(actual) - matched),
                }
        return result
