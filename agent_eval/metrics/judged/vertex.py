"""`"backend": "vertex"`: the metrics that ADK lets Vertex AI score, through ADK's own evaluators."""

from __future__ import annotations

import importlib
import os
from typing import Any

from agent_eval.errors import InputError, Problem
from agent_eval.metrics.adk_bridge import EVALUATION
from agent_eval.metrics.base import EvalMetric, Evaluator
from agent_eval.metrics.custom import AdkClassEvaluator

_CLASSES = {
    "safety_v1": "safety_evaluator.SafetyEvaluatorV1",
    "response_evaluation_score": "response_evaluator.ResponseEvaluator",
    "multi_turn_task_success_v1": "multi_turn_task_success_evaluator.MultiTurnTaskSuccessV1Evaluator",
    "multi_turn_trajectory_quality_v1": (
        "multi_turn_trajectory_quality_evaluator.MultiTurnTrajectoryQualityV1Evaluator"
    ),
    "multi_turn_tool_use_quality_v1": (
        "multi_turn_tool_use_quality_evaluator.MultiTurnToolUseQualityV1Evaluator"
    ),
}
_VARIABLES = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
_API_KEY = "GOOGLE_API_KEY"


def vertex_evaluator(eval_metric: EvalMetric) -> Evaluator:
    """ADK's evaluator of a metric.

    Raises:
        InputError: google-adk with its `eval` extra is not installed, or no project is given.
    """
    path = f"criteria.{eval_metric.metric_name}.backend"
    try:
        importlib.import_module(f"{EVALUATION}.vertex_ai_eval_facade")  # needs all of the extra
        found = _class_of(eval_metric.metric_name)
    except ImportError as error:
        told = f"`vertex` needs google-adk with its `eval` extra: {error}"
        raise InputError(Problem(told, path=path, hint="pip install 'google-adk[eval]'")) from None
    missing = [name for name in _VARIABLES if not os.environ.get(name)]
    if missing and not os.environ.get(_API_KEY):
        raise InputError(
            Problem(
                f"`vertex` needs a Google Cloud project: {' and '.join(missing)} not set",
                path=path,
                hint="set it in the environment or in a file given with --env_file",
            )
        )
    return AdkClassEvaluator(eval_metric, found)


def _class_of(metric_name: str) -> type[Any]:
    module, _, name = _CLASSES[metric_name].partition(".")
    found: type[Any] = getattr(importlib.import_module(f"{EVALUATION}.{module}"), name)
    return found
