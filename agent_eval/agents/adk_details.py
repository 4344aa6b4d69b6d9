"""Instructions and tools of an ADK agent and of those it can hand over to, without running any."""

from __future__ import annotations

from typing import Any

from google.adk.agents.llm_agent import LlmAgent

from agent_eval.agents.adk_toolsets import reachable
from agent_eval.schema.trace import AgentDetails, AppDetails

AT_RUN_TIME = "(made when the agent runs)"
"""In the place of instructions that a function gives."""


async def details_of(root: Any) -> AppDetails | None:
    """What the agents below a root show of themselves; None if there is none with a model.

    Raises:
        Exception: whatever a toolset raises that cannot list its tools.
    """
    found = {}
    for part in reachable(root):
        if isinstance(part, LlmAgent):
            found[part.name] = AgentDetails(
                name=part.name,
                instructions=part.instruction if isinstance(part.instruction, str) else AT_RUN_TIME,
                tool_declarations=[_declaration(tool) for tool in await part.canonical_tools()],
            )
    return AppDetails(agent_details=found) if found else None


def _declaration(tool: Any) -> dict[str, Any]:
    """A tool as its model is told of it; one that is the model's own has a name and a description only."""
    declaration = tool._get_declaration()  # the only way to it without a running model call
    if declaration is None:
        return {"name": tool.name, "description": tool.description}
    document: dict[str, Any] = declaration.model_dump(mode="json", exclude_none=True)
    return document
