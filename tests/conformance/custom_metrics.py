"""The check of custom metrics: each item's module is written to a folder, imported and run."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_eval.aggregate.outcome import outcome_of
from agent_eval.aggregate.verdict import case_result
from agent_eval.errors import InputError
from agent_eval.inputs.configs import parse_config
from agent_eval.metrics.configured import configured_metrics
from agent_eval.metrics.scoring import Scorer
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import MetricResult, RunRecord, RunStatus, SessionRecord
from agent_eval.schema.trace import EvalStatus, Invocation
from tests.conformance.compare import differences
from tests.conformance.marks import restored

Item = dict[str, Any]

UNEVALUATED = {"score": None, "status": EvalStatus.NOT_EVALUATED.value}
"""What ADK puts in the place of each turn that has no result of its own."""


def custom_metric(item: Item, header: Item) -> list[str]:
    """Two metrics as configured, one of them the item's, on the file's case and turns."""
    fixture = header["fixture"]
    case = EvalCase.model_validate(fixture["cases"][item["case"]])
    turns = [Invocation.model_validate(turn) for turn in fixture["actual"]]
    config = _config_of(item)
    refused = bool(item.get("refused"))
    with _own_modules(item) as folder:
        try:
            scorer = Scorer(configured_metrics(config, code_folders=(folder,), file="config.json"))
        except InputError as error:
            return [] if refused else [f"refused: {error}"]
        if refused:
            return ["not refused before anything runs"]
        results = asyncio.run(scorer.score(case, turns, {}))
    gating = {result.metric_name: result for result in results if result.metric_name in config.criteria}
    got = {
        "metrics": {name: _told(result, len(turns)) for name, result in gating.items()},
        "final_status": _verdict(config, case, turns, results),
        "actual_final_texts": [turn.final_response and turn.final_response.text for turn in turns],
    }
    return differences(got, {key: item[key] for key in got}) + _causes(gating, item)


def _config_of(item: Item) -> EvalConfig:
    criteria = {"response_match_score": 0.5, item["metric_name"]: restored(item["criterion"])}
    document: Item = {"criteria": {name: criteria[name] for name in item["order"]}}
    if item["declared"]:
        document["custom_metrics"] = {item["metric_name"]: {"code_config": {"name": item["path"]}}}
    return parse_config(json.dumps(document).encode(), "config.json")


@contextmanager
def _own_modules(item: Item) -> Iterator[Path]:
    """A folder with the item's files; what is imported from it is forgotten at the end."""
    files = dict(item.get("more_files") or {})
    if item["source"] is not None:
        files["my_metrics.py"] = item["source"]
    path, modules = sys.path.copy(), set(sys.modules)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        try:
            yield folder
        finally:
            sys.path[:] = path
            for module in set(sys.modules) - modules:
                if module.partition(".")[0] in ("my_metrics", "my_package"):
                    del sys.modules[module]


def _told(result: MetricResult, turns: int) -> Item:
    overall: Item = {"status": result.status.value, "score": result.score, "threshold": result.threshold}
    if result.rubric_scores is not None:
        overall["rubric_scores"] = [score.model_dump(mode="json") for score in result.rubric_scores]
    rows = [{"score": row.score, "status": row.status.value} for row in result.per_invocation]
    return {"overall": overall, "per_invocation": rows or [UNEVALUATED] * turns}


def _verdict(config: EvalConfig, case: EvalCase, turns: list[Invocation], results: list[MetricResult]) -> str:
    record = RunRecord(
        eval_set_id="conformance",
        eval_id=case.eval_id,
        run_index=0,
        seed=0,
        status=RunStatus.COMPLETED,
        started="2026-01-01T00:00:00Z",
        seconds=0.0,
        session=SessionRecord(app_name="shop", user_id="u", session_id="s", state={}),
        invocations=turns,
        metrics=results,
    )
    return case_result("conformance", case.eval_id, "", config, [outcome_of(record)]).verdict.value


def _causes(results: dict[str, MetricResult], item: Item) -> list[str]:
    """No metric without a score may be without a reason, and the reason is the exception that ADK met."""
    found = [
        f"{name}: no reason"
        for name, result in results.items()
        if result.status is EvalStatus.NOT_EVALUATED and not result.reason
    ]
    for name, error in item.get("metric_errors", {}).items():
        got = results[name].error
        found += differences(got.type if got else None, error["type"], f"metric_errors.{name}.type")
    return found
