"""A model that plays a script, so that the desk runs without a key and always says the same."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

CITY = re.compile(r"\b(?:in|near) (\w+)(?: and (\w+))?")
DAY = re.compile(r"Saturday|Sunday")


class ScriptedModel(BaseLlm):
    """Asks for the forecasts that the user wants, then tells them."""

    model: str = "scripted-weather"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts or []
        results = [part.function_response for part in last if part.function_response]
        said = [part.text for content in llm_request.contents for part in content.parts or () if part.text]
        if results:
            fahrenheit = "Fahrenheit" in str(llm_request.config.system_instruction)
            text = " ".join(sentence for result in results for sentence in sentences(result, fahrenheit))
            parts = [types.Part(text=text)]
        else:
            parts = calls(said)
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=80 + 20 * len(llm_request.contents), candidates_token_count=6 * len(parts)
        )
        yield LlmResponse(content=types.Content(role="model", parts=parts), usage_metadata=usage)


def calls(said: list[str]) -> list[types.Part]:
    """The calls for the last thing said; city and day may have been named before."""
    cities = next(found for text in reversed(said) if (found := cities_in(text)))
    day = next(found[0] for text in reversed(said) if (found := DAY.findall(text)))
    wanted = [call("get_forecast", city=city, day=day) for city in cities]
    if "hike" in said[-1]:
        wanted += [call("get_warnings", city=city) for city in cities]
    return wanted


def cities_in(text: str) -> list[str]:
    found = CITY.search(text)
    return [city for city in found.groups() if city] if found else []


def call(name: str, **args: str) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def sentences(result: types.FunctionResponse, fahrenheit: bool) -> list[str]:
    """What there is to tell of one result."""
    found = result.response or {}
    if "error" in found:
        return [f"I have {found['error']}."]
    if "warnings" in found:
        return [f"Warning: {warning}." for warning in found["warnings"]]
    high = found["high_celsius"]
    degrees = f"{high * 9 / 5 + 32:.0f} °F" if fahrenheit else f"{high} °C"
    return [f"{found['day']} in {found['city']}: {found['sky']}, {degrees}."]
