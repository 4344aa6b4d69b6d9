"""The server that stands for model endpoints, as the real clients see it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.model_server import (
    KEY,
    PREFLIGHT,
    Asked,
    ModelServer,
    blocked,
    cut_off,
    empty,
    failing,
    said,
    slow,
)


async def ask_gemini(prompt: str, **config: Any) -> Any:
    from google import genai

    client = genai.Client()
    try:
        return await client.aio.models.generate_content(
            model="gemini-2.5-flash", contents=prompt, config=config or None
        )
    finally:
        await client.aio.aclose()
        client.close()


async def ask_openai(prompt: str, **settings: Any) -> Any:
    openai = pytest.importorskip("openai")
    async with openai.AsyncOpenAI(max_retries=0) as client:
        return await client.chat.completions.create(
            model="local", messages=[{"role": "user", "content": prompt}], **settings
        )


def test_gemini_client_gets_what_is_scripted_then_what_is_always_said(model_server: ModelServer) -> None:
    model_server.always = lambda asked: f"you said {asked.prompt}"
    model_server.answers({"verdict": "valid"}, said("yes", thoughts="hm"))

    first, second, third = (asyncio.run(ask_gemini(prompt)) for prompt in ("one", "two", "three"))

    assert first.text == '{"verdict": "valid"}'
    assert [part.text for part in second.candidates[0].content.parts] == ["hm", "yes"]
    assert second.usage_metadata.thoughts_token_count == 7
    assert third.text == "you said three"
    assert [(asked.api, asked.model, asked.prompt) for asked in model_server.requests] == [
        ("gemini", "gemini-2.5-flash", prompt) for prompt in ("one", "two", "three")
    ]
    assert model_server.requests[0].headers["x-goog-api-key"] == KEY


def test_openai_client_gets_the_same(model_server: ModelServer) -> None:
    model_server.answers(said("yes", thoughts="hm"), cut_off("ye"), blocked(), empty(candidates=False))

    first, second, third, fourth = (asyncio.run(ask_openai(str(number))) for number in range(4))

    assert first.choices[0].message.content == "yes"
    assert first.choices[0].message.reasoning_content == "hm"
    assert second.choices[0].finish_reason == "length"
    assert third.choices[0].finish_reason == "content_filter"
    assert fourth.choices == []


def test_request_is_seen_as_a_whole(model_server: ModelServer) -> None:
    schema = {"type": "object", "properties": {"verdict": {"type": "string"}}}
    asyncio.run(ask_gemini("hi", system_instruction="be brief", response_json_schema=schema, temperature=0.5))

    (asked,) = model_server.requests
    assert (asked.system, asked.turns, asked.media) == ("be brief", [("user", "hi")], [])
    assert asked.schema == schema
    assert asked.settings["temperature"] == 0.5


def test_streams_are_answered(model_server: ModelServer) -> None:
    async def gemini() -> str:
        from google import genai

        client = genai.Client()
        stream = await client.aio.models.generate_content_stream(model="gemini-2.5-flash", contents="hi")
        text = "".join([chunk.text async for chunk in stream])
        await client.aio.aclose()
        client.close()
        return text

    async def openai() -> str:
        stream = await ask_openai_stream()
        return "".join(stream)

    async def ask_openai_stream() -> list[str]:
        module = pytest.importorskip("openai")
        async with module.AsyncOpenAI(max_retries=0) as client:
            stream = await client.chat.completions.create(
                model="local", messages=[{"role": "user", "content": "hi"}], stream=True
            )
            return [chunk.choices[0].delta.content async for chunk in stream]

    model_server.always = "streamed"
    assert asyncio.run(gemini()) == "streamed"
    assert asyncio.run(openai()) == "streamed"


def test_errors_carry_when_to_come_back(model_server: ModelServer) -> None:
    from google.genai import errors

    model_server.answers(failing(429, "slow down", retry_after=0.25))
    with pytest.raises(errors.ClientError) as caught:
        asyncio.run(ask_gemini("hi"))
    assert caught.value.code == 429
    assert caught.value.details["error"]["details"][0]["retryDelay"] == "0.25s"


def test_preflight_checks_are_apart(model_server: ModelServer) -> None:
    model_server.answers("scripted")
    asyncio.run(ask_gemini(PREFLIGHT))

    assert [asked.prompt for asked in model_server.preflights] == [PREFLIGHT]
    assert model_server.requests == []
    assert asyncio.run(ask_gemini("hi")).text == "scripted"


def test_most_requests_at_once_are_counted(model_server: ModelServer) -> None:
    def answer(asked: Asked) -> Any:
        return slow(0.2, asked.prompt)

    async def three() -> list[Any]:
        return await asyncio.gather(*(ask_gemini(str(number)) for number in range(3)))

    model_server.always = answer
    assert [response.text for response in asyncio.run(three())] == ["0", "1", "2"]
    assert model_server.peak == 3
