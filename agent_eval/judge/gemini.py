"""Gemini models through google-genai: the Gemini API or Vertex AI, as its environment variables say."""

from __future__ import annotations

import os
from typing import Any

from agent_eval.addresses import public_address
from agent_eval.judge.base import Failure, ModelError, Reply, Request, Usage
from agent_eval.judge.clients import ClientModel
from agent_eval.judge.dialect import Dialect, Form, Interpreter
from agent_eval.judge.endpoints import brief, failure_of_status, transport_failure
from agent_eval.judge.retries import EndpointError, Patience, patiently
from agent_eval.load.backoff import asked_in_details, details_of

_BLOCKED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "MODEL_ARMOR",
        "ESCALATION",
        "PUP_LIMITED_DISABLED",
    }
)
"""Reasons to stop that are a filter's."""

_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_USE_VERTEX = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")

_OURS = frozenset({"system_instruction", "response_mime_type", "response_schema", "response_json_schema"})
"""Settings that the question itself decides."""

_NAMES_OF_FILES: Any = {
    "parts": {"__all__": {"inline_data": {"display_name"}, "file_data": {"display_name"}}}
}
"""The Gemini API has no such key, and the SDK refuses it there."""


class GeminiModel(ClientModel):
    """A Gemini model."""

    def __init__(self, name: str) -> None:
        super().__init__(name, Interpreter(self._send))

    @property
    def endpoint(self) -> str:
        """The base URL if the environment has one, else which of the two services it is."""
        kind, default = ("VERTEX", "Vertex AI") if self._uses_vertex else ("GEMINI", "the Gemini API")
        given = os.environ.get(f"GOOGLE_{kind}_BASE_URL")
        return public_address(given) if given else default

    @property
    def _uses_vertex(self) -> bool:
        return self.name.startswith("projects/") or any(
            os.environ.get(variable, "").lower() in ("true", "1") for variable in _USE_VERTEX
        )

    def _open(self) -> Any:
        if not self._uses_vertex and not any(os.environ.get(variable) for variable in _KEYS):
            raise ModelError(Failure.CREDENTIALS, f"{self.name}: {' or '.join(_KEYS)} is not set")
        from google import genai
        from google.auth.exceptions import GoogleAuthError

        try:
            return genai.Client(vertexai=self._uses_vertex)
        except (ValueError, GoogleAuthError) as error:  # both mean credentials
            raise ModelError(Failure.CREDENTIALS, f"{self.name}: {brief(error)}") from None

    async def _send(self, request: Request, dialect: Dialect) -> Reply:
        from google.genai import types

        contents = [
            types.Content.model_validate(content.model_dump(exclude_none=True, exclude=_NAMES_OF_FILES))
            for content in request.contents
        ]
        config = types.GenerateContentConfig.model_validate(_settings(request, dialect))

        async def attempt() -> Any:
            try:
                return await self._client.aio.models.generate_content(
                    model=self.name, contents=contents, config=config
                )
            except Exception as error:  # of the SDK, its HTTP client or google-auth
                raise self._failure(error) from None

        return _reply(self.name, await patiently(self.name, Patience.of(request.config), attempt))

    def _failure(self, error: Exception) -> EndpointError:
        from google.auth import exceptions as auth
        from google.genai import errors

        if isinstance(error, errors.APIError):
            told = f"{self.name}: {error.code} {error.status}: {brief(error.message)}"
            failure = failure_of_status(error.code)
            details = details_of(error.details)
            if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):
                failure = Failure.CREDENTIALS  # though the status is 400
            return EndpointError(failure, told, status=error.code, retry_after=asked_in_details(details))
        told = f"{self.name}: {type(error).__name__}: {brief(error)}"
        if isinstance(error, errors.UnknownApiResponseError):
            return EndpointError(Failure.SERVER, told)
        if isinstance(error, auth.TransportError):
            return EndpointError(Failure.UNREACHABLE, told)
        if isinstance(error, auth.GoogleAuthError):
            return EndpointError(Failure.CREDENTIALS, told)
        return EndpointError(transport_failure(error) or Failure.REFUSED, told)

    async def siblings(self) -> list[str]:
        """The names that the service lists."""
        pager = await self._client.aio.models.list()
        return [model.name.rpartition("/")[2] async for model in pager if model.name]

    async def _close(self, client: Any) -> None:
        await client.aio.aclose()
        if close := getattr(client, "close", None):  # older SDKs have none
            close()


def _settings(request: Request, dialect: Dialect) -> dict[str, Any]:
    """The request's settings and what the question adds, for `GenerateContentConfig`."""
    settings = {key: value for key, value in request.config.items() if key not in _OURS}
    options = dict(settings.pop("http_options", None) or {})
    options.pop("timeout", None)  # Patience keeps the time, and counts attempts: the SDK heeds no RetryInfo
    settings["http_options"] = options | {"retry_options": {"attempts": 1}}
    settings["automatic_function_calling"] = {"disable": True}
    if request.system:
        settings["system_instruction"] = request.system
    if request.schema:
        settings["response_mime_type"] = "application/json"
        settings["response_json_schema"] = dict(request.schema) if dialect.form is Form.SCHEMA else None
    return settings


def _reply(name: str, response: Any) -> Reply:
    """What a response says.

    Raises:
        ModelError: it was blocked, or there is no text in it.
    """
    usage = _usage(response.usage_metadata)
    candidate = response.candidates[0] if response.candidates else None
    feedback = response.prompt_feedback
    if candidate is None and feedback is not None and feedback.block_reason is not None:
        told = f"{name}: the prompt was blocked: {_name(feedback.block_reason)}"
        raise ModelError(Failure.BLOCKED, told, usage)
    if candidate is None:
        raise ModelError(Failure.EMPTY, f"{name}: a response without candidates", usage)
    finish = _name(candidate.finish_reason)
    if finish in _BLOCKED:
        raise ModelError(Failure.BLOCKED, f"{name}: the answer was blocked: {finish}", usage)
    parts = (candidate.content.parts if candidate.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    is_cut_off = finish == "MAX_TOKENS"
    if not text.strip() and not is_cut_off:
        raise ModelError(Failure.EMPTY, f"{name}: a response without text, finish reason {finish}", usage)
    return Reply(text, usage, is_cut_off)


def _name(reason: Any) -> str:
    return str(getattr(reason, "value", reason))


def _usage(given: Any) -> Usage:
    if given is None:
        return Usage()
    output = (given.candidates_token_count or 0) + (given.thoughts_token_count or 0)
    return Usage((given.prompt_token_count or 0) + (given.tool_use_prompt_token_count or 0), output)
