"""Models behind any provider that litellm knows; keys and addresses come from its environment variables."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from typing import Any

from agent_eval.addresses import public_address
from agent_eval.judge.base import Failure
from agent_eval.judge.clients import ClientModel
from agent_eval.judge.endpoints import brief
from agent_eval.judge.openai import ChatEndpoint, failure_of
from agent_eval.judge.retries import EndpointError

PREFIX = "litellm/"


class LiteLLMModel(ClientModel):
    """A model by litellm's name for it, such as `litellm/anthropic/...`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, ChatEndpoint(name, self._complete, _failure_of))

    @property
    def endpoint(self) -> str:
        """The addresses that the environment gives to providers; which one counts, litellm knows."""
        given = sorted(
            f"{name}={public_address(value)}"
            for name, value in os.environ.items()
            if name.endswith(("_API_BASE", "_BASE_URL")) and value
        )
        return " ".join(["litellm", *given])

    def _open(self) -> Any:
        return _imported()

    async def _complete(self, parameters: dict[str, Any]) -> Any:
        return await self._client.acompletion(
            model=self.name.removeprefix(PREFIX), num_retries=0, max_retries=0, **parameters
        )

    async def siblings(self) -> list[str]:
        """Not known."""
        return []

    async def _close(self, client: Any) -> None:  # those that litellm keeps for all of its models
        if close := getattr(client, "close_litellm_async_clients", None):
            await close()


def _failure_of(name: str, error: Exception) -> EndpointError:
    """What an exception of litellm means: its classes are the client's, but say less than their causes."""
    told = f"{name}: {brief(error)}"
    if re.search(r"missing .*\bapi[ _]key", told, re.IGNORECASE):
        return EndpointError(Failure.CREDENTIALS, told)
    if any(isinstance(cause, ConnectionError | socket.gaierror) for cause in _causes(error)):
        return EndpointError(Failure.UNREACHABLE, told)
    return failure_of(name, error)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _imported() -> Any:
    """The package, without its look-up of prices on the internet and its advertising on stdout."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    return litellm
