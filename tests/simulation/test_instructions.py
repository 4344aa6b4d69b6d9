"""What the model behind a simulated user is told."""

from __future__ import annotations

from typing import Any

import pytest

from agent_eval.schema.evalset import ConversationScenario
from agent_eval.simulation.instructions import InstructionsError, custom_instructions, instructions


def scenario(persona: Any = None) -> ConversationScenario:
    return ConversationScenario.model_validate(
        {"starting_prompt": "Hi", "conversation_plan": "Get {{ one }} desk.", "user_persona": persona}
    )


def persona(*told: str, **keys: Any) -> dict[str, Any]:
    behavior = {"name": "Hurries", "description": "Is in a hurry.", "violation_rubrics": []}
    return {
        "id": "busy",
        "description": "A busy person.",
        "behaviors": [behavior | {"behavior_instructions": told} | keys],
    }


def test_plan_is_no_template() -> None:
    assert instructions(scenario()).endswith("The plan:\nGet {{ one }} desk.")


def test_persona_takes_the_place_of_the_usual_behavior() -> None:
    told = instructions(scenario(persona("Be brief.", "Say {{stop_signal}} soon.")))

    assert "Who you are: A busy person." in told
    assert "Hurries. Is in a hurry.\n- Be brief.\n- Say </finished> soon." in told
    assert "fails at a request for the first time" not in told
    assert "fails at a request for the first time" in instructions(scenario())


def test_template_has_the_names_that_adk_gives() -> None:
    template = (
        "{{ stop_signal }}|{{ conversation_plan }}|{{ conversation_history }}|{{ persona.id }}"
        "{% for b in persona.behaviors %}|{{ b.name }}|{{ b.get_behavior_instructions_str() }}{% endfor %}"
    )
    told = custom_instructions(template, scenario(persona("Be brief.")), "user: Hi")

    assert told == "</finished>|Get {{ one }} desk.|user: Hi|busy|Hurries|  * Be brief."


def test_what_the_agent_said_is_no_template() -> None:
    told = custom_instructions("{{ conversation_history }}", scenario(), "bot: {{ stop_signal }} {% raw %}")

    assert told == "bot: {{ stop_signal }} {% raw %}"


@pytest.mark.parametrize(
    "template",
    ["{{ persona.id }}", "{{ 1 // 0 }}", "{{ stop_signal.__class__.__mro__ }}", "{% include 'x' %}"],
)
def test_template_that_cannot_be_filled_in_is_told(template: str) -> None:
    with pytest.raises(InstructionsError):
        custom_instructions(template, scenario(), "")


def test_persona_that_cannot_be_filled_in_is_told() -> None:
    with pytest.raises(InstructionsError, match="TemplateSyntaxError"):
        instructions(scenario(persona("Say {{ stop_signal")))
