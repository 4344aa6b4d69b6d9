"""Questions to models, and asking them."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_eval.judge.base import Failure, Model, ModelError, Reply, Request
from agent_eval.judge.models import open_model
from agent_eval.schema.trace import Blob, Content, FileData, Part

RETRIES = {"attempts": 3, "initial_delay": 0.01}
"""Quick ones."""

VERDICT = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}


def question(
    *parts: str | Part, system: str | None = None, schema: Any = None, http: Any = None, **config: Any
) -> Request:
    """One user message; attempts follow each other quickly."""
    content = Content(
        role="user", parts=[Part(text=part) if isinstance(part, str) else part for part in parts or ("hi",)]
    )
    options = {"retry_options": RETRIES} | (http or {})
    return Request((content,), system, schema, {"http_options": options} | config)


def image(data: bytes = b"png", mime_type: str = "image/png") -> Part:
    return Part(inline_data=Blob(data=data, mime_type=mime_type))


def at(address: str, mime_type: str) -> Part:
    return Part(file_data=FileData(file_uri=address, mime_type=mime_type))


async def each(model: Model, *requests: Request) -> list[Reply | ModelError]:
    """What each request gets, one after the other."""
    outcomes: list[Reply | ModelError] = []
    try:
        for request in requests:
            try:
                outcomes.append(await model.ask(request))
            except ModelError as error:
                outcomes.append(error)
    finally:
        await model.aclose()
    return outcomes


def ask_all(name: str, *requests: Request) -> list[Reply | ModelError]:
    """What a model says to each."""
    return asyncio.run(each(open_model(name), *requests))


def replies(name: str, *requests: Request) -> list[Reply]:
    """What a model says to each; all have to be answered."""
    outcomes = ask_all(name, *requests)
    assert [outcome for outcome in outcomes if isinstance(outcome, ModelError)] == []
    return [outcome for outcome in outcomes if isinstance(outcome, Reply)]


def failure(name: str, request: Request | None = None) -> tuple[Failure, str]:
    """Why a model gave no reply, and how that is told."""
    (outcome,) = ask_all(name, request or question())
    assert isinstance(outcome, ModelError), outcome
    return outcome.failure, str(outcome)
