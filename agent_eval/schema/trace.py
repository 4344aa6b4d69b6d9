"""What happened in a conversation: contents, events, invocations.

The Content family mirrors `google.genai.types` (same class, field and attribute names) so that
eval files and metrics written for ADK mean the same here, without the second that importing the
SDK takes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Discriminator, Tag, model_validator

from agent_eval.schema.base import Many, SdkValue, Value, one_spelling

USER_AUTHOR = "user"

INTERRUPTED = "INTERRUPTED"
"""The code of an answer that somebody broke in on."""


def _enum_name(known: frozenset[str]) -> BeforeValidator:
    """Names of an SDK enum: any case is read, unknown ones are kept as written."""

    def read(value: object) -> object:
        return value.upper() if isinstance(value, str) and value.upper() in known else value

    return BeforeValidator(read)


class Blob(SdkValue):
    """Inline bytes; base64 in JSON, standard or URL-safe alphabet."""

    data: bytes | None = None
    display_name: str | None = None
    mime_type: str | None = None


class FileData(SdkValue):
    """A file by its URI."""

    display_name: str | None = None
    file_uri: str | None = None
    mime_type: str | None = None


class FunctionCall(SdkValue):
    """A tool call. Absent, null and empty `args` mean the same call."""

    id: str | None = None
    args: dict[str, Any] | None = None
    name: str | None = None


class FunctionResponse(SdkValue):
    """What a tool returned, paired with its call by `id`."""

    id: str | None = None
    name: str | None = None
    response: dict[str, Any] | None = None


class ExecutableCode(SdkValue):
    """Code that the model wrote to be run."""

    code: str | None = None
    language: Annotated[str, _enum_name(frozenset({"LANGUAGE_UNSPECIFIED", "PYTHON"}))] | None = None


class CodeExecutionResult(SdkValue):
    """What running that code printed."""

    outcome: (
        Annotated[
            str,
            _enum_name(
                frozenset(
                    {"OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"}
                )
            ),
        ]
        | None
    ) = None
    output: str | None = None


class Part(SdkValue):
    """One piece of a content; normally one of its fields is set."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: bytes | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    executable_code: ExecutableCode | None = None
    code_execution_result: CodeExecutionResult | None = None


class Content(SdkValue):
    """A message: its parts and who speaks (`user` or `model`)."""

    parts: Many[Part] | None = None
    role: str | None = None

    @property
    def text(self) -> str:
        """The non-thought text parts, joined by line breaks; empty when there are none."""
        return "\n".join(part.text for part in self.parts or () if part.text and not part.thought)


class GroundingMetadata(SdkValue):
    """Where a grounded answer comes from."""

    web_search_queries: Many[str] | None = None
    retrieval_queries: Many[str] | None = None


class ModalityTokenCount(SdkValue):
    """Tokens of one modality."""

    modality: str | None = None
    token_count: int | None = None


class GenerateContentResponseUsageMetadata(SdkValue):
    """Tokens that one model call reported. None means not reported, which is not zero."""

    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    candidates_tokens_details: Many[ModalityTokenCount] | None = None
    prompt_token_count: int | None = None
    prompt_tokens_details: Many[ModalityTokenCount] | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    total_token_count: int | None = None


UsageMetadata = GenerateContentResponseUsageMetadata


class EventActions(Value):
    """The side effects of an event that matter for evaluation; others are ignored."""

    model_config = ConfigDict(extra="ignore")

    skip_summarization: bool | None = None
    state_delta: dict[str, Any] = {}
    transfer_to_agent: str | None = None


class Transcription(SdkValue):
    """Speech as text."""

    text: str | None = None
    finished: bool | None = None


class Event(Value):
    """One thing an agent did: said something, called a tool, or got a tool's answer."""

    model_config = ConfigDict(extra="ignore")

    author: str | None = None
    """Name of the agent (or `user`); None stands for the agent under test."""
    content: Content | None = None
    invocation_id: str = ""
    id: str = ""
    timestamp: float = 0.0
    partial: bool | None = None
    """A streamed piece; the whole event follows."""
    turn_complete: bool | None = None
    interrupted: bool | None = None
    error_code: str | None = None
    error_message: str | None = None
    finish_reason: str | None = None
    """Why the model stopped, `STOP` if it was done."""
    actions: EventActions | None = None
    long_running_tool_ids: frozenset[str] | None = None
    branch: str | None = None
    grounding_metadata: GroundingMetadata | None = None
    usage_metadata: UsageMetadata | None = None
    model_version: str | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    mocked: Many[str] | None = None
    """Ids of the calls whose responses here come from a mock."""

    @property
    def parts(self) -> list[Part]:
        """The content's parts, empty when there are none."""
        return (self.content.parts or []) if self.content else []


class IntermediateData(Value):
    """A turn's steps as flat lists, the form that eval sets are written in."""

    tool_uses: Many[FunctionCall] = []
    tool_responses: Many[FunctionResponse] = []
    intermediate_responses: Many[tuple[str, Many[Part]]] = []
    """Pairs of author and parts, for what sub-agents said on the way."""


