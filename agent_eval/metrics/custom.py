"""Metrics of the user's own: a function or an `Evaluator` class named by a dotted path in the config."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_eval.errors import InputError, Problem, did_you_mean
from agent_eval.imports import import_below
from agent_eval.metrics import adk_bridge
from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator, RunContext
from agent_eval.metrics.calls import called
from agent_eval.metrics.copies import own_copy
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import Invocation

MetricFunction = Callable[..., Any]
"""`f(eval_metric, actual_invocations, expected_invocations, conversation_scenario)`, sync or async."""


class CustomEvaluator(Evaluator):
    """Calls a function of the user's with copies."""

    def __init__(self, eval_metric: EvalMetric, function: MetricFunction, *, for_adk: bool) -> None:
        """Takes the metric, what computes it, and whether that was written for ADK's own classes."""
        super().__init__(eval_metric)
        self._function = function
        self._for_adk = for_adk

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Any:
        """What the code returns. The metric it sees has no threshold but the criterion's, as in ADK."""
        metric = self._eval_metric.model_copy(update={"threshold": None})
        arguments = (metric, actual_invocations, expected_invocations, conversation_scenario)
        given = adk_bridge.to_adk(*arguments) if self._for_adk else map(own_copy, arguments)
        return await called(self._function, *given)


class UserEvaluator(Evaluator):
    """Calls an `Evaluator` of the user's with copies."""

    def __init__(self, eval_metric: EvalMetric, evaluator: type[Evaluator]) -> None:
        super().__init__(eval_metric)
        self._evaluator = evaluator(eval_metric=own_copy(eval_metric))

    async def evaluate_run(self, run: RunContext) -> Any:
        """What the class returns."""
        given = RunContext(*map(own_copy, (run.case, run.invocations, dict(run.state), list(run.context))))
        turns = (given.invocations, given.case.conversation, given.case.conversation_scenario)
        if type(self._evaluator).evaluate_run is Evaluator.evaluate_run:
            return await called(self._evaluator.evaluate_invocations, *turns)
        return await called(self._evaluator.evaluate_run, given)

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Any:
        """What the class returns, for turns alone."""
        return self._evaluator.evaluate_invocations(
            actual_invocations, expected_invocations, conversation_scenario
        )

    async def aclose(self) -> None:
        """Closes the class's evaluator."""
        await called(self._evaluator.aclose)


class AdkClassEvaluator(Evaluator):
    """An `Evaluator` subclass of ADK, built once with the metric as ADK would give it."""

    def __init__(self, eval_metric: EvalMetric, evaluator: type[Any]) -> None:
        super().__init__(eval_metric)
        self._evaluator = evaluator(eval_metric=adk_bridge.adk_metric(eval_metric))

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Any:
        """What the class returns."""
        given = adk_bridge.to_adk(
            self._eval_metric, actual_invocations, expected_invocations, conversation_scenario
        )
        return await called(self._evaluator.evaluate_invocations, *given[1:])

    async def aclose(self) -> None:
        """Closes the class's evaluator, if it can be closed."""
        close = getattr(self._evaluator, "aclose", None)
        if close is not None:
            await called(close)


def import_metric(reference: str, folders: tuple[Path, ...], path: str) -> Any:
    """The function or class behind a dotted path, looked for in `folders` and among installed packages.

    Raises:
        InputError: no dot in the path, no such module or attribute, or nothing that can be called.
    """
    module_name, _, attribute = reference.rpartition(".")
    if not module_name or not attribute or not all(part.isidentifier() for part in reference.split(".")):
        raise InputError(
            Problem(f"`{reference}` is no dotted path", path=path, hint="write `module.function`")
        )
    try:
        with adk_bridge.stand_ins():
            module = import_below(module_name, folders)
    except SystemExit as error:
        return _exited(module_name, error)
    except Exception as error:  # whatever the user's module does when it is imported
        raise InputError(
            Problem(
                f"cannot import `{module_name}`: {type(error).__name__}: {error}",
                path=path,
                hint=_hint(module_name, error),
            )
        ) from error
    if not hasattr(module, attribute):
        raise InputError(
            Problem(
                f"module `{module_name}` has no `{attribute}`",
                path=path,
                hint=did_you_mean(attribute, vars(module)),
            )
        )
    found = getattr(module, attribute)
    if not callable(found):
        raise InputError(Problem(f"`{reference}` is {type(found).__name__}, not a function", path=path))
    return found


def _hint(module_name: str, error: Exception) -> str | None:
    """What to do about a module that cannot be imported."""
    if not isinstance(error, ImportError):
        return None
    if (error.name or "").startswith("google.adk"):
        return "install google-adk: agent-eval stands in for a part of google.adk.evaluation only"
    if error.name == module_name.partition(".")[0] and isinstance(error, ModuleNotFoundError):
        return "it is looked for beside the config, beside the eval set, in the project's root, and installed"
    return None


def _exited(module_name: str, error: SystemExit) -> MetricFunction:
    """A metric whose module ends the process when it is imported: nothing else is harmed by that."""

    def metric(*arguments: Any) -> EvaluationResult:
        raise RuntimeError(f"module `{module_name}` exited with {error.code} when it was imported")

    return metric


def _check_signature(eval_metric: EvalMetric, found: Any) -> None:
    """Refuses what cannot be called with a metric's four arguments, as far as its signature tells.

    Raises:
        InputError: it cannot.
    """
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        return  # some built-in functions have no signature
    try:
        signature.bind(*range(4))
    except TypeError as error:
        raise InputError(
            Problem(
                f"`{eval_metric.custom_function_path}` cannot be called with four arguments: {error}",
                path=f"custom_metrics.{eval_metric.metric_name}.code_config.name",
                hint="a metric takes (eval_metric, actual_invocations, expected_invocations, "
                "conversation_scenario)",
            )
        ) from None


def is_evaluator_class(found: Any) -> bool:
    """Whether something is an `Evaluator` subclass, ours or ADK's."""
    return isinstance(found, type) and (issubclass(found, Evaluator) or adk_bridge.is_adk_evaluator(found))


def build_evaluator(eval_metric: EvalMetric, evaluator: type[Evaluator]) -> Evaluator:
    """What computes a metric with an `Evaluator` class of ours or the user's."""
    if evaluator.__module__.startswith(adk_bridge.OURS):
        return evaluator(eval_metric)
    return UserEvaluator(eval_metric, evaluator)


def build_custom(eval_metric: EvalMetric, found: Any) -> Evaluator:
    """What computes a metric with the code that was imported for it.

    Raises:
        InputError: the code cannot be called as a metric is.
    """
    if isinstance(found, type) and issubclass(found, Evaluator):
        return build_evaluator(eval_metric, found)
    if isinstance(found, type) and adk_bridge.is_adk_evaluator(found):
        return AdkClassEvaluator(eval_metric, found)
    _check_signature(eval_metric, found)
    return CustomEvaluator(eval_metric, found, for_adk=adk_bridge.is_written_for_adk(found))
