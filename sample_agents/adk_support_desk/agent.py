"""A support desk: it answers nothing itself, but hands over to billing or to the device desk.

It speaks through Gemini where the environment has a key or a project for it, else through a script.
"""

from __future__ import annotations

import os
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.tools.tool_context import ToolContext

from . import scripted_model

INVOICES = {"R-204": {"amount": 42.5, "status": "paid"}, "R-377": {"amount": 18.0, "status": "open"}}
DIAGNOSES = {"router": "the fan is blocked", "camera": "no fault found"}


def look_up_invoice(invoice: str, tool_context: ToolContext) -> dict[str, Any]:
    """Returns the amount and the status of an invoice."""
    if invoice not in INVOICES:
        return {"error": f"there is no invoice {invoice}"}
    refunded = invoice in tool_context.state.get("refunded", [])
    return {"invoice": invoice, **INVOICES[invoice], **({"status": "refunded"} if refunded else {})}


def refund_invoice(invoice: str, tool_context: ToolContext) -> dict[str, Any]:
    """Pays the amount of an invoice back."""
    tool_context.state["refunded"] = [*tool_context.state.get("refunded", []), invoice]
    return {"invoice": invoice, "refunded": INVOICES[invoice]["amount"]}


def run_diagnostics(device: str) -> dict[str, Any]:
    """Returns what is wrong with a device (router or camera)."""
    return {"device": device, "diagnosis": DIAGNOSES[device]}


def model(script: scripted_model.Script) -> str | BaseLlm:
    vertex = os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("1", "true")
    has_gemini = os.environ.get("GOOGLE_API_KEY") or (vertex and os.environ.get("GOOGLE_CLOUD_PROJECT"))
    return "gemini-2.5-flash" if has_gemini else scripted_model.ScriptedModel(script=script)


billing = LlmAgent(
    name="billing",
    description="Looks invoices up and pays money back.",
    model=model(scripted_model.billing),
    instruction="""\
You answer questions about invoices. Look an invoice up with look_up_invoice before you say or do
anything about it, and refund only paid ones, with refund_invoice. Answer in one of these forms:
`Invoice R-1 over 10.00 EUR is paid.`, `I paid 10.00 EUR back for invoice R-1.`,
`I cannot find invoice R-1.`, `Invoice R-1 is open, so there is nothing to pay back.`
Hand questions about devices over to `devices`.""",
    tools=[look_up_invoice, refund_invoice],
)

devices = LlmAgent(
    name="devices",
    description="Finds out what is wrong with routers and cameras.",
    model=model(scripted_model.devices),
    instruction="""\
You help with devices. Call run_diagnostics, then answer `I checked your router: the fan is blocked.`
Hand questions about invoices over to `billing`.""",
    tools=[run_diagnostics],
)

root_agent = LlmAgent(
    name="support_desk",
    description="Receives whoever needs help.",
    model=model(scripted_model.reception),
    instruction="""\
Hand questions about invoices over to `billing` and questions about devices to `devices`. To
everything else answer `I can help with invoices, routers and cameras.`""",
    sub_agents=[billing, devices],
)
