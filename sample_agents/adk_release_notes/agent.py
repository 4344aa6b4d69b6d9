"""Release notes: changes are collected in parallel, then written and reviewed until they are fit to publish.

The agents speak through Gemini where the environment has a key or a project for it, else through
a script.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.loop_agent import LoopAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.tools.exit_loop_tool import exit_loop
from google.genai import types

from . import scripted_model

CHANGES = {
    ("1.2.0", "feature"): [{"what": "dark mode", "by": "ada"}, {"what": "export to CSV", "by": "core"}],
    ("1.2.0", "fix"): [{"what": "dates in winter", "by": "core"}],
    ("1.3.0", "feature"): [{"what": "search in notes", "by": "core"}],
    ("1.3.1", "fix"): [{"what": "crash on empty files", "by": "grace"}, {"what": "slow start", "by": "alan"}],
}


def list_changes(version: str, kind: str) -> dict[str, Any]:
    """Returns the merged changes of a version: kind is `feature` or `fix`, `by` is who made them."""
    return {"kind": kind, "changes": CHANGES.get((version, kind), [])}


def model(script: scripted_model.Script) -> str | BaseLlm:
    vertex = os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("1", "true")
    has_gemini = os.environ.get("GOOGLE_API_KEY") or (vertex and os.environ.get("GOOGLE_CLOUD_PROJECT"))
    return "gemini-2.5-flash" if has_gemini else scripted_model.ScriptedModel(script=script)


def forget_review(callback_context: CallbackContext) -> None:
    """A review is of one version's notes."""
    callback_context.state["review"] = ""


def collector(kind: str, output_key: str) -> LlmAgent:
    return LlmAgent(
        name=f"{kind}_collector",
        model=model(scripted_model.collector(kind)),
        instruction=f"List the changes of kind `{kind}` in the version that the user names with "
        "list_changes. Answer `dark mode (by ada), faster start (by core)`, or `none`.",
        tools=[list_changes],
        output_key=output_key,
    )


writer = LlmAgent(
    name="writer",
    model=model(scripted_model.writer),
    instruction="""\
Write the release notes of the version that the user asks for in one line, and nothing else:
`1.0.0. New: dark mode, faster start. Fixed: dates in winter.` Leave a part out that has no changes,
and who made them. Mend what the review says, if there is one.
Features: {features}
Fixes: {fixes}
Review: {review}""",
    output_key="draft",
)

reviewer = LlmAgent(
    name="reviewer",
    model=model(scripted_model.reviewer),
    instruction="""\
Whoever made a change and is not `core` must be thanked at the end of the notes: `Thanks to ada.`
Call exit_loop if that is so, else say whom the notes must thank: `Thank ada and grace.`
Features: {features}
Fixes: {fixes}
Notes: {draft}""",
    tools=[exit_loop],
    output_key="review",
)


class Publisher(BaseAgent):
    """Gives the notes as they are; it needs no model."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        notes = types.Part(text=ctx.session.state["draft"])
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            content=types.Content(role="model", parts=[notes]),
        )


COLLECTORS: list[BaseAgent] = [collector("feature", "features"), collector("fix", "fixes")]

root_agent = SequentialAgent(
    name="release_notes",
    description="Writes the release notes of a version.",
    before_agent_callback=forget_review,
    sub_agents=[
        ParallelAgent(name="collection", sub_agents=COLLECTORS),
        LoopAgent(name="edition", max_iterations=3, sub_agents=[writer, reviewer]),
        Publisher(name="publisher"),
    ],
)
