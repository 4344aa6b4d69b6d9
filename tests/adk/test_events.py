"""What is kept of a turn: streamed pieces, thoughts, errors, tokens, instructions and time."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncGenerator
from threading import Event
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps.app import App
from google.adk.events.event import Event as AdkEvent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from agent_eval.schema.result import RunRecord, RunStatus
from agent_eval.schema.trace import InvocationEvents
from agent_eval.serde import model_to_json
from tests.adk import MARKS
from tests.adk.support import (
    Scripted,
    Slow,
    adapted,
    answers,
    call,
    error,
    llm_agent,
    play,
    result,
    said,
    steps,
    talk,
    trace,
)

pytestmark = MARKS


def look_up(order_id: str) -> dict[str, str]:
    """Looks an order up."""
    return {"result": f"{order_id} has shipped"}


def tokens(record: RunRecord) -> list[int | None]:
    data = record.invocations[0].intermediate_data
    assert isinstance(data, InvocationEvents)
    return [
        event.usage_metadata.total_token_count for event in data.invocation_events if event.usage_metadata
    ]


def used(total: int) -> types.GenerateContentResponseUsageMetadata:
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=total - 1, candidates_token_count=1, total_token_count=total
    )


def test_streamed_pieces_are_one_answer_and_count_once() -> None:
    streamed = [
        said("It has ", partial=True, usage_metadata=used(7)),
        said("shipped.", partial=True, usage_metadata=used(8)),
        said("It has shipped.", usage_metadata=used(8)),
    ]
    record = talk(llm_agent(steps(streamed)), "hi")

    assert answers(record) == ["It has shipped."]
    assert trace(record) == []
    assert tokens(record) == [8]


def test_thoughts_are_kept_and_are_no_answer() -> None:
    record = talk(
        llm_agent(steps(said(types.Part(text="They want a greeting.", thought=True), "Hello."))), "hi"
    )

    assert answers(record) == ["Hello."]
    final = record.invocations[0].final_response
    assert final
    assert final.parts
    assert (final.parts[0].thought, final.parts[0].text) == (True, "They want a greeting.")


def test_error_of_the_model_crashes_the_run_with_its_code() -> None:
    refused = said(error_code="RESOURCE_EXHAUSTED", error_message="Quota exceeded.")
    refused.content = None
    record = talk(llm_agent(steps(call("look_up", order_id="A1"), refused), tools=[look_up]), "hi")

    assert record.status is RunStatus.CRASHED
    assert incidents(record) == [("bot", "RESOURCE_EXHAUSTED: Quota exceeded.", 2)]
    assert error(record) == ("AdkModelError", "RESOURCE_EXHAUSTED: Quota exceeded.")
    assert trace(record)[1] == "bot: look_up -> {'result': 'A1 has shipped'}"


def test_reason_why_the_model_stopped_is_an_error_code_too() -> None:
    blocked = said(error_code=types.FinishReason.SAFETY, error_message=None)
    blocked.content = None

    assert error(talk(llm_agent(steps(blocked)), "hi")) == ("AdkModelError", "SAFETY: no answer")


def incidents(record: RunRecord, turn: int = 0) -> list[tuple[str, str, int]]:
    """What went wrong: author, what is told, and the step that it came with."""
    return [(one.author, one.told, one.step) for one in record.invocations[turn].incidents or ()]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"error_code": "MAX_TOKENS", "error_message": "Too long."}, "MAX_TOKENS: Too long."),
        ({"finish_reason": types.FinishReason.MAX_TOKENS}, "MAX_TOKENS"),
        (
            {"error_code": types.FinishReason.SAFETY, "finish_reason": types.FinishReason.SAFETY},
            "SAFETY",
        ),
        ({"interrupted": True}, "INTERRUPTED"),
    ],
    ids=["error", "reason to stop", "both", "interrupted"],
)
def test_answer_that_was_cut_off_is_an_answer_and_what_cut_it_is_told(
    keys: dict[str, Any], told: str
) -> None:
    record = talk(llm_agent(steps(said("It has", **keys))), "hi")

    assert answers(record) == ["It has"]
    assert incidents(record) == [("bot", told, 0)]


def test_turn_in_which_nothing_went_wrong_has_no_word_of_it() -> None:
    whole = [said("hello", finish_reason=types.FinishReason[reason]) for reason in ("STOP", "OTHER")]
    record, other = (talk(llm_agent(steps(answer)), "hi") for answer in whole)

    assert record.invocations[0].incidents is other.invocations[0].incidents is None
    assert b"incidents" not in model_to_json(record, compact=True)


def test_error_in_a_turn_that_goes_on_is_kept_with_its_place() -> None:
    class Careful(BaseAgent):
        """Looks up, reports what went wrong, and asks another agent."""

        async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[AdkEvent, None]:
            async for event in self.sub_agents[0].run_async(ctx):
                yield event
            yield AdkEvent(author=self.name, error_code="UNAVAILABLE", error_message="Overloaded.")
            async for event in self.sub_agents[1].run_async(ctx):
                yield event

    first = llm_agent(steps(call("look_up", order_id="A1"), "One moment."), "first", tools=[look_up])
    agent = Careful(name="bot", sub_agents=[first, llm_agent(steps("It has shipped."), "second")])
    record = talk(agent, "hi")

    assert answers(record) == ["It has shipped."]
    assert incidents(record) == [("bot", "UNAVAILABLE: Overloaded.", 3)]
    assert len(trace(record)) == 3


def test_error_of_a_model_that_a_plugin_got_over_is_kept() -> None:
    class Gives(BasePlugin):
        async def on_model_error_callback(self, *, error: Exception, **_: Any) -> LlmResponse:
            return said("Please try again.", error_code="UNAVAILABLE", error_message=str(error))

    app = App(
        name="bot",
        root_agent=llm_agent(steps(ConnectionError("socket reset"))),
        plugins=[Gives(name="gives")],
    )
    record = talk(app, "hi")

    assert answers(record) == ["Please try again."]
    assert incidents(record) == [("bot", "UNAVAILABLE: socket reset", 0)]


def test_error_of_a_streamed_answer_is_told_once() -> None:
    streamed = [
        said("It ", partial=True, interrupted=True),
        said("It has", error_code="MAX_TOKENS", interrupted=True),
    ]
    record = talk(llm_agent(steps(streamed)), "hi")

    assert answers(record) == ["It has"]
    assert incidents(record) == [("bot", "MAX_TOKENS", 0), ("bot", "INTERRUPTED", 0)]


def test_interruption_before_a_word_was_said_leaves_no_answer_and_is_told() -> None:
    silent = said(interrupted=True)
    silent.content = None
    record = talk(llm_agent(steps(silent)), "hi")

    assert answers(record) == [None]
    assert incidents(record) == [("bot", "INTERRUPTED", 0)]


def test_piece_of_a_stream_that_nothing_follows_is_kept() -> None:
    record = talk(llm_agent(steps([said("It has", partial=True)])), "hi")

    assert answers(record) == [None]
    assert trace(record) == ["bot: It has"]


def test_exception_of_a_model_crashes_the_run_and_keeps_what_came_before() -> None:
    record = talk(
        llm_agent(steps(call("look_up", order_id="A1"), ConnectionError("socket reset")), tools=[look_up]),
        "hi",
    )

    assert error(record) == ("ConnectionError", "socket reset")
    assert [step.split(" ")[1] for step in trace(record)] == ["look_up({'order_id':", "look_up"]


def test_exception_of_a_tool_crashes_the_run() -> None:
    def broken() -> None:
        """Raises."""
        raise LookupError("no such order")

    record = talk(llm_agent(steps(call("broken")), tools=[broken]), "hi")

    assert error(record) == ("LookupError", "no such order")
    assert record.error
    assert "in broken" in (record.error.traceback or "")


def test_time_limit_crashes_the_run_and_keeps_what_came_before() -> None:
    def patient(request: LlmRequest) -> Any:
        return (
            "too late" if request.contents[-1].parts[0].function_response else call("look_up", order_id="A1")
        )

    model = Slow(script=patient, seconds=0.3)
    record = talk(llm_agent(model, tools=[look_up]), "hi", timeout=0.5)

    assert error(record) == ("RunTimeoutError", "the run took longer than 0.5 s (--timeout)")
    assert len(trace(record)) == 2


def test_tool_whose_result_ends_the_turn() -> None:
    def draw(kind: str, tool_context: ToolContext) -> dict[str, str]:
        """Draws."""
        tool_context.actions.skip_summarization = True
        return {"drawn": kind}

    record = talk(llm_agent(steps(call("draw", kind="sales")), tools=[draw]), "draw sales")

    assert answers(record) == [""]
    assert trace(record)[0] == "bot: draw({'kind': 'sales'})"


def test_long_running_tool_that_answers_later_ends_the_turn_at_its_call() -> None:
    def approve(amount: int) -> None:
        """Asks a human."""

    tool = LongRunningFunctionTool(func=approve)
    record = talk(llm_agent(steps(call("approve", amount=5), "I have asked."), tools=[tool]), "pay 5")

    assert trace(record) == ["bot: approve({'amount': 5})"]
    assert record.status is RunStatus.COMPLETED


def test_long_running_tool_that_answers_at_once() -> None:
    def approve(amount: int) -> dict[str, str]:
        """Asks a human."""
        return {"result": "pending"}

    tool = LongRunningFunctionTool(func=approve)
    record = talk(llm_agent(steps(call("approve", amount=5), result), tools=[tool]), "pay 5")

    assert answers(record) == ["pending"]
    assert trace(record) == ["bot: approve({'amount': 5})", "bot: approve -> {'result': 'pending'}"]


def test_instructions_and_tools_are_noted_with_the_state_in_them() -> None:
    agent = llm_agent(steps("hello"), instruction="Speak {language}.", tools=[look_up])
    record = talk(agent, "hi", session={"app_name": "bot", "user_id": "u1", "state": {"language": "Latin"}})

    details = record.invocations[0].app_details
    assert details
    assert "Speak Latin." in details.get_developer_instructions("bot")
    ((declared,),) = [
        tools[0]["function_declarations"] for tools in details.get_tools_by_agent_name().values()
    ]
    assert declared["name"] == "look_up"
    assert declared["description"] == "Looks an order up."
    assert list(declared["parameters_json_schema"]["properties"]) == ["order_id"]


def test_tokens_grounding_and_version_are_kept() -> None:
    grounded = said(
        "hello",
        usage_metadata=used(9),
        model_version="scripted-1",
        grounding_metadata=types.GroundingMetadata(web_search_queries=["greetings"]),
    )
    record = talk(
        llm_agent(
            steps(said(call("look_up", order_id="A1"), usage_metadata=used(5)), grounded), tools=[look_up]
        ),
        "hi",
    )

    assert tokens(record) == [5, 9]
    data = record.invocations[0].intermediate_data
    assert isinstance(data, InvocationEvents)
    last = data.invocation_events[-1]
    assert last.model_version == "scripted-1"
    assert last.grounding_metadata
    assert last.grounding_metadata.web_search_queries == ["greetings"]


def test_time_of_model_tools_and_framework_add_up() -> None:
    def slow_tool() -> str:
        """Takes its time."""
        Event().wait(0.1)
        return "done"

    def script(request: LlmRequest) -> Any:
        return result(request) if request.contents[-1].parts[0].function_response else call("slow_tool")

    turn = talk(llm_agent(Slow(script=script, seconds=0.05), tools=[slow_tool]), "hi").invocations[0]

    assert turn.duration is not None
    assert turn.model_duration is not None
    assert turn.tool_duration is not None
    assert 0.1 <= turn.model_duration < 0.2
    assert 0.1 <= turn.tool_duration < 0.2
    assert turn.model_duration + turn.tool_duration <= turn.duration


def test_tools_at_the_same_time_count_once() -> None:
    async def slow_tool(number: int) -> str:
        """Takes its time."""
        await asyncio.sleep(0.1)
        return "done"

    model = steps([call("slow_tool", number=1), call("slow_tool", number=2)], "both")
    turn = talk(llm_agent(model, tools=[slow_tool]), "hi").invocations[0]

    assert turn.tool_duration is not None
    assert 0.1 <= turn.tool_duration < 0.19


def test_results_that_json_has_no_form_for_are_kept_as_text() -> None:
    class Order:
        def __repr__(self) -> str:
            return "Order(A1)"

    def look_up_object() -> dict[str, Any]:
        """Returns objects."""
        return {"order": Order(), "at": datetime.date(2026, 1, 31), "raw": b"\x00\xff", "ids": {1}}

    def remember(tool_context: ToolContext) -> str:
        """Keeps an object."""
        tool_context.state["order"] = Order()
        return "kept"

    model = steps([call("look_up_object"), call("remember")], "done")
    record = talk(llm_agent(model, tools=[look_up_object, remember]), "hi")

    assert answers(record) == ["done"]
    assert model_to_json(record).count(b"Order(A1)") == 2


def test_images_and_files_reach_the_agent_and_come_back() -> None:
    seen: list[Any] = []

    def draw(request: LlmRequest) -> Any:
        seen.extend(request.contents[-1].parts)
        return types.Part(inline_data=types.Blob(data=b"png", mime_type="image/png"))

    turn = {
        "user_content": {
            "parts": [
                {"text": "like this"},
                {"inline_data": {"data": "anBn", "mime_type": "image/jpeg"}},
                {"file_data": {"file_uri": "gs://b/f.pdf", "mime_type": "application/pdf"}},
            ]
        }
    }
    (record,) = play(adapted(llm_agent(Scripted(script=draw))), {"eval_id": "draw", "conversation": [turn]})

    assert [bool(part.text) for part in seen] == [True, False, False]
    assert seen[1].inline_data.data == b"jpg"
    assert seen[2].file_data.file_uri == "gs://b/f.pdf"
    final = record.invocations[0].final_response
    assert final
    assert final.parts
    assert final.parts[0].inline_data
    assert final.parts[0].inline_data.data == b"png"


def test_agent_tool_that_skips_the_summary_answers_itself() -> None:
    inner = llm_agent(steps("42"), "expert", description="Knows.")
    agent = llm_agent(steps(call("expert", request="?")), tools=[AgentTool(inner, skip_summarization=True)])

    assert answers(talk(agent, "hi")) == ["42"]
