"""The informational metrics: what a turn cost. They are always computed and never gate.

Each is given per turn; the value of a run is the mean over its turns, so it reads "per turn".
None means not available, which is not zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_eval.metrics.base import EvalMetric, EvaluationResult, Evaluator, PerInvocationResult
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import (
    EvalStatus,
    Invocation,
    InvocationEvents,
    UsageMetadata,
    get_all_tool_calls,
)

Details = dict[str, float | None]

TOKEN_KEYS = (
    "total_tokens",
    "input_tokens",
    "prompt_tokens",
    "cached_tokens",
    "tool_use_tokens",
    "output_tokens",
    "candidates_tokens",
    "reasoning_tokens",
)
"""total = input + output; input = prompt (cached among them) + tool use; output = candidates + reasoning."""

DURATION_KEYS = ("total_seconds", "model_seconds", "tool_seconds", "framework_seconds")
"""total = model + tool + framework."""


def tool_calls(invocation: Invocation) -> float | None:
    """Tool calls of a turn."""
    return float(len(get_all_tool_calls(invocation.intermediate_data)))


def inference_calls(invocation: Invocation) -> float | None:
    """Model calls of a turn: events that report token usage or a model version."""
    if not isinstance(invocation.intermediate_data, InvocationEvents):
        return None
    events = invocation.intermediate_data.invocation_events
    return float(sum(e.usage_metadata is not None or e.model_version is not None for e in events))


def add_reported(*counts: float | None) -> float | None:
    """The sum of what was reported; None when nothing was."""
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported else None


def token_details(invocation: Invocation) -> Details:
    """Tokens of a turn by kind, summed over its model calls."""
    usages: list[UsageMetadata] = []
    if isinstance(invocation.intermediate_data, InvocationEvents):
        events = invocation.intermediate_data.invocation_events
        usages = [event.usage_metadata for event in events if event.usage_metadata is not None]
    prompt = add_reported(*(usage.prompt_token_count for usage in usages))
    cached = add_reported(*(usage.cached_content_token_count for usage in usages))
    tool_use = add_reported(*(usage.tool_use_prompt_token_count for usage in usages))
    candidates = add_reported(*(usage.candidates_token_count for usage in usages))
    reasoning = add_reported(*(usage.thoughts_token_count for usage in usages))
    given = add_reported(prompt, tool_use)
    made = add_reported(candidates, reasoning)
    counts = (add_reported(given, made), given, prompt, cached, tool_use, made, candidates, reasoning)
    return dict(zip(TOKEN_KEYS, counts, strict=True))


def duration_details(invocation: Invocation) -> Details:
    """Seconds of a turn by where they went; framework time is what model and tools leave over."""
    total, model, tool = invocation.duration, invocation.model_duration, invocation.tool_duration
    if total is None:
        return dict.fromkeys(DURATION_KEYS)
    framework = None if model is None or tool is None else round(max(total - model - tool, 0.0), 3)
    return dict(zip(DURATION_KEYS, (total, model, tool, framework), strict=True))


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of the values there are; None when there are none."""
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def mean_tokens(details: Sequence[Details]) -> Details:
    """Means over all turns: a kind that some turn reported counts as 0 where it was not reported."""
    means: Details = {}
    for key in TOKEN_KEYS:
        total = add_reported(*(turn[key] for turn in details))
        means[key] = None if total is None else total / len(details)
    return means


def mean_durations(details: Sequence[Details]) -> Details:
    """Means over the turns that were timed, in milliseconds' precision."""
    means = {key: mean_of([turn[key] for turn in details]) for key in DURATION_KEYS}
    return {key: None if value is None else round(value, 3) for key, value in means.items()}


def _informational(
    scores: Sequence[float | None],
    overall: float | None,
    per_turn: Sequence[Details | None],
    details: Details | None,
) -> EvaluationResult:
    return EvaluationResult(
        overall_score=overall,
        overall_eval_status=EvalStatus.INFORMATIONAL,
        details=details,
        per_invocation_results=[
            PerInvocationResult(score=score, eval_status=EvalStatus.INFORMATIONAL, details=turn)
            for score, turn in zip(scores, per_turn, strict=True)
        ],
    )


class EfficiencyEvaluator(Evaluator):
    """One informational metric. A threshold is refused: these metrics never pass or fail."""

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric)
        if eval_metric.threshold is not None or eval_metric.criterion is not None:
            raise ValueError(
                f"`{eval_metric.metric_name}` is always reported and never gates: it takes no threshold. "
                "Remove it from `criteria`."
            )
        self._measure = MEASURES[eval_metric.metric_name]

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Measures each turn and the mean."""
        return self._measure(actual_invocations)


def _counted(count: Callable[[Invocation], float | None]) -> Callable[[list[Invocation]], EvaluationResult]:
    def measure(invocations: list[Invocation]) -> EvaluationResult:
        scores = [count(invocation) for invocation in invocations]
        return _informational(scores, mean_of(scores), [None] * len(scores), None)

    return measure


def _broken_down(
    key: str, detail: Callable[[Invocation], Details], mean: Callable[[Sequence[Details]], Details]
) -> Callable[[list[Invocation]], EvaluationResult]:
    def measure(invocations: list[Invocation]) -> EvaluationResult:
        details = [detail(invocation) for invocation in invocations]
        if not details:
            return EvaluationResult(overall_eval_status=EvalStatus.INFORMATIONAL)
        overall = mean(details)
        return _informational([turn[key] for turn in details], overall[key], details, overall)

    return measure


MEASURES: dict[str, Callable[[list[Invocation]], EvaluationResult]] = {
    "tool_call_count_v1": _counted(tool_calls),
    "inference_call_count_v1": _counted(inference_calls),
    "token_usage_v1": _broken_down("total_tokens", token_details, mean_tokens),
    "invocation_duration_v1": _broken_down("total_seconds", duration_details, mean_durations),
}
