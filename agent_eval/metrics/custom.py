"""Metrics of the user's own: a function named by a dotted path in the config."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_eval.errors import InputError, Problem
from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import Invocation

MetricFunction = Callable[..., Any]
"""`f(eval_metric, actual_invocations, expected_invocations, conversation_scenario)`, sync or async."""


class CustomFunctionEvaluator(Evaluator):
    """Calls a function of the user's with four positional arguments."""

    def __init__(self, eval_metric: EvalMetric, function: MetricFunction) -> None:
        super().__init__(eval_metric)
        self._function = function

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """What the function returns; it sees copies, and no threshold but the criterion's.

        Raises:
            TypeError: the function returned something else than an `EvaluationResult`.
        """
        metric = self._eval_metric.model_copy(deep=True)
        metric.threshold = None
        result = self._function(
            metric,
            [invocation.model_copy(deep=True) for invocation in actual_invocations],
            expected_invocations
            and [invocation.model_copy(deep=True) for invocation in expected_invocations],
            conversation_scenario,
        )
        if inspect.isawaitable(result):
            result = await result
        if not isinstance(result, EvaluationResult):
            raise TypeError(f"the metric returned {type(result).__name__}, not an EvaluationResult")
        return result


def import_metric(reference: str, folders: tuple[Path, ...], path: str) -> MetricFunction:
    """The function behind a dotted path, looked for in `folders` and among installed packages.

    Raises:
        InputError: no dot in the path, no such module or attribute, or nothing that can be called.
    """
    module_name, _, attribute = reference.rpartition(".")
    if not module_name or not attribute:
        raise InputError(
            Problem(f"`{reference}` is no dotted path", path=path, hint="write `module.function`")
        )
    for folder in reversed(folders):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    try:
        function = getattr(importlib.import_module(module_name), attribute)
    except AttributeError:
        raise InputError(Problem(f"module `{module_name}` has no `{attribute}`", path=path)) from None
    except Exception as error:  # whatever the user's module does when it is imported
        raise InputError(
            Problem(f"cannot import `{module_name}`: {type(error).__name__}: {error}", path=path)
        ) from error
    if not callable(function):
        raise InputError(Problem(f"`{reference}` is {type(function).__name__}, not a function", path=path))
    metric: MetricFunction = function
    return metric
