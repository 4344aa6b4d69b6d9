"""M02: the number of turns, always passed."""

from google.adk.evaluation.eval_case import ConversationScenario, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric, EvalStatus
from google.adk.evaluation.evaluator import EvaluationResult, PerInvocationResult


def number_of_turns(
    eval_metric: EvalMetric,
    actual_invocations: list[Invocation],
    expected_invocations: list[Invocation] | None,
    conversation_scenario: ConversationScenario | None = None,
) -> EvaluationResult:
  return EvaluationResult(
      overall_score=float(len(actual_invocations)),
      overall_eval_status=EvalStatus.PASSED,
      per_invocation_results=[
          PerInvocationResult(actual_invocation=turn, score=1.0, eval_status=EvalStatus.PASSED)
          for turn in actual_invocations
      ],
  )
