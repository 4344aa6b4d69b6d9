"""M09: the right sheet and the right tax type were chosen, told by invocation id."""

from google.adk.evaluation.eval_case import ConversationScenario, Invocation
from google.adk.evaluation.eval_metrics import EvalStatus
from google.adk.evaluation.evaluator import EvaluationResult, PerInvocationResult

WANTED = {"sheet": {"sheet": "Q2", "tax_type": "vat"}}


def _chosen(invocation: Invocation, key: str):
  data = invocation.intermediate_data
  events = getattr(data, "invocation_events", None) or []
  for event in events:
    for part in (event.content.parts if event.content else None) or []:
      if part.function_call and part.function_call.name == "choose_sheet":
        return part.function_call.args.get(key)
  return None


def _chose(key: str, actual_invocations, expected_invocations) -> EvaluationResult:
  rows = []
  for actual, expected in zip(actual_invocations, expected_invocations):
    wanted = WANTED.get(expected.invocation_id, {}).get(key)
    right = _chosen(actual, key) == wanted
    rows.append(
        PerInvocationResult(
            actual_invocation=actual,
            expected_invocation=expected,
            score=float(right),
            eval_status=EvalStatus.PASSED if right else EvalStatus.FAILED,
        )
    )
  mean = sum(row.score for row in rows) / len(rows)
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=EvalStatus.PASSED if mean == 1.0 else EvalStatus.FAILED,
      per_invocation_results=rows,
  )


def right_sheet(
    eval_metric,
    actual_invocations: list[Invocation],
    expected_invocations: list[Invocation] | None,
    conversation_scenario: ConversationScenario | None = None,
) -> EvaluationResult:
  return _chose("sheet", actual_invocations, expected_invocations)


def right_tax_type(
    eval_metric,
    actual_invocations: list[Invocation],
    expected_invocations: list[Invocation] | None,
    conversation_scenario: ConversationScenario | None = None,
) -> EvaluationResult:
  return _chose("tax_type", actual_invocations, expected_invocations)