class InvocationEvent(Value):
    """One step of a turn. Unknown keys (such as an editor's indices) are ignored."""

    model_config = ConfigDict(extra="ignore")

    author: str
    content: Content | None = None
    grounding_metadata: GroundingMetadata | None = None
    usage_metadata: UsageMetadata | None = None
    model_version: str | None = None
    mocked: Many[str] | None = None
    """Ids of the calls whose responses here come from a mock."""

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, data: object) -> object:
        return one_spelling(cls, data)


class InvocationEvents(Value):
    """A turn's steps as events, the form that runs are recorded in."""

    invocation_events: Many[InvocationEvent] = []

    @property
    def tool_uses(self) -> list[FunctionCall]:
        """Every tool call of the turn, in order."""
        return [part.function_call for part in self._parts() if part.function_call]

    @property
    def tool_responses(self) -> list[FunctionResponse]:
        """Every tool response of the turn, in order."""
        return [part.function_response for part in self._parts() if part.function_response]

    def _parts(self) -> list[Part]:
        return [
            part for event in self.invocation_events if event.content for part in event.content.parts or ()
        ]


def _step_data_form(value: object) -> str:
    if isinstance(value, dict):
        named = "invocation_events" in value or "invocationEvents" in value
        return "events" if named else "lists"
    return "events" if isinstance(value, InvocationEvents) else "lists"


IntermediateDataType = Annotated[
    Annotated[IntermediateData, Tag("lists")] | Annotated[InvocationEvents, Tag("events")],
    Discriminator(_step_data_form),
]


class Incident(Value):
    """What went wrong in a turn that may have gone on: an error, a cut answer, an interruption."""

    author: str
    code: str
    """The agent's error code, the reason why its model stopped, or INTERRUPTED."""
    message: str | None = None
    step: int = 0
    """Number of the turn's steps before it, or before the step that it came with."""

    @property
    def told(self) -> str:
        """Code and message in one."""
        return f"{self.code}: {self.message}" if self.message else self.code


class AgentDetails(Value):
    """What a judge may know of one agent of the app."""

    name: str
    instructions: str = ""
    tool_declarations: list[Any] = []


class AppDetails(Value):
    """The agents behind a turn, by name."""

    agent_details: dict[str, AgentDetails] = {}

    def get_developer_instructions(self, agent_name: str) -> str:
        """The instructions of one agent.

        Raises:
            ValueError: no such agent took part.
        """
        if agent_name not in self.agent_details:
            raise ValueError(f"`{agent_name}` is not an agent of this app.")
        return self.agent_details[agent_name].instructions

    def get_tools_by_agent_name(self) -> dict[str, list[Any]]:
        """Tool declarations of each agent."""
        return {name: details.tool_declarations for name, details in self.agent_details.items()}


class RubricContent(Value):
    """What a rubric asks for."""

    text_property: str | None = None


class Rubric(Value):
    """One yes-or-no property that a judge checks."""

    rubric_id: str
    rubric_content: RubricContent
    description: str | None = None
    type: str | None = None

    def fault(self) -> str | None:
        """Why no judge can answer it; None if one can."""
        if not self.rubric_id.strip():
            return "a rubric has an empty id"
        if not (self.rubric_content.text_property or "").strip():
            return f"rubric `{self.rubric_id}` has no text"
        return None


class Invocation(Value):
    """One user turn and all the agent did for it."""

    invocation_id: str = ""
    user_content: Content
    final_response: Content | None = None
    intermediate_data: IntermediateDataType | None = None
    creation_timestamp: float = 0.0
    duration: float | None = None
    """Wall-clock seconds of the turn; None unless it was run here."""
    model_duration: float | None = None
    """Of these, seconds with at least one model call under way."""
    tool_duration: float | None = None
    """Of these, seconds inside tools but not awaiting a model."""
    rubrics: Many[Rubric] | None = None
    app_details: AppDetails | None = None
    incidents: list[Incident] | None = None
    """In the order in which they came; None where nothing went wrong, or the turn was not run here."""


def get_all_tool_calls(intermediate_data: IntermediateData | InvocationEvents | None) -> list[FunctionCall]:
    """Every tool call of a turn, in order, from either form of step data."""
    return list(intermediate_data.tool_uses) if intermediate_data else []


def get_all_tool_responses(
    intermediate_data: IntermediateData | InvocationEvents | None,
) -> list[FunctionResponse]:
    """Every tool response of a turn, in order, from either form of step data."""
    return list(intermediate_data.tool_responses) if intermediate_data else []


def get_all_tool_calls_with_responses(
    intermediate_data: IntermediateData | InvocationEvents | None,
) -> list[tuple[FunctionCall, FunctionResponse | None]]:
    """Every tool call with the response that carries its id, or None."""
    responses = {response.id: response for response in get_all_tool_responses(intermediate_data)}
    return [(call, responses.get(call.id)) for call in get_all_tool_calls(intermediate_data)]


class EvalStatus(StrEnum):
    """Outcome of a metric, a run or a case."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    NOT_EVALUATED = "NOT_EVALUATED"
    INFORMATIONAL = "INFORMATIONAL"
