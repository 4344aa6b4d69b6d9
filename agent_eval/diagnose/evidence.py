"""What rules look at: a run record, turn by turn, and the metric that did not pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agent_eval import serde
from agent_eval.diagnose.base import Kind
from agent_eval.schema.result import ErrorInfo, ExpectedTurn, InvocationScore, MetricResult, RunRecord
from agent_eval.schema.trace import (
    EvalStatus,
    FunctionCall,
    FunctionResponse,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    get_all_tool_calls,
    get_all_tool_responses,
)

_KINDS = {
    "tool_trajectory_avg_score": Kind.CALLS,
    "response_match_score": Kind.WORDS,
    "final_response_match_v2": Kind.MEANING,
    "response_evaluation_score": Kind.MEANING,
    "hallucinations_v1": Kind.JUDGED,
    "safety_v1": Kind.JUDGED,
    "rubric_based_final_response_quality_v1": Kind.JUDGED,
    "rubric_based_tool_use_quality_v1": Kind.JUDGED,
    "rubric_based_multi_turn_trajectory_quality_v1": Kind.JUDGED,
    "multi_turn_task_success_v1": Kind.JUDGED,
    "multi_turn_trajectory_quality_v1": Kind.JUDGED,
    "multi_turn_tool_use_quality_v1": Kind.JUDGED,
    "per_turn_user_simulator_quality_v1": Kind.JUDGED,
    "response_contains_v1": Kind.TEXT_CHECK,
    "response_regex_v1": Kind.TEXT_CHECK,
    "response_json_schema_v1": Kind.TEXT_CHECK,
    "response_numbers_v1": Kind.TEXT_CHECK,
    "required_tools_v1": Kind.TOOL_CHECK,
    "forbidden_tools_v1": Kind.TOOL_CHECK,
    "tool_args_v1": Kind.TOOL_CHECK,
    "max_tool_calls_v1": Kind.LIMIT,
    "max_turns_v1": Kind.LIMIT,
    "max_duration_v1": Kind.LIMIT,
    "max_tokens_v1": Kind.LIMIT,
    "max_cost_v1": Kind.LIMIT,
    "final_session_state_v1": Kind.STATE,
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: what was asked, done and answered, and what the case expects of it."""

    number: int
    """From 1; 0 for those before the ones that count."""
    actual: Invocation
    expected: ExpectedTurn | None

    @property
    def asked(self) -> str:
        """What the user said."""
        return self.actual.user_content.text

    @property
    def answer(self) -> str:
        """The final text; empty if there is none."""
        return self.actual.final_response.text if self.actual.final_response else ""

    @property
    def steps(self) -> list[InvocationEvent]:
        """What the agent did, one after the other; empty where only calls are known."""
        data = self.actual.intermediate_data
        return data.invocation_events if isinstance(data, InvocationEvents) else []

    @property
    def calls(self) -> list[FunctionCall]:
        """The tool calls made."""
        return get_all_tool_calls(self.actual.intermediate_data)

    @property
    def responses(self) -> list[FunctionResponse]:
        """What tools returned."""
        return get_all_tool_responses(self.actual.intermediate_data)

    @property
    def expected_calls(self) -> list[FunctionCall]:
        """The tool calls expected."""
        return get_all_tool_calls(self.expected.intermediate_data) if self.expected else []

    @property
    def expected_answer(self) -> str:
        """The final text expected; empty if the case has none."""
        return self.expected.final_response.text if self.expected and self.expected.final_response else ""

    @property
    def code_output(self) -> list[str]:
        """What code that the model wrote has printed."""
        parts = [part for event in self.steps if event.content for part in event.content.parts or ()]
        return [part.code_execution_result.output or "" for part in parts if part.code_execution_result]


class Run:
    """A run record, read once for all metrics of the run."""

    def __init__(self, record: RunRecord, agent: str = "") -> None:
        """Takes the record, and the name of the agent that was run if it is known."""
        self.record = record
        self.agent = agent

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns taken."""
        expected = self.record.expected or []
        return [
            Turn(index + 1, actual, expected[index] if index < len(expected) else None)
            for index, actual in enumerate(self.record.invocations)
        ]

    @property
    def state(self) -> dict[str, Any]:
        """The session's state at the end."""
        return self.record.session.state if self.record.session else {}

    @cached_property
    def conversation(self) -> list[Turn]:
        """Every turn, also those before the ones that count."""
        return [*(Turn(0, actual, None) for actual in self.record.context), *self.turns]

    @cached_property
    def tool_output(self) -> list[Any]:
        """What tools and code have returned in the whole conversation."""
        return [
            output
            for turn in self.conversation
            for output in (*(response.response for response in turn.responses), *turn.code_output)
        ]

    @cached_property
    def known(self) -> str:
        """What the agent can know besides tool output: the user's words, its instructions, the state."""
        details = [turn.actual.app_details for turn in self.conversation if turn.actual.app_details]
        agents = [agent for app in details for agent in app.agent_details.values()]
        calls = [call.args for turn in self.conversation for call in turn.calls]
        texts = [turn.asked for turn in self.conversation] + [agent.instructions for agent in agents]
        earlier = [turn.answer for turn in self.conversation if turn.number == 0]
        return "\n".join([*texts, *earlier, *map(as_text, (self.state, calls))])

    @property
    def has_several_turns(self) -> bool:
        """Whether it matters which turn something was seen in."""
        return len(self.turns) > 1


def as_text(given: Any) -> str:
    """A value as JSON, as it was."""
    return given if isinstance(given, str) else serde.to_json(given).decode()


class Evidence:
    """A run, and the metric of it that did not pass; none where the run crashed."""

    def __init__(
        self,
        run: Run,
        metric: MetricResult | None = None,
        criterion: Mapping[str, Any] | None = None,
        *,
        is_custom: bool = False,
    ) -> None:
        self.run = run
        self.metric = metric
        self.criterion = criterion or {}
        """The metric's, as the config has it; what is not known is not there."""
        self.is_custom = is_custom
        """The metric is the user's own, whatever its name."""

    @property
    def kind(self) -> Kind:
        """What there is to explain."""
        if self.metric is None:
            return Kind.USER if self.error and self.error.type == "SimulatedUserError" else Kind.CRASH
        if self.metric.status is not EvalStatus.FAILED:
            return Kind.UNSCORED
        return Kind.OTHER if self.is_custom else _KINDS.get(self.metric.metric_name, Kind.OTHER)

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.metric_name if self.metric else ""

    @property
    def error(self) -> ErrorInfo | None:
        """What the run crashed with, or the metric failed with."""
        return self.metric.error if self.metric else self.run.record.error

    @property
    def told(self) -> str:
        """All that is said of why there is no score, or why the run crashed."""
        error = self.error
        said = f"{error.type}: {error.message}" if error else ""
        reason = (self.metric.reason or "") if self.metric else ""
        return reason if said in reason else f"{reason}\n{said}".strip()

    @cached_property
    def failed_rows(self) -> list[tuple[int, InvocationScore]]:
        """The metric's rows that failed, with the number of their turn."""
        rows = self.metric.per_invocation if self.metric else []
        return [(number, row) for number, row in enumerate(rows, 1) if row.status is EvalStatus.FAILED]

    @cached_property
    def failed_turns(self) -> list[Turn]:
        """The turns that failed the metric; all of them where it does not tell."""
        failed = {number for number, _ in self.failed_rows}
        return [turn for turn in self.run.turns if turn.number in failed] if failed else self.run.turns
