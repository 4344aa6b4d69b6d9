"""A weather desk: one agent with two tools.

It speaks through Gemini where the environment has a key or a project for it, else through a script.
"""

from __future__ import annotations

import os
from typing import Any

from google.adk.agents.llm_agent import LlmAgent

from .scripted_model import ScriptedModel

FORECASTS = {
    ("Oslo", "Saturday"): ("snow", -2),
    ("Oslo", "Sunday"): ("clear", 1),
    ("Lima", "Saturday"): ("fog", 19),
    ("Lima", "Sunday"): ("sunny", 22),
}
WARNINGS = {"Oslo": ["ice on paths above 400 m"]}


def get_forecast(city: str, day: str) -> dict[str, Any]:
    """Returns the sky and the high of a day (Saturday or Sunday) in a city."""
    if (city, day) not in FORECASTS:
        return {"error": f"no forecast for {city} on {day}"}
    sky, high = FORECASTS[city, day]
    return {"city": city, "day": day, "sky": sky, "high_celsius": high}


def get_warnings(city: str) -> dict[str, Any]:
    """Returns the weather warnings in force around a city."""
    return {"city": city, "warnings": WARNINGS.get(city, [])}


def has_gemini() -> bool:
    vertex = os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("1", "true")
    return bool(os.environ.get("GOOGLE_API_KEY") or (vertex and os.environ.get("GOOGLE_CLOUD_PROJECT")))


root_agent = LlmAgent(
    name="weather_desk",
    description="Tells the weather of the coming weekend.",
    model="gemini-2.5-flash" if has_gemini() else ScriptedModel(),
    instruction="""\
You tell the weather. Look every forecast up with get_forecast, and get_warnings too when someone
plans to be outdoors. Ask for all you need in one step. Answer with one sentence a forecast and
nothing else: `Saturday in Oslo: snow, -2 °C.`, and `Warning: ...` for each warning. What has no
forecast gets `I have no forecast for Bergen on Saturday.` Temperatures are in {units?}
(degrees Celsius if nothing is said).""",
    tools=[get_forecast, get_warnings],
)
