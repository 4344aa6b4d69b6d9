"""A model that plays a script for each agent, so that the desk runs without a key."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

Script = Callable[[str, dict[str, Any]], types.Part]
"""What an agent says to the last question and the results of the tools that it has called for it."""

INVOICE = re.compile(r"R-\d+")
DEVICE = re.compile(r"router|camera")


class ScriptedModel(BaseLlm):
    """Says what the script says."""

    model: str = "scripted-support"
    script: Script

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        question, results = "", {}
        for part in (part for content in llm_request.contents for part in content.parts or ()):
            if part.text and not part.text.startswith(("For context:", "[")):  # what others did
                # an invoice stays the topic until another is named
                topic = INVOICE.findall(part.text) or INVOICE.findall(question)
                question, results = f"{part.text} {' '.join(topic[:1])}", {}
            if part.function_response:
                results[part.function_response.name] = part.function_response.response
        part = self.script(question, results)
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=100 + 10 * len(llm_request.contents), candidates_token_count=8
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


def call(name: str, **args: str) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def transfer(agent: str) -> types.Part:
    return call("transfer_to_agent", agent_name=agent)


def reception(question: str, results: dict[str, Any]) -> types.Part:
    if DEVICE.search(question):
        return transfer("devices")
    if INVOICE.search(question):
        return transfer("billing")
    return types.Part(text="I can help with invoices, routers and cameras.")


def billing(question: str, results: dict[str, Any]) -> types.Part:
    if DEVICE.search(question):
        return transfer("devices")
    invoice = INVOICE.findall(question)[0]
    found = results.get("look_up_invoice")
    if found is None:
        return call("look_up_invoice", invoice=invoice)
    if "error" in found:
        return types.Part(text=f"I cannot find invoice {invoice}.")
    if "back" not in question:
        return types.Part(text=f"Invoice {invoice} over {found['amount']:.2f} EUR is {found['status']}.")
    if found["status"] != "paid":
        return types.Part(text=f"Invoice {invoice} is {found['status']}, so there is nothing to pay back.")
    if "refund_invoice" not in results:
        return call("refund_invoice", invoice=invoice)
    return types.Part(text=f"I paid {found['amount']:.2f} EUR back for invoice {invoice}.")


def devices(question: str, results: dict[str, Any]) -> types.Part:
    device = DEVICE.search(question)
    if not device:
        return transfer("billing")
    if "run_diagnostics" not in results:
        return call("run_diagnostics", device=device[0])
    return types.Part(text=f"I checked your {device[0]}: {results['run_diagnostics']['diagnosis']}.")
