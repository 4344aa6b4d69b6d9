"""JUnit XML, read by a schema and by a parser that are not ours."""

from __future__ import annotations

from pathlib import Path

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Properties, Skipped, TestCase, TestSuite

from agent_eval.report.junit import junit_xml
from agent_eval.schema.result import EvalResult
from agent_eval.schema.trace import EvalStatus
from tests.report.support import CONTROLS, NASTY, crash, metric, result, run, turn

SCHEMAS = [
    xmlschema.XMLSchema(Path(__file__).parents[1] / "data" / "junit" / name)
    for name in ("jenkins-junit-10.xsd", "junit.xsd")
]


def suites(*results: EvalResult) -> list[TestSuite]:
    """The suites of a document that is valid: by Jenkins' schema, and by our stricter one."""
    document = junit_xml(results)
    for schema in SCHEMAS:
        schema.validate(document.decode())
    return list(JUnitXml.fromstring(document))


def cases(*results: EvalResult) -> dict[str, TestCase]:
    return {case.name: case for suite in suites(*results) for case in suite}


def outcome(case: TestCase) -> type | None:
    assert len(case.result) <= 1
    return type(case.result[0]) if case.result else None


PASSES = run("passes", turn("hi", "hi"), metrics=[metric(1.0)])
FAILS = run("fails", turn("hi", "no"), metrics=[metric(0.25)])
UNSCORED = run("unscored", turn("hi", "hi"), metrics=[metric(None, reason="quota exceeded")])


def test_a_suite_is_an_eval_set_with_its_counts() -> None:
    (one, other) = suites(
        result(PASSES, FAILS, UNSCORED, crash("crashes")), result(PASSES, eval_set_id="another")
    )
    assert (one.name, one.tests, one.failures, one.errors, one.skipped) == ("desk", 4, 1, 2, 0)
    assert (one.time, one.timestamp) == (2.5, "2026-01-31T09:30:01")
    assert (other.name, other.tests, other.failures, other.errors) == ("another", 1, 0, 0)
    whole = JUnitXml.fromstring(junit_xml([result(PASSES, FAILS)]))
    assert (whole.tests, whole.failures, whole.errors) == (2, 1, 0)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (PASSES, None),
        (FAILS, Failure),
        (crash("crashes"), Error),
        (UNSCORED, Error),
    ],
    ids=lambda value: getattr(value, "eval_id", ""),
)
def test_what_did_not_pass_is_a_failure_or_an_error(record: object, expected: type | None) -> None:
    (case,) = cases(result(record)).values()  # type: ignore[arg-type] # the table is of records
    assert outcome(case) is expected


def test_a_case_that_was_never_run_is_skipped() -> None:
    whole = result(FAILS, PASSES)
    unmade = whole.cases[1].model_copy(
        update={"verdict": EvalStatus.NOT_EVALUATED, "attempts": 0, "runs": [], "reasons": ["stopped"]}
    )
    found = cases(whole.model_copy(update={"cases": [whole.cases[0], unmade]}))
    assert outcome(found["passes"]) is Skipped
    assert found["passes"].result[0].message == "stopped"


def test_a_failure_tells_its_causes_and_what_to_change() -> None:
    case = cases(result(FAILS))["fails"]
    told = case.result[0]
    assert told.type == "FAILED"
    assert told.message.startswith("AE")
    assert told.text.startswith("response_match_score  0.25 / 0.80\n  AE")
    assert "\n  change: " in told.text


def test_a_crash_is_told_with_its_runs() -> None:
    told = cases(result(PASSES.model_copy(update={"eval_id": "a"}), crash("a", run_index=1)))["a"].result[0]
    assert "run 2 crashed: RuntimeError: socket reset" in told.text


def test_scores_and_counts_are_properties_of_the_suite_and_output_of_the_case() -> None:
    scores = enumerate([1.0, 0.0])
    records = [run("a", turn("hi", "hi"), metrics=[metric(score)], run_index=i) for i, score in scores]
    (suite,) = suites(result(*records))
    properties = {one.name: one.value for one in suite.child(Properties)}
    facts = {
        "attempts": "2",
        "scored": "2",
        "passed": "1",
        "crashed": "0",
        "pass_rate": "0.5000",
        "flaky": "true",
        "response_match_score.score": "0.5000",
        "response_match_score.threshold": "0.8000",
    }
    assert {f"a.{name}": value for name, value in facts.items()}.items() <= properties.items()
    (case,) = suite
    assert case.system_out.splitlines() == [f"{name}: {value}" for name, value in facts.items()]


@given(st.text())
def test_every_text_can_be_written(said: str) -> None:
    said = said or "empty"
    (case,) = suites(result(crash(said, said)))[0]
    assert case.name


def test_markup_and_control_codes_are_text() -> None:
    (case,) = cases(result(crash(NASTY + CONTROLS, NASTY))).values()
    assert case.name.startswith(NASTY)
    assert r"\x1b[31mred" in case.name
    assert NASTY in case.result[0].text
