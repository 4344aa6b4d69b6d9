"""M03: retrieval, grounding and sub-agent boundaries, told from the tool calls."""

from google.adk.evaluation.eval_case import get_all_tool_calls
from google.adk.evaluation.eval_metrics import _get_metric_threshold
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult

RETRIEVAL = {"search_docs", "run_sql"}
SUB_AGENTS = {"tax_agent"}


def _turn_score(invocation):
  calls = get_all_tool_calls(invocation.intermediate_data)
  names = [call.name for call in calls]
  retrieved = any(name in RETRIEVAL for name in names)
  text = "".join(part.text or "" for part in invocation.final_response.parts)
  grounded = retrieved or not any(char.isdigit() for char in text)
  inside = all(
      (call.args or {}).get("agent_name") in SUB_AGENTS
      for call in calls
      if call.name == "transfer_to_agent"
  )
  return (grounded + inside) / 2


def boundaries(eval_metric, actual_invocations, expected_invocations, conversation_scenario):
  threshold = _get_metric_threshold(eval_metric)
  scores = [_turn_score(invocation) for invocation in actual_invocations]

  def status(score):
    return EvalStatus.PASSED if score >= threshold else EvalStatus.FAILED

  mean = sum(scores) / len(scores)
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=status(mean),
      per_invocation_results=[
          PerInvocationResult(actual_invocation=turn, score=score, eval_status=status(score))
          for turn, score in zip(actual_invocations, scores)
      ],
  )
