"""JUnit XML: a suite an eval set, a test case an eval case.

A case that was not evaluated is an error, not a skipped test: CI systems take those for fine. Only a
case that was never run, because the evaluation was stopped, is skipped.

The schema that Jenkins reads by knows properties of suites only, so those of a case are among its suite's,
under its name; the case says them as its output.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from agent_eval.printable import printable
from agent_eval.report.text import number
from agent_eval.report.why import findings, headline, seen_in
from agent_eval.schema.result import CaseResult, EvalResult
from agent_eval.schema.trace import EvalStatus

FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"

_NOT_XML = re.compile("[\ufffe\uffff]")


def junit_xml(results: Sequence[EvalResult]) -> bytes:
    """The document."""
    counts: Counter[str] = Counter()
    root = ElementTree.Element("testsuites", name="agent-eval")
    for result in results:
        suite, of_suite = _suite(result)
        root.append(suite)
        counts += of_suite
    seconds = sum(result.totals.duration_seconds for result in results)
    _count(root, counts, sum(len(result.cases) for result in results), seconds)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _count(element: ElementTree.Element, counts: Counter[str], tests: int, seconds: float) -> None:
    element.set("tests", str(tests))
    element.set("failures", str(counts[FAILURE]))
    element.set("errors", str(counts[ERROR]))
    element.set("time", f"{seconds:.3f}")


def _suite(result: EvalResult) -> tuple[ElementTree.Element, Counter[str]]:
    name = _text(result.eval_set.eval_set_id)
    suite = ElementTree.Element("testsuite", name=name)
    outcomes = Counter(outcome for case in result.cases if (outcome := _outcome(case)))
    _count(suite, outcomes, len(result.cases), result.totals.duration_seconds)
    suite.set("skipped", str(outcomes[SKIPPED]))
    suite.set("timestamp", result.created.partition(".")[0].removesuffix("Z"))
    facts = {
        "agent": result.agent.name,
        "config": result.config.path or "default",
        "result": result.result_id,
        "stopped": result.stopped,
    }
    of_cases = {
        f"{case.eval_id}.{key}": value for case in result.cases for key, value in _facts(case).items()
    }
    _properties(suite, {key: value for key, value in facts.items() if value} | of_cases)
    for case in result.cases:
        suite.append(_case(case, name))
    return suite, outcomes


def _case(case: CaseResult, classname: str) -> ElementTree.Element:
    seconds = sum(run.seconds for run in case.runs)
    element = ElementTree.Element(
        "testcase", name=_text(case.eval_id), classname=classname, time=f"{seconds:.3f}"
    )
    outcome = _outcome(case)
    if outcome:
        attributes = {"message": _text(headline(case)), "type": case.verdict.value}
        told = ElementTree.SubElement(element, outcome, attributes)
        told.text = _text("\n".join(_lines(case)))
    facts = "\n".join(f"{key}: {value}" for key, value in _facts(case).items())
    ElementTree.SubElement(element, "system-out").text = _text(facts)
    return element


def _outcome(case: CaseResult) -> str | None:
    """The element that says why a case did not pass."""
    if case.verdict is EvalStatus.PASSED:
        return None
    if case.verdict is EvalStatus.FAILED:
        only_crashed = case.crashed and all(one.status is not EvalStatus.FAILED for one in case.metrics)
        return ERROR if only_crashed else FAILURE
    return ERROR if case.attempts else SKIPPED


def _facts(case: CaseResult) -> dict[str, str]:
    """Counts of runs and scores of metrics, so that dashboards can plot them."""
    facts = {name: str(getattr(case, name)) for name in ("attempts", "scored", "passed", "crashed")}
    if case.pass_rate is not None:
        facts["pass_rate"] = number(case.pass_rate, 4)
    if case.flaky:
        facts["flaky"] = "true"
    for metric in case.metrics:
        if metric.score is not None:
            facts[f"{metric.metric_name}.score"] = number(metric.score, 4)
        if metric.threshold is not None:
            facts[f"{metric.metric_name}.threshold"] = number(metric.threshold, 4)
    return facts


def _properties(parent: ElementTree.Element, facts: dict[str, str]) -> None:
    properties = ElementTree.SubElement(parent, "properties")
    for name, value in facts.items():
        ElementTree.SubElement(properties, "property", name=_text(name), value=_text(value))


def _lines(case: CaseResult) -> Iterator[str]:
    for finding in findings(case):
        yield finding.text
        for cause in finding.causes:
            runs = seen_in(cause, case.attempts)
            yield f"  {cause.code}: {cause.seen}" + (f"  ({runs})" if runs else "")
            yield f"  change: {cause.change}"


def _text(text: str) -> str:
    """Text that XML can hold: control characters are spelled out."""
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", printable(text))
