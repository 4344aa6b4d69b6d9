"""M08: where a document is expected, its tool was called and returned an artifact and a URL."""

from google.adk.evaluation.eval_case import get_all_tool_calls, get_all_tool_responses
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult

TOOL = "create_document"


def document(eval_metric, actual_invocations, expected_invocations=None, conversation_scenario=None):
  if expected_invocations is None or len(actual_invocations) != len(expected_invocations):
    raise ValueError("Number of actual and expected invocations must match.")
  rows = []
  for actual, expected in zip(actual_invocations, expected_invocations):
    wanted = any(call.name == TOOL for call in get_all_tool_calls(expected.intermediate_data))
    called = any(call.name == TOOL for call in get_all_tool_calls(actual.intermediate_data))
    returned = [
        response.response or {}
        for response in get_all_tool_responses(actual.intermediate_data)
        if response.name == TOOL
    ]
    made = called and any(r.get("artifact") and str(r.get("url", "")).startswith("https://") for r in returned)
    score = 1.0 if made or not wanted else 0.0
    rows.append(
        PerInvocationResult(
            actual_invocation=actual,
            expected_invocation=expected,
            score=score,
            eval_status=EvalStatus.PASSED if score else EvalStatus.FAILED,
        )
    )
  mean = sum(row.score for row in rows) / len(rows)
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=EvalStatus.PASSED if mean >= 1.0 else EvalStatus.FAILED,
      per_invocation_results=rows,
  )
