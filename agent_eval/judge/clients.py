"""Models behind the client of an SDK."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any, Protocol

from agent_eval.judge.base import Reply, Request
from agent_eval.threads import in_thread


class Conversation(Protocol):
    """What asks by way of the client."""

    async def ask(self, request: Request) -> Reply:
        """One reply."""
        ...


class ClientModel(ABC):
    """Its client is made when it is asked first, as importing an SDK takes a while."""

    def __init__(self, name: str, conversation: Conversation) -> None:
        self.name = name
        self._conversation = conversation
        self._client: Any = None
        self._opening = asyncio.Lock()

    async def ask(self, request: Request) -> Reply:
        """One reply.

        Raises:
            ModelError: none came, and why.
        """
        async with self._opening:
            if self._client is None:
                self._client = await in_thread(self._open)
        return await self._conversation.ask(request)

    async def aclose(self) -> None:
        """Closes the client's connections."""
        if self._client is not None:
            await self._close(self._client)
            self._client = None

    @abstractmethod
    def _open(self) -> Any:
        """The client.

        Raises:
            ModelError: it lacks credentials.
        """

    @abstractmethod
    async def _close(self, client: Any) -> None:
        """Closes its connections."""
