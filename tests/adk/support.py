"""Agents of google-adk with models that play a script, and runs of them in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from agent_eval.agents.adk import AdkAgent, AdkSource
from agent_eval.agents.base import Agent
from agent_eval.agents.factory import fresh, given
from agent_eval.engine import run as engine
from agent_eval.load.traffic import Traffic
from agent_eval.plan import PlannedCase, RunSpec, plan_runs
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import MetricResult, RunRecord
from agent_eval.schema.trace import InvocationEvents
from agent_eval.simulation.static import StaticPlayer
from tests.cli_support import case

Reply = str | types.Part | LlmResponse | Exception | list[Any]
"""What a model says: a list of responses is streamed, any other list is the parts of one."""


class Scripted(BaseLlm):
    """A model that answers each request as its script says."""

    model: str = "scripted"
    script: Callable[[LlmRequest], Reply]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        reply = self.script(llm_request)
        if isinstance(reply, Exception):
            raise reply
        for response in responses(reply):
            await asyncio.sleep(0)
            yield response.model_copy(deep=True)  # ADK gives the calls in it their ids


def responses(reply: Reply) -> list[LlmResponse]:
    if isinstance(reply, LlmResponse):
        return [reply]
    if isinstance(reply, list) and reply and isinstance(reply[0], LlmResponse):
        return reply
    return [said(*(reply if isinstance(reply, list) else [reply]))]


def said(*parts: str | types.Part, **keys: Any) -> LlmResponse:
    """One response of a model."""
    given = [types.Part(text=part) if isinstance(part, str) else part for part in parts]
    return LlmResponse(content=types.Content(role="model", parts=given), **keys)


def call(name: str, /, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def steps(*replies: Reply | Callable[[LlmRequest], Reply]) -> Scripted:
    """A model that gives these replies one after the other, and begins again at each user turn."""

    def script(request: LlmRequest) -> Reply:
        taken = 0
        for content in reversed(request.contents):
            if content.role == "user" and any(part.text for part in content.parts or ()):
                break
            taken += content.role == "model"
        reply = replies[taken]
        return reply(request) if callable(reply) else reply

    return Scripted(script=script)


def result(request: LlmRequest) -> str:
    """What the last tool returned, as text."""
    (response,) = [part.function_response for part in request.contents[-1].parts or ()]
    assert response
    assert response.response
    return str(response.response.get("result", response.response))


def llm_agent(model: BaseLlm, /, name: str = "bot", **keys: Any) -> LlmAgent:
    return LlmAgent(name=name, model=model, **keys)


def adapted(agent: Any, name: str = "bot", **source: Any) -> AdkAgent:
    """An agent or app as agent-eval runs it; a function gives a fresh one for each run."""
    is_fresh = source.pop("is_fresh", callable(agent))

    make = fresh(agent) if is_fresh else given(agent)
    return AdkAgent(name, AdkSource(make, is_fresh, **source))


class Unscored:
    async def score(self, *run: Any) -> Sequence[MetricResult]:
        return []


def play(
    agent: Agent, *cases: dict[str, Any], timeout: float = 20.0, traffic: Traffic | None = None, **config: Any
) -> list[RunRecord]:
    """The records of these cases, all run at once."""
    parsed = EvalConfig.model_validate({"criteria": {"response_match_score": 0.5}, **config})
    planned = [PlannedCase(EvalCase.model_validate(one), "bot") for one in cases]
    specs = list(plan_runs(0, "demo", planned, parsed, seed=0, timeout=timeout))

    async def record(spec: RunSpec) -> RunRecord:
        turns = spec.case.conversation or []
        played = await engine.play(spec, agent, lambda: StaticPlayer(turns), traffic)
        return await engine.score(played, Unscored())

    async def main() -> list[RunRecord]:
        return await asyncio.gather(*map(record, specs))

    return asyncio.run(main())


def talk(agent: Any, *texts: str, session: dict[str, Any] | None = None, **config: Any) -> RunRecord:
    """The record of one run of an ADK agent with these user turns."""
    given = {"session_input": session} if session else {}
    (record,) = play(
        agent if isinstance(agent, AdkAgent) else adapted(agent), case("talk", *texts, **given), **config
    )
    return record


def answers(record: RunRecord) -> list[str | None]:
    """The final response of each turn."""
    assert record.error is None, record.error
    return [turn.final_response.text if turn.final_response else None for turn in record.invocations]


def trace(record: RunRecord, turn: int = 0) -> list[str]:
    """Author and gist of each step: what is said, `name(args)`, `name -> result`."""
    data = record.invocations[turn].intermediate_data
    assert isinstance(data, InvocationEvents)
    found = []
    for event in data.invocation_events:
        for part in (event.content.parts if event.content else None) or []:
            if part.function_call:
                gist = f"{part.function_call.name}({part.function_call.args or {}})"
            elif part.function_response:
                gist = f"{part.function_response.name} -> {part.function_response.response}"
            else:
                gist = part.text or ""
            found.append(f"{event.author}: {gist}")
    return found


def error(record: RunRecord) -> tuple[str, str]:
    """Type and message of what crashed a run."""
    assert record.error
    return record.error.type, record.error.message


class Slow(Scripted):
    """A scripted model that takes its time."""

    seconds: float

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        await asyncio.sleep(self.seconds)
        async for response in super().generate_content_async(llm_request, stream):
            yield response
