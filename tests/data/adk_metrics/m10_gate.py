"""M10: a human was asked before any asset tool was called, over the whole conversation."""

from typing import Optional

from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import EvalMetric, EvalStatus
from google.adk.evaluation.evaluator import EvaluationResult, PerInvocationResult

GATE, ASSETS = "ask_human", {"make_asset", "create_document"}


def _names(invocation: Invocation) -> list[str]:
  events = getattr(invocation.intermediate_data, "invocation_events", None) or []
  return [
      part.function_call.name
      for event in events
      if event.content
      for part in event.content.parts or []
      if part.function_call
  ]


def _threshold(eval_metric: EvalMetric) -> float:
  if eval_metric.threshold is not None:
    return eval_metric.threshold
  return eval_metric.criterion.threshold


def human_gate(
    eval_metric: EvalMetric,
    actual_invocations: list[Invocation],
    expected_invocations: Optional[list[Invocation]] = None,
    conversation_scenario: Optional[ConversationScenario] = None,
) -> EvaluationResult:
  asked = False
  rows = []
  for invocation in actual_invocations:
    kept = True
    for name in _names(invocation):
      asked = asked or name == GATE
      kept = kept and (asked or name not in ASSETS)
    rows.append(
        PerInvocationResult(
            actual_invocation=invocation,
            score=1.0 if kept else 0.0,
            eval_status=EvalStatus.PASSED if kept else EvalStatus.FAILED,
        )
    )
  mean = sum(row.score for row in rows) / len(rows)
  passed = mean >= _threshold(eval_metric)
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=EvalStatus.PASSED if passed else EvalStatus.FAILED,
      per_invocation_results=rows,
  )
