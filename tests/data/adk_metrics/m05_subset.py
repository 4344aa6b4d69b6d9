"""M05: the expected tool names are a subset of the actual ones; takes the place of a built-in metric."""

from google.adk.evaluation.eval_case import get_all_tool_calls
from google.adk.evaluation.eval_metrics import EvalStatus
from google.adk.evaluation.evaluator import EvaluationResult, PerInvocationResult


def subset(eval_metric, actual_invocations, expected_invocations, conversation_scenario):
  rows = []
  for actual, expected in zip(actual_invocations, expected_invocations):
    wanted = {call.name for call in get_all_tool_calls(expected.intermediate_data)}
    made = {call.name for call in get_all_tool_calls(actual.intermediate_data)}
    score = 1.0 if wanted <= made else 0.0
    rows.append(
        PerInvocationResult(
            actual_invocation=actual,
            expected_invocation=expected,
            score=score,
            eval_status=EvalStatus.PASSED if score else EvalStatus.FAILED,
        )
    )
  mean = sum(row.score for row in rows) / len(rows)
  passed = mean >= eval_metric.criterion.threshold
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=EvalStatus.PASSED if passed else EvalStatus.FAILED,
      per_invocation_results=rows,
  )
