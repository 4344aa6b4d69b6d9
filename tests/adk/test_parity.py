"""The same packages through real `adk eval` and through agent-eval: the same scores, verdicts and counts."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from agent_eval.errors import InputError
from agent_eval.options import Options
from agent_eval.pipeline import evaluate
from agent_eval.preparation import plan_evaluation
from agent_eval.schema.result import MetricResult
from agent_eval.store.journal import SUFFIX, read_journal
from tests.adk import MARKS

pytestmark = [*MARKS, pytest.mark.usefixtures("own_imports")]

ROOT = Path(__file__).parents[2]
E2E = ROOT / "tests" / "data" / "adk_e2e"
STATUS = {1: "PASSED", 2: "FAILED", 3: "NOT_EVALUATED", 4: "INFORMATIONAL"}
UNTIMED = "invocation_duration_v1"
"""The metric whose values differ from run to run."""

Score = tuple[float | None, str]


@dataclass
class CaseScores:
    """What a case came to, the same whoever says it."""

    verdict: str
    overall: dict[str, Any] = field(default_factory=dict)
    """Score, status, threshold and details by metric."""
    turns: list[dict[str, Score]] = field(default_factory=list)
    """Score and status by metric."""


Scores = dict[tuple[str, str], CaseScores]
"""By eval set and case."""


def rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 12)


def adk_scores(files: list[Path]) -> Scores:
    """What ADK's result files say."""
    scores: Scores = {}
    for file in files:
        document = json.loads(file.read_text())
        for case in document["eval_case_results"]:
            scores[document["eval_set_id"], case["eval_id"]] = CaseScores(
                STATUS[case["final_eval_status"]],
                {
                    metric["metric_name"]: (
                        rounded(metric["score"]),
                        STATUS[metric["eval_status"]],
                        metric["threshold"],
                        adk_details(metric),
                    )
                    for metric in case["overall_eval_metric_results"]
                    if metric["metric_name"] != UNTIMED
                },
                [
                    {
                        metric["metric_name"]: (rounded(metric["score"]), STATUS[metric["eval_status"]])
                        for metric in turn["eval_metric_results"]
                        if metric["metric_name"] != UNTIMED
                    }
                    for turn in case["eval_metric_result_per_invocation"]
                ],
            )
    return scores


def adk_details(metric: dict[str, Any]) -> dict[str, float]:
    details = (metric.get("details") or {}).get("token_usage_details") or {}
    return {name: value for name, value in details.items() if value is not None}


def our_scores(results: Path) -> Scores:
    """What our summaries say of verdicts, and our journals of everything else."""
    scores: Scores = {}
    for summary in sorted(results.glob("*/*.json"), key=lambda file: file.name):
        set_id = json.loads(summary.read_text())["eval_set"]["eval_set_id"]
        verdicts = {case["eval_id"]: case["verdict"] for case in json.loads(summary.read_text())["cases"]}
        for record in read_journal(summary.with_name(summary.stem + SUFFIX)):
            metrics = [metric for metric in record.metrics if metric.metric_name != UNTIMED]
            scores[set_id, record.eval_id] = CaseScores(
                verdicts[record.eval_id],
                {metric.metric_name: our_overall(metric) for metric in metrics},
                [our_turn(metrics, turn) for turn in range(len(record.invocations) if metrics else 0)],
            )
    return scores


def our_overall(metric: MetricResult) -> Any:
    return rounded(metric.score), metric.status.value, metric.threshold, metric.overall().details or {}


def our_turn(metrics: list[MetricResult], turn: int) -> dict[str, Score]:
    rows = {metric.metric_name: metric.per_invocation[turn] for metric in metrics}
    return {name: (rounded(row.score), row.status.value) for name, row in rows.items()}


def counts(scores: Scores) -> dict[str, tuple[int, int]]:
    """Cases passed and not passed, by eval set."""
    sets = dict.fromkeys(set_id for set_id, _ in scores)
    verdicts = {set_id: [case.verdict for key, case in scores.items() if key[0] == set_id] for set_id in sets}
    return {
        set_id: (found.count("PASSED"), len(found) - found.count("PASSED"))
        for set_id, found in verdicts.items()
    }


def environment() -> dict[str, str]:
    """Without what would make the samples ask a real model."""
    dropped = ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {"COLUMNS": "100", "PYTHONWARNINGS": "ignore"}


def both(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], ...]:
    """`adk eval` and `agent-eval run` with the same arguments, at the same time."""
    commands = (
        [sys.executable, "-m", "google.adk.cli", "eval", *arguments],
        [sys.executable, "-m", "agent_eval", "run", *arguments],
    )
    started = [
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for command in commands
    ]
    ended = [process.communicate(timeout=120) for process in started]
    return tuple(
        subprocess.CompletedProcess(process.args, process.returncode, *output)
        for process, output in zip(started, ended, strict=True)
    )


