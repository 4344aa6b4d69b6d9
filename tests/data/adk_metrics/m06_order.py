"""M06: required order and forbidden tools, looked up by the expected invocation's id."""

from typing import Optional

from google.adk.evaluation.eval_case import Invocation, get_all_tool_calls
from google.adk.evaluation.eval_rubrics import RubricScore
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult

RULES = {
    "sales": {"order": ["search_docs", "run_sql"], "forbidden": ["create_document"]},
    "sheet": {"order": ["choose_sheet", "create_document"], "forbidden": ["run_sql"]},
    "banner": {"order": ["ask_human", "make_asset"], "forbidden": []},
}


def _rubrics(names: list[str], rule: dict) -> list[RubricScore]:
  places = [names.index(name) if name in names else -1 for name in rule["order"]]
  in_order = -1 not in places and places == sorted(places)
  called = [name for name in names if name in rule["forbidden"]]
  return [
      RubricScore(
          rubric_id="order",
          score=1.0 if in_order else 0.0,
          rationale=f"called {', '.join(names) or 'nothing'}, wanted {', '.join(rule['order'])}",
      ),
      RubricScore(
          rubric_id="forbidden",
          score=0.0 if called else 1.0,
          rationale=f"called {', '.join(called)}" if called else "none was called",
      ),
  ]


def order_and_forbidden(
    eval_metric,
    actual_invocations: list[Invocation],
    expected_invocations: Optional[list[Invocation]],
    conversation_scenario,
) -> EvaluationResult:
  rows = []
  for actual, expected in zip(actual_invocations, expected_invocations):
    names = [call.name for call in get_all_tool_calls(actual.intermediate_data)]
    rubrics = _rubrics(names, RULES[expected.invocation_id])
    score = sum(rubric.score for rubric in rubrics) / len(rubrics)
    rows.append(
        PerInvocationResult(
            actual_invocation=actual,
            expected_invocation=expected,
            score=score,
            eval_status=EvalStatus.PASSED if score == 1.0 else EvalStatus.FAILED,
            rubric_scores=rubrics,
        )
    )
  mean = sum(row.score for row in rows) / len(rows)
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=EvalStatus.PASSED if mean == 1.0 else EvalStatus.FAILED,
      per_invocation_results=rows,
      overall_rubric_scores=[rubric for row in rows for rubric in row.rubric_scores],
  )
