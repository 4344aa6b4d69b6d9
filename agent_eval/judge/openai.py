"""Models behind any endpoint that speaks OpenAI's chat completions, through the `openai` package."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from typing import Any

from agent_eval.addresses import public_address
from agent_eval.judge import chat
from agent_eval.judge.base import Failure, ModelError, Reply, Request
from agent_eval.judge.clients import ClientModel
from agent_eval.judge.dialect import Dialect, Interpreter
from agent_eval.judge.endpoints import brief, failure_of_status, transport_failure
from agent_eval.judge.retries import EndpointError, Patience, patiently
from agent_eval.load.backoff import asked_in_headers

DEFAULT_URL = "https://api.openai.com/v1"
PREFIX = "openai/"

_RAN_OUT = "output limit was reached"
"""What OpenAI says, with status 400, where thoughts have used up the output tokens."""
_REFUSAL = re.compile(r"validation error|not supported|unsupported|doesn't support", re.IGNORECASE)
"""What servers say that fail (5xx) where they should refuse (4xx)."""


class OpenAIModel(ClientModel):
    """A model at `OPENAI_BASE_URL`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, ChatEndpoint(name, self._complete, failure_of))

    @property
    def endpoint(self) -> str:
        """The base URL."""
        return public_address(os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL)

    def _open(self) -> Any:
        import openai

        url = os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL
        key = os.environ.get("OPENAI_API_KEY")
        if not key and url == DEFAULT_URL:  # an endpoint of one's own needs none
            raise ModelError(Failure.CREDENTIALS, f"{self.name}: OPENAI_API_KEY is not set")
        return openai.AsyncOpenAI(base_url=url, api_key=key or "none", max_retries=0)

    async def _complete(self, parameters: dict[str, Any]) -> Any:
        body = dict(parameters.pop("extra_body"))
        if "top_k" in parameters:
            body["top_k"] = parameters.pop("top_k")  # not OpenAI's, but most others have it
        return await self._client.chat.completions.create(
            model=self.name.removeprefix(PREFIX), extra_body=body or None, **parameters
        )

    async def siblings(self) -> list[str]:
        """The names that the endpoint lists."""
        return [PREFIX + model.id async for model in self._client.models.list()]

    async def _close(self, client: Any) -> None:
        await client.close()


class ChatEndpoint:
    """Asks for chat completions, whatever client sends them."""

    def __init__(
        self,
        name: str,
        complete: Callable[[dict[str, Any]], Awaitable[Any]],
        failure_of: Callable[[str, Exception], EndpointError],
    ) -> None:
        """Takes the model's name, what completes a chat by its parameters, and what its errors mean."""
        self._name = name
        self._complete = complete
        self._failure_of = failure_of
        self._interpreter = Interpreter(self._send, has_form=lambda part: chat.medium(part) is not None)

    async def ask(self, request: Request) -> Reply:
        """One reply.

        Raises:
            ModelError: none came, and why.
        """
        return await self._interpreter.ask(request)

    async def _send(self, request: Request, dialect: Dialect) -> Reply:
        options = request.config.get("http_options") or {}
        extra = {
            "extra_headers": options.get("headers"),
            "extra_body": options.get("extra_body") or {},
            "timeout": None,  # Patience keeps the time
        }

        async def attempt() -> Any:
            try:
                return await self._complete(chat.parameters(request, dialect) | extra)
            except Exception as error:  # of the client or the HTTP library below it
                raise self._failure_of(self._name, error) from None

        try:
            completion = await patiently(self._name, Patience.of(request.config), attempt)
        except EndpointError as error:
            if error.failure is Failure.REFUSED and _RAN_OUT in str(error):
                return Reply("", is_cut_off=True)
            raise
        return chat.reply(self._name, completion)


def failure_of(name: str, error: Exception) -> EndpointError:
    """What an exception of the client means."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return EndpointError(Failure.TIMEOUT, f"{name}: no answer in time")
    if isinstance(error, openai.APIStatusError):
        return _status_failure(name, error)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        return EndpointError(Failure.UNREACHABLE, f"{name}: {type(cause).__name__}: {brief(cause)}")
    told = f"{name}: {type(error).__name__}: {brief(error)}"
    if isinstance(error, openai.APIError):
        return EndpointError(Failure.SERVER, told)  # a response that cannot be read
    return EndpointError(transport_failure(error) or Failure.REFUSED, told)


def _status_failure(name: str, error: Any) -> EndpointError:
    failure = failure_of_status(error.status_code)
    told = brief(_message(error))
    if str(error.code) in ("content_filter", "content_policy_violation"):
        failure = Failure.BLOCKED
    elif failure is Failure.SERVER and _REFUSAL.search(told):
        failure = Failure.REFUSED
    is_final = failure is Failure.REFUSED or error.code == "insufficient_quota"  # until somebody pays
    status = None if is_final else error.status_code
    after = asked_in_headers(error.response.headers)
    return EndpointError(failure, f"{name}: {error.status_code}: {told}", status=status, retry_after=after)


def _message(error: Any) -> Any:
    """What the endpoint says, without what the client puts around it."""
    said = error.body.get("message") if isinstance(error.body, dict) else None
    return said or error.message
