"""Ten metric modules written for ADK, run unchanged: without google-adk, and with it."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from agent_eval.schema.result import MetricResult
from tests.cli_support import Outcome, Project

MODULES = Path(__file__).parents[1] / "data" / "adk_metrics"

WITHOUT_ADK = """\
    import sys


    class Hidden:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name == "google.adk":
                raise ModuleNotFoundError("No module named 'google.adk'", name=name)


    sys.meta_path.insert(0, Hidden)
    """
"""As `sitecustomize.py`: google-adk is not there, even where it is installed."""

Scores = dict[str, tuple[str, float | None, list[float | None]]]
"""Metric -> status, overall score, score of each turn."""

GOOD: Scores = {
    "response_length": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
    "number_of_turns": ("PASSED", 3.0, [1.0, 1.0, 1.0]),
    "boundaries": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
    "heuristic": ("NOT_EVALUATED", None, []),
    "tool_trajectory_avg_score": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
    "order_and_forbidden": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
    "same_rows": ("PASSED", 1.0, [1.0, None, None]),
    "document": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
    "right_sheet": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
    "right_tax_type": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
    "human_gate": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
}
BAD: Scores = {
    "response_length": ("FAILED", 2 / 3, [0.0, 1.0, 1.0]),
    "number_of_turns": ("PASSED", 3.0, [1.0, 1.0, 1.0]),
    "boundaries": ("FAILED", 2 / 3, [1.0, 1.0, 0.0]),
    "heuristic": ("NOT_EVALUATED", None, []),
    "tool_trajectory_avg_score": ("FAILED", 2 / 3, [0.0, 1.0, 1.0]),
    "order_and_forbidden": ("FAILED", 0.5, [0.0, 0.5, 1.0]),
    "same_rows": ("FAILED", 0.0, [0.0, None, None]),
    "document": ("FAILED", 2 / 3, [1.0, 1.0, 0.0]),
    "right_sheet": ("FAILED", 2 / 3, [1.0, 1.0, 0.0]),
    "right_tax_type": ("PASSED", 1.0, [1.0, 1.0, 1.0]),
    "human_gate": ("FAILED", 0.0, [0.0, 0.0, 0.0]),
}


def set_up(project: Project) -> Project:
    shutil.copytree(MODULES, project.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return project


def run(project: Project, **variables: str) -> Outcome:
    return project.agent_eval("run", "desk.py", "desk.evalset.json", "--print_detailed_results", **variables)


def scores_of(metrics: list[MetricResult]) -> Scores:
    return {
        metric.metric_name: (metric.status.value, metric.score, [row.score for row in metric.per_invocation])
        for metric in metrics
        if metric.threshold is not None
    }


def check(project: Project, done: Outcome) -> None:
    assert done.code == 1, done.stderr
    bad, good, no_sql = (record.metrics for record in project.records())
    assert scores_of(good) == GOOD
    assert scores_of(bad) == BAD
    assert scores_of(no_sql)["same_rows"] == ("NOT_EVALUATED", None, [])
    (order,) = (metric for metric in bad if metric.metric_name == "order_and_forbidden")
    first = order.per_invocation[0].rubric_scores
    assert first
    assert [rubric.rationale for rubric in first] == [
        "called run_sql, create_document, wanted search_docs, run_sql",
        "called create_document",
    ]
    assert order.rubric_scores
    assert len(order.rubric_scores) == 6
    (heuristic,) = (metric for metric in good if metric.metric_name == "heuristic")
    assert heuristic.reason
    assert "'>=' not supported between instances of 'float' and 'NoneType'" in heuristic.reason
    assert "read eval_metric.criterion.threshold" in heuristic.reason
    assert "read eval_metric.criterion.threshold" in " ".join(done.stdout.split())
    assert "m04_heuristic.py" in "".join(done.stdout.split())  # a long path is wrapped


def test_metrics_written_for_adk_run_without_it(project: Project) -> None:
    set_up(project).write("hidden/sitecustomize.py", WITHOUT_ADK)

    done = run(project, PYTHONPATH=str(project.root / "hidden"))

    check(project, done)


@pytest.mark.adk
def test_metrics_written_for_adk_run_with_it(project: Project) -> None:
    assert importlib.util.find_spec("google.adk.evaluation")

    done = run(set_up(project))

    check(project, done)
