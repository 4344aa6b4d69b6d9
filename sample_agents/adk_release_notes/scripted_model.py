"""A model that plays a script for each agent, so that notes are written without a key."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

Script = Callable[[LlmRequest], types.Part]

VERSION = re.compile(r"\d+\.\d+\.\d+")
CHANGE = re.compile(r"([\w ]+) \(by (\w+)\)")


class ScriptedModel(BaseLlm):
    """Says what the script says."""

    model: str = "scripted-notes"
    script: Script

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = self.script(llm_request)
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=100 + 10 * len(llm_request.contents), candidates_token_count=12
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


def version(request: LlmRequest) -> str:
    """The version that the user asked for last."""
    said = [part.text for content in request.contents for part in content.parts or () if part.text]
    return [found for text in said if text.startswith("Write") for found in VERSION.findall(text)][-1]


def given(request: LlmRequest, key: str) -> str:
    """What the instruction says after a key."""
    found = re.search(rf"^{key}: (.*)$", str(request.config.system_instruction), re.MULTILINE)
    return found[1].strip() if found else ""


def collector(kind: str) -> Script:
    def script(request: LlmRequest) -> types.Part:
        response = (request.contents[-1].parts or [types.Part()])[-1].function_response
        if not response or not response.response:
            args = {"version": version(request), "kind": kind}
            return types.Part(function_call=types.FunctionCall(name="list_changes", args=args))
        changes = response.response["changes"]
        return types.Part(text=", ".join(f"{one['what']} (by {one['by']})" for one in changes) or "none")

    return script


def writer(request: LlmRequest) -> types.Part:
    lines = [f"{version(request)}."]
    for title, key in (("New", "Features"), ("Fixed", "Fixes")):
        changes = ", ".join(what.strip() for what, _ in CHANGE.findall(given(request, key)))
        lines += [f"{title}: {changes}."] if changes else []
    wanted = re.search(r"Thank (.*)\.", given(request, "Review"))
    lines += [f"Thanks to {wanted[1]}."] if wanted else []
    return types.Part(text=" ".join(lines))


def reviewer(request: LlmRequest) -> types.Part:
    names = [who for key in ("Features", "Fixes") for _, who in CHANGE.findall(given(request, key))]
    guests = [who for who in names if who != "core"]
    if all(who in given(request, "Notes") for who in guests):
        return types.Part(function_call=types.FunctionCall(name="exit_loop", args={}))
    return types.Part(text=f"Thank {' and '.join(guests)}.")
