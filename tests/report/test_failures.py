"""What is shown of judged metrics: why they failed, and what to know of their scores."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from rich.console import Console

from agent_eval.recompute import result_of_records
from agent_eval.report.console import print_result
from agent_eval.report.failures import MAX_RATIONALE, print_details, print_failures
from agent_eval.schema.result import EvalResult, ExpectedTurn, MetricResult, RunRecord
from agent_eval.schema.trace import Content, Invocation
from tests.report.support import expects, metric, run

ANSWER = {"user_content": {"parts": [{"text": "Capital?"}]}, "final_response": {"parts": [{"text": "Lyon"}]}}


def shown(printer: Callable[[Console, EvalResult, RunRecord], None], **metric: Any) -> str:
    """What is printed of a run of one case with one metric, at 60 columns."""
    record = RunRecord(
        eval_set_id="set",
        eval_id="capital",
        run_index=0,
        seed=0,
        started="2026-01-01T00:00:00Z",
        seconds=1.0,
        invocations=[Invocation.model_validate(ANSWER)],
        expected=[ExpectedTurn(final_response=Content.model_validate({"parts": [{"text": "Paris"}]}))],
        metrics=[MetricResult.model_validate({"metric_name": "judged", "threshold": 0.5, **metric})],
    )
    result = result_of_records([record], "id")
    assert result
    stream = io.StringIO()
    printer(Console(file=stream, width=60, color_system=None), result, record)
    return stream.getvalue()


def failures(**row: Any) -> str:
    row = {"score": 0.0, "status": "FAILED", **row}
    return shown(
        lambda console, result, record: print_failures(console, result, [record]),
        status="FAILED",
        score=0.0,
        per_invocation=[row],
    )


def test_the_rationale_of_a_failed_verdict_is_shown_below_the_responses_and_wrapped() -> None:
    told = "Lyon is a city of France, but it is not its capital, which the reference says is Paris."
    lines = failures(rationale=told).splitlines()
    start = next(index for index, line in enumerate(lines) if "Lyon is a city" in line)
    assert "Paris" in lines[start - 1]
    assert " ".join(" ".join(lines[start:]).split()) == told
    assert len(lines[start:]) > 1
    assert all(len(line) <= 60 for line in lines)


def test_each_rubric_that_failed_is_shown_with_its_rationale() -> None:
    text = failures(
        rubric_scores=[
            {"rubric_id": "city", "rationale": "no capital", "score": 0.0},
            {"rubric_id": "short", "rationale": "one word", "score": 1.0},
            {"rubric_id": "kind", "score": 0.0},
        ]
    )
    assert "agent: Lyon" in text
    assert "city: no capital" in text
    assert "kind: no reason given" in text
    assert "short" not in text


def test_what_a_judge_says_cannot_colour_or_move_the_terminal() -> None:
    text = failures(rationale="[bold]plain[/bold] \x1b[31mred\x1b[0m \u202ebackwards")
    assert "[bold]plain[/bold] \\x1b[31mred\\x1b[0m" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_long_rationale_is_cut() -> None:
    text = failures(rationale="word " * 1000)
    assert len(text) < MAX_RATIONALE * 2
    assert "..." in text


def test_warnings_stand_below_the_table_also_where_everything_passed() -> None:
    text = shown(
        lambda console, result, record: print_result(console, result),
        status="PASSED",
        score=1.0,
        warnings=["the judge cannot see image/png"],
    )
    assert "warning: the judge cannot see image/png (judged; 1 case)" in " ".join(text.split())


def test_details_have_the_rationales_of_passed_verdicts_too() -> None:
    text = shown(
        lambda console, result, record: print_details(console, [record]),
        status="PASSED",
        score=1.0,
        per_invocation=[{"score": 1.0, "status": "PASSED", "rationale": "close enough"}],
    )
    assert "judged: close enough" in text


def test_warnings_are_in_the_summary_each_once_and_only_where_there_are_some() -> None:
    def summary(warnings: list[str]) -> dict[str, Any]:
        found: list[EvalResult] = []
        shown(
            lambda console, result, record: found.append(result),
            status="PASSED",
            score=1.0,
            warnings=warnings,
        )
        metric = found[0].cases[0].metrics[0]
        return metric.model_dump(mode="json")

    assert summary(["a", "a", "b"])["warnings"] == ["a", "b"]
    assert "warnings" not in summary([])


def test_what_went_wrong_on_the_way_is_shown_with_the_turn() -> None:
    told = {"author": "bot", "code": "MAX_TOKENS", "message": "Too long."}
    turn = {**ANSWER, "incidents": [told, {"author": "bot", "code": "INTERRUPTED"}]}
    record = run("capital", turn, expected=[expects("Paris")], metrics=[metric(0.0)])
    result = result_of_records([record], "id")
    assert result
    stream = io.StringIO()
    console = Console(file=stream, width=60, color_system=None)
    for printed in (
        lambda: print_failures(console, result, [record]),
        lambda: print_details(console, [record]),
    ):
        printed()
        shown = stream.getvalue()
        stream.truncate(stream.seek(0))
        assert "bot reported MAX_TOKENS: Too long." in shown
        assert "bot reported INTERRUPTED" in shown
