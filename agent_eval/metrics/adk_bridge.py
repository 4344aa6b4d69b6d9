"""Metrics written for google-adk: with it, they get its classes; without it, ours stand in.

google-adk is imported here only when a metric has imported it already.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from agent_eval.metrics.base import EvalMetric
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import Invocation

EVALUATION = "google.adk.evaluation"
OURS = "agent_eval."


def is_installed() -> bool:
    """Whether ADK's evaluation package is there."""
    try:
        return importlib.util.find_spec(EVALUATION) is not None
    except ModuleNotFoundError:
        return False


def is_adk_evaluator(found: type[Any]) -> bool:
    """Whether a class derives from ADK's `Evaluator`."""
    return any(cls.__module__ == f"{EVALUATION}.evaluator" for cls in found.__mro__)


def is_written_for_adk(function: Any) -> bool:
    """Whether a function's module, or one that it takes code from, has names of ADK's evaluation package.

    A function may also import them when it is called.
    """
    while isinstance(function, functools.partial):
        function = function.func
    module = sys.modules.get(getattr(function, "__module__", None) or type(function).__module__)
    names = _code_of(function).co_names if _code_of(function) else ()
    if module is None or any(name.startswith(EVALUATION) for name in names):
        return module is not None
    homes = {_home(value) for value in list(vars(module).values())}
    near = [sys.modules.get(home) for home in homes if not home.startswith(OURS)]
    return _has_names_of_adk(module) or any(map(_has_names_of_adk, filter(None, near)))


def _code_of(function: Any) -> Any:
    return getattr(inspect.unwrap(function), "__code__", None)


def _has_names_of_adk(module: ModuleType) -> bool:
    return any(_home(value).startswith(EVALUATION) for value in list(vars(module).values()))


def _home(value: Any) -> str:
    """The module that a value comes from, or is."""
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", None) or "") if callable(value) else ""


def registered_with_adk(name: str) -> type[Any] | None:
    """The evaluator class that code has registered in ADK's default registry; None without one."""
    module = sys.modules.get(f"{EVALUATION}.metric_evaluator_registry")
    default = getattr(module, "DEFAULT_METRIC_EVALUATOR_REGISTRY", None)
    entry = getattr(default, "_registry", {}).get(name)  # it has no public look-up of a class
    found = entry[0] if isinstance(entry, tuple) else entry
    return found if isinstance(found, type) else None


def adk_metric(metric: EvalMetric) -> Any:
    """Our metric as ADK's class."""
    from google.adk.evaluation import eval_metrics

    return eval_metrics.EvalMetric(
        metric_name=metric.metric_name,
        threshold=metric.threshold,
        criterion=metric.criterion
        and eval_metrics.BaseCriterion.model_validate(metric.criterion.model_dump()),
        custom_function_path=metric.custom_function_path,
    )


def to_adk(
    metric: EvalMetric,
    actual: list[Invocation],
    expected: list[Invocation] | None,
    scenario: ConversationScenario | None,
) -> tuple[Any, ...]:
    """A metric's four arguments as ADK's classes."""
    from google.adk.evaluation import conversation_scenarios, eval_case

    def converted(invocation: Invocation) -> Any:
        text = invocation.model_dump_json(exclude_none=True, by_alias=False, exclude=NOT_ADKS)
        made = eval_case.Invocation.model_validate_json(text)
        if isinstance(made.intermediate_data, eval_case.InvocationEvents):
            made.intermediate_data = _with_lists().model_construct(**vars(made.intermediate_data))
        return made

    return (
        adk_metric(metric),
        [converted(invocation) for invocation in actual],
        None if expected is None else [converted(invocation) for invocation in expected],
        scenario
        and conversation_scenarios.ConversationScenario.model_validate_json(
            scenario.model_dump_json(exclude_none=True, by_alias=False)
        ),
    )


NOT_ADKS: Any = {"incidents": True, "intermediate_data": {"invocation_events": {"__all__": {"mocked"}}}}
"""What ADK's classes refuse."""


@functools.cache
def _with_lists() -> Any:
    """ADK's events form of a turn's steps, with the properties that ours has: metrics read them on both."""
    from google.adk.evaluation import eval_case

    lists = {
        "tool_uses": property(eval_case.get_all_tool_calls),
        "tool_responses": property(eval_case.get_all_tool_responses),
        "__module__": eval_case.__name__,
    }
    return type("InvocationEvents", (eval_case.InvocationEvents,), lists)


@contextmanager
def stand_ins() -> Iterator[None]:
    """Our classes under ADK's module names, as long as it lasts; nothing where google-adk is installed."""
    if is_installed():
        yield
        return
    modules = {name: module for name, module in _modules().items() if name not in sys.modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]


def _modules() -> dict[str, ModuleType]:
    """The modules that metrics import from, made of our own names."""
    from agent_eval.metrics import base, registry
    from agent_eval.schema import config, evalset, result, trace

    names: dict[str, dict[str, Any]] = {
        "": {},
        ".app_details": _names(trace, "AgentDetails AppDetails"),
        ".conversation_scenarios": _names(evalset, "ConversationScenario"),
        ".eval_case": {
            **_names(
                trace,
                "IntermediateData IntermediateDataType Invocation InvocationEvent InvocationEvents "
                "get_all_tool_calls get_all_tool_calls_with_responses get_all_tool_responses",
            ),
            **_names(evalset, "ConversationScenario EvalCase SessionInput"),
        },
        ".eval_metrics": {
            **_names(base, "EvalMetric"),
            **_names(trace, "EvalStatus Rubric"),
            **_names(result, "RubricScore"),
            **_names(config, "BaseCriterion Interval JudgeModelOptions MetricInfo MetricValueInfo"),
            "LlmAsAJudgeCriterion": config.JudgeCriterion,
            "RubricsBasedCriterion": config.RubricsCriterion,
            "HallucinationsCriterion": config.HallucinationsCriterion,
            "ToolTrajectoryCriterion": config.TrajectoryCriterion,
            "_get_metric_threshold": base.threshold_of,
        },
        ".eval_rubrics": {**_names(trace, "Rubric RubricContent"), **_names(result, "RubricScore")},
        ".eval_set": _names(evalset, "EvalSet"),
        ".evaluator": {
            **_names(base, "EvaluationResult Evaluator PerInvocationResult"),
            **_names(trace, "EvalStatus"),
        },
        ".metric_evaluator_registry": {
            **_names(registry, "MetricEvaluatorRegistry"),
            "DEFAULT_METRIC_EVALUATOR_REGISTRY": registry.DEFAULT_REGISTRY,
        },
    }
    modules = {EVALUATION + suffix: _module(EVALUATION + suffix, held) for suffix, held in names.items()}
    for suffix in names:
        if suffix:
            setattr(modules[EVALUATION], suffix[1:], modules[EVALUATION + suffix])
    adk = _module("google.adk", {"evaluation": modules[EVALUATION]})
    return {"google.adk": adk, **modules}


def _names(module: ModuleType, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


def _module(name: str, held: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []  # a package, so that modules below it can be imported
    vars(module).update(held)
    return module
