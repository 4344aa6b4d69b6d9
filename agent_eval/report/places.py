"""Results for tools that show findings beside lines: GitHub's annotations, GitLab's code quality."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_eval.printable import printable
from agent_eval.report.why import findings, headline
from agent_eval.schema.result import CaseResult, EvalResult
from agent_eval.schema.trace import EvalStatus

MAX_ANNOTATIONS = 10
"""Of a kind: GitHub shows no more of one step. The last one says how many there would be."""


@dataclass(frozen=True, slots=True)
class Located:
    """A result, and where its cases are written."""

    result: EvalResult
    path: str
    """Of the eval set, from the top of the repository."""
    lines: Mapping[str, int]
    """The line of each case by its id, as far as that is known."""

    @property
    def unpassed(self) -> list[CaseResult]:
        """The cases to tell of."""
        return [case for case in self.result.cases if case.verdict is not EvalStatus.PASSED]


def github_annotations(results: Sequence[Located]) -> Iterator[str]:
    """GitHub's workflow commands: an error for each case that failed, a warning for each not evaluated."""
    for command, verdict in (("error", EvalStatus.FAILED), ("warning", EvalStatus.NOT_EVALUATED)):
        found = [(one, case) for one in results for case in one.unpassed if case.verdict is verdict]
        shown = found if len(found) <= MAX_ANNOTATIONS else found[: MAX_ANNOTATIONS - 1]
        for one, case in shown:
            properties = {
                "file": one.path,
                "line": str(one.lines.get(case.eval_id, 1)),
                "title": f"{case.eval_id} {_said(verdict)}",
            }
            named = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
            yield f"::{command} {named}::{_data(_message(case))}"
        if len(found) > len(shown):
            yield f"::{command}::and {len(found) - len(shown)} more cases {_said(verdict)}"


def _said(verdict: EvalStatus) -> str:
    return "failed" if verdict is EvalStatus.FAILED else "was not evaluated"


def _message(case: CaseResult) -> str:
    """What was found first, its most likely cause, and what to change."""
    found = findings(case)
    causes = [cause for finding in found for cause in finding.causes]
    lines = [finding.text for finding in found] + [f"{one.code}: {one.seen}" for one in causes[:1]]
    return "\n".join([*lines, *(f"Change: {one.change}" for one in causes[:1])]) or case.verdict.value


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def code_quality(results: Sequence[Located]) -> list[dict[str, Any]]:
    """GitLab's code quality report: a finding for each case that did not pass.

    The fingerprint is the case's: GitLab tells by it which findings are new in a merge request.
    """
    return [
        {
            "description": printable(f"{case.eval_id} {_said(case.verdict)}: {headline(case)}"),
            "check_name": f"agent-eval.{case.verdict.value.lower()}",
            "fingerprint": hashlib.sha256(
                "\0".join((one.result.eval_set.eval_set_id, case.eval_id)).encode("utf-8", "replace")
            ).hexdigest(),
            "severity": "major" if case.verdict is EvalStatus.FAILED else "minor",
            "location": {"path": one.path, "lines": {"begin": one.lines.get(case.eval_id, 1)}},
        }
        for one in results
        for case in one.unpassed
    ]
