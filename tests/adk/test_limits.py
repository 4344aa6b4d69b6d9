"""Model calls of ADK agents: held to limits a minute, and made again after a refusal (429)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import errors, types

from agent_eval import clock
from agent_eval.load import pauses, traffic
from agent_eval.load.pace import Limits
from agent_eval.load.traffic import Traffic
from agent_eval.schema.result import RunRecord
from tests.adk import MARKS
from tests.adk.support import Reply, Scripted, adapted, answers, call, error, llm_agent, play, said, steps
from tests.cli_support import case

pytestmark = MARKS


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pauses, traffic):
        monkeypatch.setattr(module, "FIRST_SECONDS", 0.001)
        monkeypatch.setattr(module, "MAX_SECONDS", 0.05)


def too_many(seconds: str | None = None) -> errors.ClientError:
    """As the client of Gemini raises it."""
    details = (
        [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": seconds}] if seconds else []
    )
    told = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded.", "details": details}
    return errors.ClientError(429, {"error": told})


class Stubborn:
    """A script that fails the first times it is asked, and keeps each request's last text."""

    def __init__(self, *failures: Exception, then: Reply | Callable[[LlmRequest], Reply] = "done") -> None:
        self.failures = list(failures)
        self.then = then
        self.asked: list[str] = []

    def __call__(self, request: LlmRequest) -> Reply:
        parts = request.contents[-1].parts or []
        self.asked.append(parts[-1].text or "a tool's answer")
        if self.failures:
            return self.failures.pop(0)
        return self.then(request) if callable(self.then) else self.then


def shared(
    agent: Any, *cases: dict[str, Any], limits: Limits | None = None
) -> tuple[list[RunRecord], Traffic]:
    """The records of runs of an agent, and the traffic that they had in common."""
    common = Traffic(limits)
    return play(adapted(agent), *cases, traffic=common), common


def test_refused_call_is_made_again_within_the_turn() -> None:
    paid: list[str] = []

    def pay() -> str:
        """Pays."""
        paid.append("paid")
        return "paid"

    script = Stubborn(then=lambda request: steps(call("pay"), "All paid.").script(request))
    agent = llm_agent(Scripted(script=script), tools=[pay])

    def answer_once(request: LlmRequest) -> Reply:
        """The call that follows the tool's is refused twice."""
        reply = steps(call("pay"), "All paid.").script(request)
        if reply == "All paid." and refusals:
            return refusals.pop()
        return reply

    refusals = [too_many(), too_many("0.01s")]
    script.then = answer_once
    (record,), common = shared(agent, case("a", "pay"))

    assert answers(record) == ["All paid."]
    assert paid == ["paid"]
    assert record.failed_attempts == []
    assert script.asked == ["pay", *["a tool's answer"] * 3]
    assert common.refusals == {"scripted": 2}


def test_call_that_is_refused_for_good_crashes_the_run_once() -> None:
    script = Stubborn(*[too_many() for _ in range(100)])

    (record,), _ = shared(llm_agent(Scripted(script=script)), case("a", "hi"))

    assert error(record)[0] in ("ClientError", "_ResourceExhaustedError")
    assert record.failed_attempts == []
    assert len(script.asked) == traffic.TRIES


def test_failure_after_a_refusal_is_told_as_it_is() -> None:
    script = Stubborn(too_many(), LookupError("no such model"))

    (record,), _ = shared(llm_agent(Scripted(script=script)), case("a", "hi"))

    assert error(record) == ("LookupError", "no such model")


def test_other_failures_are_not_tried_again() -> None:
    script = Stubborn(ValueError("broken"))

    (record,), common = shared(llm_agent(Scripted(script=script)), case("a", "hi"))

    assert error(record) == ("ValueError", "broken")
    assert not common.refusals


def test_agent_that_sees_to_its_errors_itself_is_let_do_it() -> None:
    def instead(callback_context: Any, llm_request: Any, error: Exception) -> LlmResponse:
        return said("I am busy.")

    agent = llm_agent(Scripted(script=Stubborn(too_many())), on_model_error_callback=instead)

    (record,), common = shared(agent, case("a", "hi"))

    assert answers(record) == ["I am busy."]
    assert not common.refusals


def test_error_event_of_a_refused_model_is_tried_again_as_a_run() -> None:
    refused = LlmResponse(error_code="RESOURCE_EXHAUSTED", error_message="Quota exceeded.")
    replies: list[Reply] = [refused, refused, "done"]

    (record,), _ = shared(llm_agent(Scripted(script=lambda _: replies.pop(0))), case("a", "hi"))

    assert answers(record) == ["done"]
    assert [attempt.error.type for attempt in record.failed_attempts] == ["AdkModelError"] * 2


def test_calls_are_booked_and_their_tokens_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    limits, told = Limits(rpm=1_000_000, tpm=1_000_000), []
    monkeypatch.setattr(limits, "report", lambda tokens, booked: told.append(tokens))
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=30)

    model = steps(said(call("look"), usage_metadata=usage), said("done", usage_metadata=usage))
    (record,), _ = shared(llm_agent(model, tools=[look]), case("a", "hi"), limits=limits)

    assert answers(record) == ["done"]
    assert told == [30, 30]


def look() -> str:
    """Looks."""
    return "seen"


def test_calls_of_all_runs_keep_the_limit() -> None:
    """1200 a minute are one each 50 ms, 0.55 s in all; the first may come late on a busy machine."""
    times: list[float] = []

    def script(_: LlmRequest) -> Reply:
        times.append(clock.monotonic())
        return "done"

    cases = [case(f"case{number}", "hi") for number in range(12)]
    records, _ = shared(llm_agent(Scripted(script=script)), *cases, limits=Limits(rpm=1200))

    assert [record.error for record in records] == [None] * 12
    assert len(times) == 12
    assert times[-1] - times[0] >= 0.35
    assert all(record.seconds < 0.5 for record in records)


def test_agents_side_by_side_wait_for_themselves() -> None:
    scripts = [Stubborn(too_many("0.03s")), Stubborn(too_many("0.03s")), Stubborn()]
    children = [llm_agent(Scripted(script=one), f"child{number}") for number, one in enumerate(scripts)]

    (record,), common = shared(ParallelAgent(name="all", sub_agents=children), case("a", "hi"))

    assert record.error is None
    assert [len(one.asked) for one in scripts] == [2, 2, 1]
    assert common.refusals == {"scripted": 2}
