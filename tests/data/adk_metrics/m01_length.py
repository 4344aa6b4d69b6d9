"""M01: 1.0 where the final text has at most 200 characters."""

from typing import List, Optional

from google.adk.evaluation.eval_case import ConversationScenario, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult

LIMIT = 200


def _final_text(invocation: Invocation) -> str:
  if not invocation.final_response or not invocation.final_response.parts:
    return ""
  return "".join(part.text or "" for part in invocation.final_response.parts)


def response_length(
    eval_metric: EvalMetric,
    actual_invocations: List[Invocation],
    expected_invocations: Optional[List[Invocation]],
    conversation_scenario: Optional[ConversationScenario] = None,
) -> EvaluationResult:
  rows = []
  for index, invocation in enumerate(actual_invocations):
    fits = len(_final_text(invocation)) <= LIMIT
    rows.append(
        PerInvocationResult(
            actual_invocation=invocation,
            expected_invocation=expected_invocations[index] if expected_invocations else None,
            score=1.0 if fits else 0.0,
            eval_status=EvalStatus.PASSED if fits else EvalStatus.FAILED,
        )
    )
  mean = sum(row.score for row in rows) / len(rows)
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=EvalStatus.PASSED if mean == 1.0 else EvalStatus.FAILED,
      per_invocation_results=rows,
  )
