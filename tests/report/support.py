"""Runs as values, and the results that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_eval.aggregate.outcome import outcome_of
from agent_eval.aggregate.verdict import case_result, totals
from agent_eval.diagnose.diagnosis import explained
from agent_eval.recompute import result_of_records
from agent_eval.report.html.result import Source
from agent_eval.schema.config import BaseCriterion, EvalConfig
from agent_eval.schema.multi_run import MultiRunConfig
from agent_eval.schema.result import CaseResult, EvalResult, RunRecord

NASTY = "</script><script>window.broken = 1</script><img src=x onerror='window.broken=1'><!-- ]]>"
"""Text that would become markup where it is not escaped."""
CONTROLS = "\x1b[31mred\x1b[0m \u202egnp.exe \x00 \u2028 \ud800"
"""Text that would colour a terminal, turn the writing direction, or be no text at all."""

Call = tuple[str, dict[str, Any]]


def text(said: str) -> dict[str, Any]:
    return {"parts": [{"text": said}]}


def turn(ask: str, answer: str | None, *calls: Call, result: Any = None) -> dict[str, Any]:
    """A turn as it was: each call got the same result."""
    steps: list[dict[str, Any]] = []
    for number, (name, args) in enumerate(calls):
        call = {"id": f"c{number}", "name": name, "args": args}
        answered = {"id": f"c{number}", "name": name, "response": result or {"ok": True}}
        steps.append({"author": "desk", "content": {"parts": [{"function_call": call}]}})
        steps.append({"author": "desk", "content": {"parts": [{"function_response": answered}]}})
    final = {} if answer is None else {"final_response": text(answer)}
    return {
        "user_content": text(ask),
        "intermediate_data": {"invocation_events": steps},
        "duration": 0.5,
        **final,
    }


def expects(answer: str | None, *calls: Call) -> dict[str, Any]:
    """What a case expects of a turn."""
    uses = [{"name": name, "args": args} for name, args in calls]
    final = {} if answer is None else {"final_response": text(answer)}
    return {"intermediate_data": {"tool_uses": uses}, **final}


def metric(score: float | None, name: str = "response_match_score", **keys: Any) -> dict[str, Any]:
    """A metric of a run that has this score in every turn, with a threshold of 0.8."""
    status = "NOT_EVALUATED" if score is None else "PASSED" if score >= 0.8 else "FAILED"
    row = {"score": score, "status": status}
    return {"metric_name": name, "threshold": 0.8, "per_invocation": [row], **row, **keys}


def run(
    eval_id: str,
    *turns: dict[str, Any],
    metrics: Sequence[dict[str, Any]] = (),
    run_index: int = 0,
    **keys: Any,
) -> RunRecord:
    """A finished run."""
    return RunRecord.model_validate(
        {
            "eval_set_id": "desk",
            "eval_id": eval_id,
            "run_index": run_index,
            "seed": 0,
            "started": "2026-01-31T09:30:00.000Z",
            "seconds": 1.25,
            "invocations": list(turns),
            "metrics": list(metrics),
            **keys,
        }
    )


def crash(eval_id: str, message: str = "socket reset", run_index: int = 0) -> RunRecord:
    """A run that crashed."""
    trace = (
        f'Traceback (most recent call last):\n  File "agent.py", line 9, in answer\nRuntimeError: {message}'
    )
    error = {"type": "RuntimeError", "message": message, "traceback": trace}
    return run(eval_id, turn("hi", None), run_index=run_index, status="CRASHED", error=error)


def result(*records: RunRecord, eval_set_id: str = "desk", causes: bool = True) -> EvalResult:
    """The result of these runs; each case is judged by the metrics that it has."""
    found = result_of_records(records, "20260131T093000000Z-1a2b3c4d")
    assert found is not None
    runs: dict[str, list[RunRecord]] = {}
    for record in records:
        runs.setdefault(record.eval_id, []).append(record)
    cases = [_case(eval_id, of_case) for eval_id, of_case in runs.items()]
    outcomes = [outcome_of(record) for record in records]
    update = {"eval_set_id": eval_set_id, "path": "evalsets/desk.evalset.json"}
    whole = found.model_copy(
        update={
            "stopped": None,
            "cases": cases,
            "totals": totals(cases, outcomes, 2.5),
            "eval_set": found.eval_set.model_copy(update=update),
        }
    )
    return explained(whole, records) if causes else whole


def _case(eval_id: str, runs: Sequence[RunRecord]) -> CaseResult:
    names = dict.fromkeys(metric.metric_name for run in runs for metric in run.metrics)
    config = EvalConfig(
        criteria={name: BaseCriterion(threshold=0.8) for name in names},
        multi_run_config=MultiRunConfig(num_runs=len(runs)),
    )
    return case_result("desk", eval_id, "", config, [outcome_of(run) for run in runs])


def source(*records: RunRecord, **keys: Any) -> Source:
    """The same for a page."""
    return Source(result(*records, **keys), lambda: iter(records), "desk.runs.jsonl")
