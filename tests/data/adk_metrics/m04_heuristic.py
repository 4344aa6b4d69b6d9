"""M04: a five-point heuristic on the final text. Reads `eval_metric.threshold`, which is None."""

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult


def _points(text: str) -> float:
  return float(
      bool(text)
      + (text[:1].isupper())
      + (text.rstrip()[-1:] in ".!?")
      + (len(text) <= 200)
      + ("sorry" not in text.lower())
  )


async def heuristic(
    eval_metric: EvalMetric,
    actual_invocations: list[Invocation],
    expected_invocations: list[Invocation] | None,
    conversation_scenario=None,
) -> EvaluationResult:
  rows = []
  for invocation in actual_invocations:
    score = _points(invocation.final_response.parts[0].text)
    passed = score >= eval_metric.threshold
    rows.append(
        PerInvocationResult(
            actual_invocation=invocation,
            score=score,
            eval_status=EvalStatus.PASSED if passed else EvalStatus.FAILED,
        )
    )
  mean = sum(row.score for row in rows) / len(rows)
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=EvalStatus.PASSED if mean >= eval_metric.threshold else EvalStatus.FAILED,
      per_invocation_results=rows,
  )
