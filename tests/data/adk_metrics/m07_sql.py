"""M07: runs the last SQL again and compares its rows with the expected tool response."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult

if TYPE_CHECKING:
  from google.adk.evaluation.conversation_scenarios import ConversationScenario
  from google.adk.evaluation.eval_case import Invocation
  from google.adk.evaluation.eval_metrics import EvalMetric


def _rows_of(sql: str) -> list[list]:
  with sqlite3.connect(":memory:") as database:
    database.execute("create table sales (month text, amount integer)")
    database.executemany("insert into sales values (?, ?)", [("April", 7), ("May", 3)])
    return [list(row) for row in database.execute(sql)]


def _last_sql(invocation: Invocation) -> str | None:
  if not invocation.intermediate_data:
    return None
  found = [use.args["sql"] for use in invocation.intermediate_data.tool_uses if use.name == "run_sql"]
  return found[-1] if found else None


def _expected_rows(invocation: Invocation) -> list[list] | None:
  if not invocation.intermediate_data:
    return None
  found = [
      response.response["rows"]
      for response in invocation.intermediate_data.tool_responses
      if response.name == "run_sql"
  ]
  return found[-1] if found else None


def same_rows(
    eval_metric: EvalMetric,
    actual_invocations: list[Invocation],
    expected_invocations: list[Invocation] | None,
    conversation_scenario: ConversationScenario | None = None,
) -> EvaluationResult:
  rows = []
  for actual, expected in zip(actual_invocations, expected_invocations or []):
    sql, wanted = _last_sql(actual), _expected_rows(expected)
    if wanted is None:
      rows.append(PerInvocationResult(actual_invocation=actual, expected_invocation=expected))
      continue
    same = sql is not None and _rows_of(sql) == wanted
    rows.append(
        PerInvocationResult(
            actual_invocation=actual,
            expected_invocation=expected,
            score=1.0 if same else 0.0,
            eval_status=EvalStatus.PASSED if same else EvalStatus.FAILED,
        )
    )
  scores = [row.score for row in rows if row.score is not None]
  if not scores:
    return EvaluationResult(overall_eval_status=EvalStatus.NOT_EVALUATED)
  mean = sum(scores) / len(scores)
  return EvaluationResult(
      overall_score=mean,
      overall_eval_status=EvalStatus.PASSED if mean == 1.0 else EvalStatus.FAILED,
      per_invocation_results=rows,
  )
