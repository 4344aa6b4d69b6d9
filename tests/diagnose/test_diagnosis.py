"""From records to causes: in any order, for what did not pass only, and safe to show."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval.diagnose.base import Kind, Rule
from agent_eval.diagnose.diagnosis import MAX_CAUSES, Diagnosis, explained
from agent_eval.diagnose.rules import rules_for
from agent_eval.schema.result import Cause, InvocationScore, MetricResult, RunRecord
from agent_eval.schema.trace import EvalStatus
from agent_eval.stored import read_stored
from tests.diagnose.facts import CHECKS, Seen, contradictions
from tests.diagnose.failure import MATCH, TRAJECTORY, Case, call, case, code, failure, say, turn, varying
from tests.diagnose.player import Played, played

DATA = Path(__file__).parents[1] / "data"
FIND = ("find", {"id": "A1"})
LOOK = call("find", {"id": "A1"}, {"status": "shipped"})
GOOD = turn("A1?", LOOK, say("It has shipped."), calls=[FIND], text="It has shipped.")
LAZY = turn("A1?", say("It has shipped."), calls=[FIND], text="It has shipped.")
LOGS = turn("A1?", LOOK, call("log"), say("It has shipped."), calls=[FIND], text="It has shipped.")


def causes(*cases: Case, metric: str = TRAJECTORY, **config: Any) -> list[Cause]:
    return played(failure("x", "", metric, *cases, **config)).causes


def test_runs_are_explained_alike_in_whatever_order_they_finish() -> None:
    one = played(failure("x", "", TRAJECTORY, varying(LAZY, LOGS, GOOD, LOGS, LAZY, LAZY)))
    expected = one.result.model_dump_json()
    for order in itertools.islice(itertools.permutations(one.records), 0, 720, 97):
        assert explained(one.result, order).model_dump_json() == expected


def test_cause_names_the_runs_that_it_was_seen_in() -> None:
    found = causes(varying(LAZY, LOGS, LAZY, LAZY))
    assert [(cause.code, cause.runs) for cause in found] == [("AE106", [0, 2, 3]), ("AE101", [1])]


def test_case_with_one_run_names_none() -> None:
    assert [cause.runs for cause in causes(case(LAZY))] == [[]]


def test_what_passed_has_no_cause() -> None:
    one = played(failure("x", "", TRAJECTORY, case(GOOD), criteria={TRAJECTORY: 1.0, MATCH: 0.5}))
    assert not one.result.causes
    assert not any(case.causes or any(metric.causes for metric in case.metrics) for case in one.result.cases)


def test_metric_that_passed_beside_one_that_failed_has_no_cause() -> None:
    one = played(failure("x", "", TRAJECTORY, case(LOGS), criteria={TRAJECTORY: 1.0, MATCH: 0.5}))
    assert {m.metric_name: [c.code for c in m.causes] for m in one.result.cases[0].metrics if m.causes} == {
        TRAJECTORY: ["AE101"]
    }


def test_crash_is_a_cause_of_the_case_also_where_its_metrics_passed() -> None:
    one = played(
        failure("x", "", "", varying(GOOD, turn("A1?", code("raise OSError('socket reset')")), GOOD))
    )
    (found,) = one.result.cases[0].causes
    assert (found.code, found.runs) == ("AE413", [1])
    assert "socket reset" in found.seen
    assert [metric.causes for metric in one.result.cases[0].metrics if metric.causes] == []


def test_several_turns_are_told_of_together() -> None:
    (found,) = causes(case(LAZY, GOOD, LAZY))
    assert found.seen.startswith("turn 1: the agent called no tool, where find(")
    assert found.seen.endswith("(and alike in turn 3)")


def test_metric_of_ones_own_under_a_known_name_is_not_explained_as_the_known_one() -> None:
    where = {"code_config": {"name": "tests.diagnose.labelled.metrics.zero"}}
    found = causes(case(LOGS), custom_metrics={TRAJECTORY: where}, criteria={TRAJECTORY: 0.5})
    assert [cause.code for cause in found] == ["AE516"]


def test_what_agents_say_is_safe_to_show_and_short() -> None:
    wild = turn(
        "A1?",
        call("t\x1b[31m" + "o" * 5000),
        say("\u202e\x9b2J" + "word " * 5000),
        calls=[FIND],
        text="It is.",
    )
    one = played(failure("x", "", MATCH, case(wild), criteria={TRAJECTORY: 1.0, MATCH: 1.0}))
    found = [cause for metric in one.result.cases[0].metrics for cause in metric.causes]
    assert found
    for cause in found:
        assert (cause.seen + cause.change).isprintable()
        assert len(cause.seen) <= 600
        assert len(cause.change) <= 600


def test_no_more_causes_than_help() -> None:
    rubrics = [{"rubric_id": f"r{number}", "score": 0.0} for number in range(20)]
    row = {"score": 0.0, "status": "FAILED", "rubric_scores": rubrics}
    name = "rubric_based_final_response_quality_v1"
    failed = {"status": "FAILED", "score": 0.0, "threshold": 0.5, "per_invocation": [row]}
    assert len(causes(case(GOOD, judged={name: failed}), metric=name)) == MAX_CAUSES


@pytest.mark.parametrize(
    ("amount", "found"), [(2, []), (3, ["AE602"])], ids=["two cases are no pattern", "three are"]
)
def test_cases_that_fail_alike(amount: int, found: list[str]) -> None:
    one = played(failure("x", "", TRAJECTORY, *[case(LOGS)] * amount))
    assert [cause.code for cause in one.result.causes] == found


def test_cases_that_fail_differently_are_no_pattern() -> None:
    one = played(failure("x", "", TRAJECTORY, case(LOGS), case(LAZY), case(LOGS)))
    assert one.result.causes == []


def test_rubric_that_holds_elsewhere_says_so() -> None:
    def judged(holds: float) -> Case:
        scores = [{"rubric_id": "polite", "score": holds, "rationale": "It greets."}]
        row = {"score": holds, "status": "PASSED" if holds else "FAILED", "rubric_scores": scores}
        result = {"status": row["status"], "score": holds, "threshold": 0.5, "per_invocation": [row]}
        return case(GOOD, judged={"rubric_based_final_response_quality_v1": result})

    found = causes(judged(1), judged(1), judged(0), metric="rubric_based_final_response_quality_v1")
    assert found[0].code == "AE301"
    assert found[0].seen.endswith("; it holds in 2 of the 2 other cases")


def test_rules_are_not_even_imported_where_all_runs_pass() -> None:
    script = (
        "import sys; from agent_eval.diagnose.diagnosis import Diagnosis; "
        "from agent_eval.schema.result import RunRecord; "
        "record = RunRecord(eval_set_id='s', eval_id='e', run_index=0, seed=0, "
        "started='2026-01-31', seconds=0.1); "
        "Diagnosis({}).add(record); "
        "sys.exit('agent_eval.diagnose.evidence' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


RESULTS = sorted(
    path
    for pattern in ("adk_results/*.json", "adk_e2e/runs/*/*.json")
    for path in DATA.glob(pattern)
    if "eval_case_results" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_results_of_adk_are_explained(path: Path) -> None:
    stored = read_stored(path)
    one = Played(failure("x", "", "*", case(GOOD)), stored.result, list(stored.records()))
    assert contradictions(one) == []


NAMES = st.sampled_from(["find", "log", "findOrder", "transfer_to_agent", "google_search"])
ARGS = st.dictionaries(
    st.sampled_from("ab"), st.sampled_from([1, "1", True, None, ["1"], {"x": 1}]), max_size=2
)
CALLS = st.lists(st.tuples(NAMES, ARGS), max_size=4)


@given(
    turns=st.lists(st.tuples(CALLS, CALLS), min_size=1, max_size=3),
    match_type=st.sampled_from(["EXACT", "IN_ORDER", "ANY_ORDER"]),
)
def test_whatever_calls_are_made_the_causes_are_facts(
    turns: list[tuple[list[tuple[str, Any]], list[tuple[str, Any]]]], match_type: str
) -> None:
    criterion = {"threshold": 1.0, "match_type": match_type}
    rows = [InvocationScore(score=0.0, status=EvalStatus.FAILED) for _ in turns]
    metric = MetricResult(
        metric_name=TRAJECTORY, status=EvalStatus.FAILED, score=0.0, threshold=1.0, per_invocation=rows
    )

    def steps(made: list[tuple[str, Any]]) -> dict[str, Any]:
        return {"tool_uses": [{"name": name, "args": args} for name, args in made]}

    record = RunRecord.model_validate(
        {
            "eval_set_id": "s", "eval_id": "e", "run_index": 0,
            "seed": 0, "started": "2026-01-31", "seconds": 1,
            "invocations": [{"user_content": {}, "intermediate_data": steps(made)} for made, _ in turns],
            "expected": [{"intermediate_data": steps(wanted)} for _, wanted in turns],
            "metrics": [metric.model_dump()],
        }
    )  # fmt: skip
    diagnosis = Diagnosis({TRAJECTORY: criterion})
    diagnosis.add(record)
    for (_, name, _), tallies in diagnosis._tallies.items():
        for (found, _), tally in tallies.items():
            cause = Cause(code=found, seen=tally.seen, change=tally.change)
            if found != "AE516":
                assert CHECKS[found](Seen(cause, record, name, criterion)), cause


@given(given_answer=st.text(max_size=80), wanted=st.text(max_size=80), output=st.text(max_size=80))
def test_whatever_is_said_is_explained(given_answer: str, wanted: str, output: str) -> None:
    metric = MetricResult(metric_name=MATCH, status=EvalStatus.FAILED, score=0.0, threshold=1.0)
    returned = [{"function_response": {"name": "t", "response": {"x": output}}}]
    record = RunRecord.model_validate(
        {
            "eval_set_id": "s", "eval_id": "e", "run_index": 0,
            "seed": 0, "started": "2026-01-31", "seconds": 1,
            "invocations": [{
                "user_content": {}, "final_response": {"parts": [{"text": given_answer}]},
                "intermediate_data": {"invocation_events": [{"author": "a", "content": {"parts": returned}}]},
            }],
            "expected": [{"final_response": {"parts": [{"text": wanted}]}}],
            "metrics": [metric.model_dump()],
        }
    )  # fmt: skip
    diagnosis = Diagnosis({})
    diagnosis.add(record)
    assert diagnosis._tallies["e", MATCH, "FAILED"]


def test_rule_that_fails_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(evidence: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    rules = (Rule("AE999", frozenset(Kind), broken), *rules_for(Kind.CALLS))
    monkeypatch.setattr("agent_eval.diagnose.rules.rules_for", lambda kind: rules)
    with pytest.warns(UserWarning, match="rule AE999 failed: ZeroDivisionError: division by zero"):
        found = causes(case(LOGS))
    assert [cause.code for cause in found] == ["AE101"]
