"""`tool_trajectory_avg_score`: did the agent call the expected tools?"""

from __future__ import annotations

from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator, mean_over_turns, paired_turns
from agent_eval.schema.config import MatchType, TrajectoryCriterion
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.patterns import has_pattern, matches
from agent_eval.schema.trace import FunctionCall, Invocation, get_all_tool_calls

IgnoredArgs = bool | list[str]
"""Every argument, none, or these."""


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


def call_matches(actual: FunctionCall, expected: FunctionCall, ignore_args: IgnoredArgs = False) -> bool:
    """Same name and, unless ignored, arguments as expected."""
    if actual.name != expected.name or ignore_args is True:
        return actual.name == expected.name
    given, wanted = actual.args or {}, expected.args or {}
    if ignore_args:
        given = {key: value for key, value in given.items() if key not in ignore_args}
        wanted = {key: value for key, value in wanted.items() if key not in ignore_args}
    return given == wanted or matches(wanted, given)


def trajectory_matches(
    actual: list[FunctionCall],
    expected: list[FunctionCall],
    match_type: MatchType,
    ignore_args: IgnoredArgs = False,
) -> bool:
    """Whether the calls of one turn match the expected ones."""
    if match_type is MatchType.EXACT:
        return len(actual) == len(expected) and all(
            call_matches(call, wanted, ignore_args) for call, wanted in zip(actual, expected, strict=True)
        )
    if match_type is MatchType.IN_ORDER:
        calls = iter(actual)
        return all(any(call_matches(call, wanted, ignore_args) for call in calls) for wanted in expected)
    return matched_calls(actual, expected, ignore_args) == len(expected)


def matched_calls(
    actual: list[FunctionCall], expected: list[FunctionCall], ignore_args: IgnoredArgs = False
) -> int:
    """How many of the expected calls were made at most, in any order, each counted once."""
    rest = list(actual)
    matched = 0
    for wanted in expected:
        found = next((i for i, call in enumerate(rest) if call_matches(call, wanted, ignore_args)), None)
        if found is not None:
            del rest[found]
            matched += 1
    if 0 < matched < len(expected) and any(has_pattern(wanted.args) for wanted in expected):
        return _best_assignment(actual, expected, ignore_args)
    return matched


def _best_assignment(
    actual: list[FunctionCall], expected: list[FunctionCall], ignore_args: IgnoredArgs
) -> int:
    """The same where patterns overlap: the first call that fits one may be the only one for another."""
    fitting = [
        [place for place, call in enumerate(actual) if call_matches(call, wanted, ignore_args)]
        for wanted in expected
    ]
    taken: dict[int, int] = {}

    def take(one: int, tried: set[int]) -> bool:
        """Gives an expected call a fitting one; who has that makes way if there is another for it."""
        for place in fitting[one]:
            if place not in tried:
                tried.add(place)
                if place not in taken or take(taken[place], tried):
                    taken[place] = one
                    return True
        return False

    return sum(take(one, set()) for one in range(len(expected)))
