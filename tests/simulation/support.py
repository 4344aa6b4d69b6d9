"""Scenarios, configs for them, and what was said when they were played."""

from __future__ import annotations

from typing import Any

from agent_eval.schema.result import RunRecord

SURE = "def root_agent(message, session):\n    return 'sure'\n"
"""An agent that says `sure` to everything."""

MODEL = "gemini-2.5-flash"
IMPATIENT = {"http_options": {"retry_options": {"attempts": 2, "initial_delay": 0.01}}}
"""Settings under which a model that fails is not waited for."""


def scenario(eval_id: str = "desk", prompt: str = "Book me a desk", **keys: Any) -> dict[str, Any]:
    """A case that is a scenario."""
    told = {"starting_prompt": prompt, "conversation_plan": "Book one desk, then stop."}
    if "persona" in keys:
        told["user_persona"] = keys.pop("persona")
    return {"eval_id": eval_id, "conversation_scenario": told, **keys}


def played_by(simulator: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A config with this simulated user, and a metric that passes."""
    return {"criteria": {"max_turns_v1": 100}, "user_simulator_config": simulator, **keys}


def talk(record: RunRecord) -> list[tuple[str, str | None]]:
    """What the user and the agent said in each turn."""
    return [
        (turn.user_content.text, turn.final_response.text if turn.final_response else None)
        for turn in record.invocations
    ]
