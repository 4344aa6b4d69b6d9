"""Oracles for custom metrics: as in rules.py, ADK's answer -> the answer by a rule of DIFFERENCES.md."""

from __future__ import annotations

import ast
from typing import Any

Item = dict[str, Any]

OTHER = "response_match_score"
UNHARMED: Item = {
    "overall": {"status": "PASSED", "score": 0.5, "threshold": 0.5},
    "per_invocation": [{"status": "PASSED", "score": 1.0}, {"status": "FAILED", "score": 0.0}],
}
"""What the other metric gives where nobody disturbs it."""
TEXTS = ["Order 7 is on its way.", "Any time."]
"""The answers of the actual turns."""
NO_ROW = {"status": "NOT_EVALUATED", "score": None}

UNUSABLE = ("ImportError", "NotFoundError", "SyntaxError")
"""Exceptions of a metric that cannot be set up; one that runs into an import gives a ModuleNotFoundError."""
UNCALLABLE = ("callable", "positional argument", "relative import")


def before_anything_runs(item: Item) -> Item:
    """A metric that cannot be imported, found or called as metrics are is refused."""
    error = item.get("metric_errors", {}).get(item["metric_name"])
    if not error:
        return item
    unusable = (
        error["type"] in UNUSABLE
        or any(words in error["message"] for words in UNCALLABLE)
        or "metric" not in (item["source"] or "")
    )
    return {**item, "refused": True} if unusable else item


def bare_number(item: Item) -> Item:
    """A number that is returned is the overall score, against the criterion's threshold."""
    returned = _returned(item)
    is_number = isinstance(returned, ast.Constant) and type(returned.value) in (int, float)
    if "run_raises" not in item or not isinstance(returned, ast.Constant) or not is_number:
        return item
    score = float(returned.value)
    return _with_overall(item, "PASSED" if score >= item["criterion"] else "FAILED", score)


def whole_conversation(item: Item) -> Item:
    """An overall verdict without rows is taken as it is."""
    returned = _returned(item)
    if "run_raises" not in item or not isinstance(returned, ast.Call):
        return item
    given = {keyword.arg: keyword.value for keyword in returned.keywords}
    score, status = given.get("overall_score"), given.get("overall_eval_status")
    if not isinstance(score, ast.Constant) or not isinstance(status, ast.Attribute) or len(given) != 2:
        return item
    return _with_overall(item, status.attr, score.value)


def contained(item: Item) -> Item:
    """What would end the whole run concerns this metric alone."""
    return _with_overall(item, "NOT_EVALUATED", None) if "run_raises" in item else item


def finite_score(item: Item) -> Item:
    """A score that is not finite is none."""
    overall = item.get("metrics", {}).get(item["metric_name"], {}).get("overall", {})
    return _with_overall(item, "NOT_EVALUATED", None) if isinstance(overall.get("score"), dict) else item


def isolated(item: Item) -> Item:
    """What this metric changes in the turns, neither the other metric nor the record sees."""
    source = item["source"] or ""
    changes = "actual_invocations.clear()" in source or ".parts[0].text =" in source
    if not changes:
        return item
    errors = {name: error for name, error in item.get("metric_errors", {}).items() if name != OTHER}
    return {
        **item,
        "metrics": {**item["metrics"], OTHER: UNHARMED},
        "metric_errors": errors,
        "actual_final_texts": TEXTS,
    }


def _returned(item: Item) -> ast.expr | None:
    """What the metric function returns, if it is a function that does nothing else."""
    try:
        module = ast.parse(item["source"] or "")
    except SyntaxError:
        return None
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "metric":
            only = node.body[0] if len(node.body) == 1 else None
            return only.value if isinstance(only, ast.Return) else None
    return None


def _with_overall(item: Item, status: str, score: float | None) -> Item:
    """The item with this overall result of its metric, no rows of it, and the other metric unharmed."""
    kept = {key: value for key, value in item.items() if key not in ("run_raises", "metric_errors")}
    overall = {"status": status, "score": score, "threshold": item["criterion"]}
    results = {item["metric_name"]: {"overall": overall, "per_invocation": [NO_ROW, NO_ROW]}, OTHER: UNHARMED}
    return {
        **kept,
        "metrics": {name: results[name] for name in item["order"]},
        "final_status": status,
        "actual_final_texts": TEXTS,
    }
