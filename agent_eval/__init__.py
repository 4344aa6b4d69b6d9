"""agent-eval runs evaluation sets against AI agents: did it pass, how sure are we, why did it fail.

    inputs      eval set + config, found and read
      -> plan         cases x runs
      -> agents       played by `simulation`
      -> schema.trace invocations
      -> metrics      scores
      -> store        run records, one a finished run
      -> aggregate    verdicts
      -> diagnose     causes
      -> report

`engine` drives it, `pipeline` wires it, `cli` starts it. The names below are the public ones;
they are imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_eval.agent_evaluator import AgentEvaluator
    from agent_eval.agents.python import Session
    from agent_eval.api import evaluate, evaluate_async
    from agent_eval.errors import AgentEvalError
    from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator, PerInvocationResult
    from agent_eval.preparation import JudgeOptions
    from agent_eval.schema.config import EvalConfig
    from agent_eval.schema.evalset import ConversationScenario, EvalCase, EvalSet
    from agent_eval.schema.result import CaseResult, EvalResult
    from agent_eval.schema.trace import (
        Content,
        EvalStatus,
        Event,
        FunctionCall,
        FunctionResponse,
        Invocation,
        Part,
        UsageMetadata,
        get_all_tool_calls,
        get_all_tool_calls_with_responses,
        get_all_tool_responses,
    )

_HOMES = {
    "agent_eval.agent_evaluator": ("AgentEvaluator",),
    "agent_eval.agents.python": ("Session",),
    "agent_eval.api": ("evaluate", "evaluate_async"),
    "agent_eval.errors": ("AgentEvalError",),
    "agent_eval.metrics.base": ("EvalMetric", "EvaluationResult", "Evaluator", "PerInvocationResult"),
    "agent_eval.preparation": ("JudgeOptions",),
    "agent_eval.schema.config": ("EvalConfig",),
    "agent_eval.schema.evalset": ("ConversationScenario", "EvalCase", "EvalSet"),
    "agent_eval.schema.result": ("CaseResult", "EvalResult"),
    "agent_eval.schema.trace": (
        "Content",
        "EvalStatus",
        "Event",
        "FunctionCall",
        "FunctionResponse",
        "Invocation",
        "Part",
        "UsageMetadata",
        "get_all_tool_calls",
        "get_all_tool_calls_with_responses",
        "get_all_tool_responses",
    ),
}

__all__ = [
    "AgentEvalError",
    "AgentEvaluator",
    "CaseResult",
    "Content",
    "ConversationScenario",
    "EvalCase",
    "EvalConfig",
    "EvalMetric",
    "EvalResult",
    "EvalSet",
    "EvalStatus",
    "EvaluationResult",
    "Evaluator",
    "Event",
    "FunctionCall",
    "FunctionResponse",
    "Invocation",
    "JudgeOptions",
    "Part",
    "PerInvocationResult",
    "Session",
    "UsageMetadata",
    "evaluate",
    "evaluate_async",
    "get_all_tool_calls",
    "get_all_tool_calls_with_responses",
    "get_all_tool_responses",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
