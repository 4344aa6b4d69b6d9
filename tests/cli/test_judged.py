"""What is told of judged metrics before anything runs."""

from __future__ import annotations

from typing import Any

from tests.cli_support import Project, case, eval_set
from tests.metrics.judged.support import rubric

NAME = "rubric_based_final_response_quality_v1"


def planned(project: Project, rubrics: list[Any], of_case: list[Any]) -> tuple[int, str]:
    """Exit code and errors of a dry run."""
    project.agent()
    project.write("set.evalset.json", eval_set(case("greet", "hi", rubrics=of_case), case("other", "hi")))
    project.write("config.json", {"criteria": {NAME: {"threshold": 0.5, "rubrics": rubrics}}})
    found = project.agent_eval("run", "bot", "set.evalset.json", "--config", "config.json", "--dry_run")
    return found.code, " ".join(found.stderr.split())


def test_a_rubric_metric_that_fits_is_planned(project: Project) -> None:
    assert planned(project, [rubric("a")], [rubric("b", kind="FINAL_RESPONSE_QUALITY")])[0] == 0


def test_rubrics_that_cannot_be_judged_by_are_told_with_their_place(project: Project) -> None:
    code, told = planned(project, [rubric("a"), rubric("a")], [rubric("b")])
    assert code == 2
    assert told.count(f"config.json: criteria.{NAME}: duplicate rubric id `a`") == 1
    assert "set.evalset.json: case `greet`: rubric `b` has no `type`" in told


def test_cases_without_rubrics_are_told_each(project: Project) -> None:
    code, told = planned(project, [], [rubric("b", kind="FINAL_RESPONSE_QUALITY")])
    assert code == 2
    assert "case `other`: there are no rubrics to judge by" in told
    assert "case `greet`" not in told