def sample(name: str) -> tuple[Path, str, list[str], str]:
    folder = f"adk_{name}"
    sets = [f"{folder}/{name}.evalset.json", f"{folder}/{name}_failing.evalset.json"]
    return ROOT / "sample_agents" / folder, folder, sets, f"{folder}/test_config.json"


SHOP = E2E / "agent" / "shop_agent"
ORDERS = ["shop_agent/orders.evalset.json"]
CUSTOM = "other/config_custom.json"
RUNS = {
    "shop": (SHOP, "shop_agent", ORDERS, "shop_agent/test_config.json"),
    "metric of its own": (SHOP, "shop_agent", ORDERS, CUSTOM),
    "weather desk": sample("weather_desk"),
    "support desk": sample("support_desk"),
    "release notes": sample("release_notes"),
}
EXPECTED = {
    "shop": {"orders": (1, 4)},
    "metric of its own": {"orders": (2, 3)},
    "weather desk": {"weather_desk": (6, 0), "weather_desk_failing": (0, 3)},
    "support desk": {"support_desk": (6, 0), "support_desk_failing": (0, 3)},
    "release notes": {"release_notes": (5, 0), "release_notes_failing": (0, 3)},
}


@pytest.mark.parametrize("name", RUNS)
def test_adk_eval_gives_the_same(name: str, tmp_path: Path) -> None:
    package, agent, eval_sets, config = RUNS[name]
    shutil.copytree(package, tmp_path / agent)
    if config == CUSTOM:
        shutil.copytree(E2E / "agent" / "other", tmp_path / "other")

    theirs, ours = both(tmp_path, agent, *eval_sets, "--config_file_path", config, "--print_detailed_results")

    expected = adk_scores(sorted((tmp_path / agent / ".adk" / "eval_history").iterdir()))
    assert our_scores(tmp_path / ".agent_eval" / "results") == expected, ours.stderr
    assert counts(expected) == EXPECTED[name]
    printed = re.findall(
        r"^(\w+):\n  Tests passed: (\d+)\n  Tests failed: (\d+)", theirs.stdout, re.MULTILINE
    )
    assert {set_id: (int(passed), int(failed)) for set_id, passed, failed in printed} == EXPECTED[name]
    assert ours.returncode == theirs.returncode == 1


RECORDED: dict[str, dict[str, Any]] = {
    item["name"]: item for item in json.loads((E2E / "runs.json").read_text())["items"]
}
SAME = (
    "all_detailed",
    "all_plain",
    "one_passing",
    "one_failing",
    "one_raising",
    "same_set_twice",
    "two_sets",
    "no_config_beside",
    "no_config_anywhere",
    "custom_metric",
    "legacy_set_here",
    "no_reference",
    "by_id",
)
"""Recorded runs in which ADK's answer stands."""
REFUSED = (
    "config_missing",
    "misspelled_metric",
    "no_criteria",
    "efficiency_threshold",
    "bad_config",
    "bad_set",
    "two_selected",
)
"""Recorded runs in which agent-eval finds something wrong before anything runs."""


def recorded_options(name: str) -> Options:
    _, agent, *rest = [word for word in RECORDED[name]["args"] if word != "--print_detailed_results"]
    config = rest.index("--config_file_path") if "--config_file_path" in rest else len(rest)
    return Options(agent=agent, eval_sets=tuple(rest[:config]), config=(rest[config + 1 :] or [None])[0])


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the recorded runs."""
    shutil.copytree(E2E / "agent", tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.mark.parametrize("name", SAME)
def test_recorded_runs_of_adk_give_the_same(name: str, shop: Path) -> None:
    asyncio.run(evaluate(plan_evaluation(recorded_options(name))))

    expected = adk_scores([E2E / one["file"] for one in RECORDED[name]["result_files"]])
    if name == "legacy_set_here":  # a set in the old form has no id: ADK takes the whole file name
        expected = {("legacy_here", eval_id): scores for (_, eval_id), scores in expected.items()}
    assert our_scores(shop / ".agent_eval" / "results") == expected


@pytest.mark.parametrize("name", REFUSED)
def test_recorded_runs_that_agent_eval_refuses(name: str, shop: Path) -> None:
    with pytest.raises(InputError):
        plan_evaluation(recorded_options(name))


def test_blank_before_a_case_name_is_no_part_of_it(shop: Path) -> None:
    asyncio.run(evaluate(plan_evaluation(recorded_options("case_name_with_space"))))

    found = our_scores(shop / ".agent_eval" / "results")
    expected = adk_scores([E2E / one["file"] for one in RECORDED["case_name_with_space"]["result_files"]])
    assert {eval_id for _, eval_id in found} == {"extra_tool", "pass_multi_turn"}
    assert found["orders", "extra_tool"] == expected["orders", "extra_tool"]
